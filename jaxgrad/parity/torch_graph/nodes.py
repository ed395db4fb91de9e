"""Read the nodes of torch's backward graph: their successors and saved tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jaxgrad.graph import Saved
from jaxgrad.parity.torch_graph.names import flat


class Kept(NamedTuple):
    """A tensor that a node saved, with the address of its storage."""

    storage: int
    saved: Saved


def behind(node: Any) -> list[Any]:
    """Return the nodes that a node passes gradients to; a leaf's node has a `variable`."""
    return [other for other, _ in node.next_functions if other is not None]


def is_leaf(node: Any) -> bool:
    return hasattr(node, "variable")


def walk(roots: Iterable[Tensor]) -> Iterator[Any]:
    """Yield the nodes that backward visits from `roots`, nearest first and without leaves."""
    todo = [root.grad_fn for root in roots if root.grad_fn is not None]
    visited = set()
    while todo:
        node = todo.pop(0)
        if node not in visited:
            visited.add(node)
            yield node
            todo += [other for other in behind(node) if not is_leaf(other)]


def kept(node: Any, constants: set[int], *, strict: bool = False) -> Iterator[Kept]:
    """Yield the tensors that a node saved for its backward.

    Args:
        node: A node of the graph.
        constants: The storages of values that need no gradient.
        strict: Whether to raise torch's error for tensors that were freed or modified.
    """
    names = [name for name in dir(node) if name.startswith("_saved_")] or ["saved_tensors"]
    for name in names:
        try:
            value = getattr(node, name, None)
        except RuntimeError:
            if strict:
                raise
            continue
        for _, x in flat(value):
            if isinstance(x, Tensor):
                yield _kept(node, name.removeprefix("_saved_"), x, constants)


def _kept(node: Any, name: str, x: Tensor, constants: set[int]) -> Kept:
    constant = storage(x) in constants
    what = "constant" if constant else name
    if x.grad_fn is not None and not constant:
        what = "result" if x.grad_fn is node else x.grad_fn.name()
    dtype = str(x.dtype).removeprefix("torch.")
    size = x.numel() * x.element_size()
    return Kept(storage(x), Saved(what, dtype, tuple(x.shape), size, not constant))


def counted(saves: Iterable[Kept], leaves: Mapping[int, str], before: set[int]) -> Iterator[Saved]:
    """Yield the saved tensors, with names for leaves; storages in `before` are not counted."""
    for where, saved in saves:
        if where in leaves:
            yield saved._replace(what=leaves[where], extra=False)
        else:
            yield saved._replace(extra=saved.extra and where not in before)
            before.add(where)


def storage(x: Tensor) -> int:
    """Return the address of a tensor's storage, which views share."""
    return x.untyped_storage().data_ptr() if x.layout is torch.strided else id(x)


def norm(grad: Tensor | None) -> float | None:
    if grad is None:
        return None
    grad = grad.detach()
    return float(torch.linalg.vector_norm(grad.to_dense() if grad.is_sparse else grad))
