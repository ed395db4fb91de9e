"""The tensors in the arguments and results of a module."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.distributions import Distribution

from jaxgrad.parity.interop import to_numpy


def flat_outputs(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a module's output tensors with their paths.

    The tensors in dataclasses and in torch's distributions are outputs too.
    """
    return ((name, x) for name, x in _flat(tree, path) if isinstance(x, Tensor))


def numbers_in(tree: Any) -> list[str]:
    """Return the paths of the Python numbers among a module's outputs."""
    return [name or "output" for name, x in _flat(tree, "") if isinstance(x, int | float | complex)]


def _flat(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a module's outputs with their paths."""
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        tree = {f.name: getattr(tree, f.name) for f in dataclasses.fields(tree)}
    if isinstance(tree, Distribution):
        parts = {k: x for k, x in vars(tree).items() if isinstance(x, Tensor | Distribution)}
        tree = {name: parts[name] for name in public_names(parts)}
    if isinstance(tree, Mapping):
        # JAX sorts the keys of a dict, but not those of other mappings.
        keys = sorted(tree, key=str) if type(tree) is dict else list(tree)
        items = [(str(key), tree[key]) for key in keys]
    elif isinstance(tree, tuple) and hasattr(tree, "_fields"):
        items = list(zip(tree._fields, tree, strict=True))  # pyright: ignore[reportAttributeAccessIssue]
    elif isinstance(tree, list | tuple):
        items = [(str(i), value) for i, value in enumerate(tree)]
    else:
        yield path, tree
        return
    for key, value in items:
        yield from _flat(value, f"{path}/{key}" if path else key)


def public_names(names: Iterable[str]) -> list[str]:
    """Return a distribution's public names, or its private names if no name is public.

    A Categorical also keeps its probabilities under a private name.
    """
    listed = list(names)
    return [name for name in listed if not name.startswith("_")] or listed


def is_inexact(x: Tensor) -> bool:
    """Whether a tensor is floating or complex."""
    return x.is_floating_point() or x.is_complex()


def is_transformed(x: Tensor) -> bool:
    """Whether a tensor is a value under `torch.func.grad` or `torch.vmap`, which has no numbers."""
    return is_functorch_wrapped_tensor(x)


def viewed(x: Tensor) -> np.ndarray:
    """Return a tensor as numpy without a copy, if numpy can hold it."""
    x = x.detach().resolve_conj().resolve_neg()
    plain = x.layout == torch.strided and x.device.type == "cpu" and x.dtype != torch.bfloat16
    return x.numpy() if plain else to_numpy(x)


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of lists, tuples and mappings, in JAX's order: mappings by sorted key."""
    if isinstance(tree, Mapping):
        for key in sorted(tree, key=str):
            yield from leaves(tree[key])
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from leaves(value)
    else:
        yield tree


def version_of(x: Tensor) -> int:
    """Return how often a tensor has changed in place; torch does not count in inference mode."""
    return 0 if x.is_inference() else x._version
