"""The tensors in what a module takes and returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor


def flat_outputs(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The tensors of what a module returned, with their paths; dataclasses too."""
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        tree = {f.name: getattr(tree, f.name) for f in dataclasses.fields(tree)}
    if isinstance(tree, Mapping):
        # JAX sorts the keys of a dict, and of nothing else.
        keys = sorted(tree, key=str) if type(tree) is dict else list(tree)
        items = [(str(key), tree[key]) for key in keys]
    elif isinstance(tree, tuple) and hasattr(tree, "_fields"):
        items = list(zip(tree._fields, tree, strict=True))  # pyright: ignore[reportAttributeAccessIssue]
    elif isinstance(tree, list | tuple):
        items = [(str(i), value) for i, value in enumerate(tree)]
    else:
        if isinstance(tree, Tensor):
            yield path, tree
        return
    for key, value in items:
        yield from flat_outputs(value, f"{path}/{key}" if path else key)


def moves(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def each(tree: Any) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        for key in sorted(tree, key=str):  # as JAX does: inputs by name are in the same order
            yield from each(tree[key])
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from each(value)
    else:
        yield tree
