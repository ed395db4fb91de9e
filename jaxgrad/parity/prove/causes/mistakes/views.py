"""Mistakes in calls that only move elements: the order of operands, of axes, of heads, of parts."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import Mistakes, TorchCall
from jaxgrad.parity.prove.wording import Mutual, Order, Told


def joined(call: TorchCall) -> Mistakes:
    """Join the operands in another order."""
    parts, *rest = call.args
    for order in list(itertools.permutations(range(len(parts))))[1:] if len(parts) < 4 else ():
        text = Order(f"the operands of {call.op}", order)
        yield call.called(text, [parts[k] for k in order], *rest, **call.kwargs)


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
    """Take the parts in another order."""
    count = len(call.result)
    for order in list(itertools.permutations(range(count)))[1:] if count < 4 else ():
        text = Order(f"the parts of {call.op}", order)
        yield call.then(text, lambda parts, order=order: tuple(parts[k] for k in order))


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
            for by in (1, -1):
                text = Told(*(f"the indices in index {n} are shifted by {k}" for k in (by, -by)))
                yield call.called(text, x, _with(indices, n, k + by))


def _with(indices: tuple[Any, ...], n: int, index: Any) -> tuple[Any, ...]:
    return (*indices[:n], index, *indices[n + 1 :])
