"""Name a function that several modules share after what the names of the modules have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from torch import nn

from jaxgrad import functional
from jaxgrad.parity.port.source.naming import base_name, holder, is_sequence, snake
from jaxgrad.parity.port.source.written import Written


NEUTRAL = "layers"  # the name of a function of many modules whose names have nothing in common


def shared_name(written: Written, module: nn.Module) -> str:
    """Return the name of a function; that of a sequence differs from the name of a layer.

    Args:
        written: The function.
        module: The module that is ported.
    """
    if not written.base or written.owner is None or not is_sequence(written.owner):
        return written.base
    order = [path for path, _ in module.named_modules(remove_duplicate=False)]
    paths = sorted(
        written.module_paths, key=lambda path: order.index(path) if path in order else -1
    )
    function: Any = written.function
    labels = [base_name(function, written.owner, path) for path in paths]
    name = common(list(dict.fromkeys(labels))) if labels else written.base
    if "_or_" in name or name == NEUTRAL:
        name = _kind(module.get_submodule(paths[0])) or name
    found = holder(paths[0], module) if paths and is_layer(name) else None
    return name if found is None else f"{snake(type(found[0]).__name__)}_{name}"


def _kind(sequence: nn.Module) -> str:
    """Return `mlp` for linear layers with something between them, and "" for other sequences."""
    layers = [layer for layer in sequence.children() if any(True for _ in layer.parameters())]
    are_linear = len(layers) > 1 and all(isinstance(layer, nn.Linear) for layer in layers)
    return "mlp" if are_linear else ""


def is_layer(name: str) -> bool:
    """Return whether a name is that of an operator, as `conv` is beside `F.conv2d`."""
    names = (name, *(f"{name}{dims}d" for dims in (1, 2, 3)))
    return any(hasattr(functional, x) for x in names)


def common(labels: Sequence[str]) -> str:
    """Return `down` for `down1` and `down2`, `attn` for `self_attn` and `cross_attn`.

    Two names without a common word are `encoder_or_decoder`.
    """
    if len(labels) == 1:
        return labels[0]
    words = [re.sub(r"\d+(?=_|$)", "", label).strip("_").split("_") for label in labels]
    for parts in (_same_start(words), _same_start([w[::-1] for w in words])[::-1]):
        if any(parts):
            return "_".join(filter(None, parts))
    return f"{labels[0]}_or_{labels[1]}" if len(labels) == 2 else NEUTRAL


def _same_start(words: Sequence[Sequence[str]]) -> list[str]:
    start = []
    for parts in zip(*words, strict=False):
        if len(set(parts)) > 1:
            break
        start.append(parts[0])
    return start
