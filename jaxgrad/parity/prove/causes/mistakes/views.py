"""Mistakes in calls that only move elements: the order of operands, of axes, of heads, of parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import INDEX, Mistakes, TorchCall
from jaxgrad.parity.prove.wording import Difference, Mutual, Order, Setting, Told


def joined(call: TorchCall) -> Mistakes:
    """Join the operands in another order, or interleave their elements."""
    parts, *rest = call.args
    for order in list(itertools.permutations(range(len(parts))))[1:] if len(parts) < 4 else ():
        text = Order(f"the operands of {call.op}", order)
        yield call.called(text, [parts[k] for k in order], *rest, **call.kwargs)
    dim = call.kwargs.get("dim", rest[0] if rest else 0)
    if call.op != "stack" and len({x.shape for x in parts}) == 1:
        text = Told(
            f"the elements of the operands of {call.op} alternate, torch appends the operands",
            f"{call.op} appends its operands, JAX lets their elements alternate",
        )
        dim = dim % parts[0].ndim
        yield call.by(text, lambda *_, **__: torch.stack(parts, dim + 1).flatten(dim, dim + 1))


def reshaped(call: TorchCall) -> Mistakes:
    """Flatten the channels last, or split the last axis into its factors in the other order."""
    x, shape = call.args[0], call.result.shape
    if x.ndim > 2:
        text = Told(
            "the channels are flattened last, torch flattens them first",
            "the channels are flattened first, JAX flattens them last",
        )
        yield call.by(text, Tensor.reshape, x.movedim(1, -1), shape)
        text = Mutual(f"the last two axes are exchanged before {call.op}")
        yield call.by(text, Tensor.reshape, x.transpose(-1, -2), shape)
    if len(shape) == x.ndim + 1 and shape[:-2] == x.shape[:-1]:
        *rest, a, b = shape
        text = Mutual(
            "the last axis is split with its two factors exchanged (heads and their size)"
        )
        yield call.by(text, Tensor.transpose, x.reshape(*rest, b, a), -1, -2)


def moved(call: TorchCall) -> Mistakes:
    """Reshape instead of moving the axes."""
    x, shape = call.args[0], call.result.shape
    if shape != x.shape:
        text = Told(
            f"the array is reshaped where torch's {call.op} moves the axes",
            f"{call.op} moves the axes where JAX reshapes the array",
        )
        yield call.by(text, Tensor.reshape, x, shape)


def parted(call: TorchCall) -> Mistakes:
    """Take the parts in another order, or every n-th element for each part."""
    count = len(call.result)
    for order in list(itertools.permutations(range(count)))[1:] if count < 4 else ():
        text = Order(f"the parts of {call.op}", order)
        yield call.then(text, lambda parts, order=order: tuple(parts[k] for k in order))
    if call.op != "unbind" and len({part.shape for part in call.result}) == 1 < count:
        x, *rest = call.args
        dim = call.kwargs.get("dim", rest[1] if len(rest) > 1 else 0)
        strided = x.unflatten(dim, (-1, count)).unbind(dim + 1 if dim >= 0 else dim)
        yield call.by(_strided(count), lambda *_, **__: strided)


def taken(call: TorchCall) -> Mistakes:
    """Take other elements: the first for the last, the last for those that a tensor selects."""
    x, index = call.args
    indices = index if isinstance(index, tuple) else (index,)
    for n, k in enumerate(indices):
        if isinstance(k, int) and not isinstance(k, bool) and k in (0, -1):
            names = ("last", "first") if k == 0 else ("first", "last")
            text = Told(
                f"index {n} takes the {names[0]} element, torch the {names[1]}",
                f"index {n} takes the {names[1]} element, JAX the {names[0]}",
            )
            yield call.called(text, x, _with(indices, n, -1 - k))
        elif isinstance(k, Tensor) and k.dtype == torch.int64 and k.numel():
            for name, other in (("first", 0), ("last", -1)):
                text = Told(
                    f"index {n} takes the {name} element, torch those in a tensor of indices",
                    f"index {n} takes the elements in a tensor of indices, JAX the {name} one",
                )
                yield call.called(text, x, _with(indices, n, torch.full_like(k, other)))
    for n, size in _axes(indices, x):
        k = indices[n]
        if isinstance(k, slice):
            for text, other in _slices(n, k, size):
                yield call.called(text, x, _with(indices, n, other))
            continue
        moved = shifted_indices(k, size) if k.dtype == torch.int64 and k.numel() else {}
        for by, other in moved.items():
            text = Told(*(f"the indices in index {n} are shifted by {k}" for k in (by, -by)))
            wrong = call.called(text, x, _with(indices, n, other))
            yield wrong._replace(general=INDEX)


def shifted_indices(index: Tensor, size: int) -> dict[int, Tensor]:
    """Return the indices of an axis by how much they are shifted, as JAX reads them.

    A negative index counts from the end, and one that is too large takes the last element: of two
    elements, both shifts may take the same.
    """
    shifted = {by: index + by for by in (1, -1)}
    read = {k: torch.where(x < 0, x + size, x).clamp(0, size - 1) for k, x in shifted.items()}
    return read if not torch.equal(read[1], read[-1]) else {1: read[1]}


def _axes(indices: tuple[Any, ...], x: Tensor) -> Iterator[tuple[int, int]]:
    """Yield the positions of slices and tensors in an index, and the sizes of their axes."""
    used = [
        0 if k is None or k is Ellipsis else k.ndim if getattr(k, "dtype", 0) == torch.bool else 1
        for k in indices
    ]
    axis = 0
    for n, (k, count) in enumerate(zip(indices, used, strict=True)):
        if isinstance(k, slice) or (isinstance(k, Tensor) and k.dtype != torch.bool):
            yield n, x.shape[axis]
        axis += x.ndim - sum(used) if k is Ellipsis else count


def _slices(n: int, taken: slice, size: int) -> Iterator[tuple[Difference, slice]]:
    """Yield slices of the same length that begin elsewhere, or have another step."""
    start, stop, step = taken.indices(size)
    length = len(range(start, stop, step))
    if not 0 < length < size:
        return
    if length * step == size and start < step > 1:
        text = Told(
            f"index {n} takes contiguous elements, torch every {_ordinal(step)}",
            f"index {n} takes every {_ordinal(step)} element, JAX contiguous ones",
        )
        yield text, slice(start * length, (start + 1) * length)
    if step != 1:
        return
    if start % length == 0 and size % length == 0:
        yield _strided(size // length), slice(start // length, size, size // length)
    last = size - length
    for other in dict.fromkeys((start + 1, start - 1, 0, last)):
        if 0 <= other <= last and other != start:
            text = Setting(
                f"the slice in index {n}", f"{other}", f"{start}", "starts at", "starts at"
            )
            yield text, slice(other, other + length)


def _strided(count: int) -> Difference:
    every = f"every {_ordinal(count)} element"
    return Told(
        f"each part has {every}, torch's parts are contiguous",
        f"the parts are contiguous, in JAX each part has {every}",
    )


def _ordinal(n: int) -> str:
    return {2: "second", 3: "third"}.get(n, f"{n}th")


def _with(indices: tuple[Any, ...], n: int, index: Any) -> tuple[Any, ...]:
    return (*indices[:n], index, *indices[n + 1 :])
