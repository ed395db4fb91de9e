"""Mistakes in masks: another fill, an inverted, a transposed, a shifted or a tiled mask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import Mistakes, TorchCall
from jaxgrad.parity.prove.wording import Difference, Mutual, Setting, Told


MORE, FEWER = (f"the mask lets each query see one key {x}" for x in ("more", "fewer"))
_LOW = -1e3  # a number that is added to a masked score is lower


def filled(call: TorchCall) -> Mistakes:
    """Use another value for masked elements, or another mask."""
    x, mask, *value = call.args
    if isinstance(mask, Tensor):
        own = f"{value[0]:g}" if value and isinstance(value[0], int | float) else ""
        for fill in (*call.numbers, 0.0, float("-inf")):
            if [fill] != value:
                text = Setting("masked elements", f"{fill:g}", own, verb="are")
                yield call.called(text, x, mask, fill)
        yield call.called(Mutual("the mask is inverted"), x, ~mask.bool(), *value)
        if (turned := transposed(mask, x)) is not None:
            yield call.called(Mutual("the mask is transposed"), x, turned, *value)
        for text, other in (*shifted(mask.bool()), *_tiled(mask)):
            yield call.called(text, x, other, *value)


def chosen(call: TorchCall) -> Mistakes:
    """Exchange the branches of `where`, or use another mask."""
    if len(call.args) != 3:
        return
    condition, x, y = call.args
    yield call.called(Mutual("the branches of where are swapped"), condition, y, x)
    for given in (x, y):
        if (turned := transposed(condition, given)) is not None:
            yield call.called(Mutual("the mask is transposed"), turned, x, y)
            break
    if _is_fill(x) == _is_fill(y):
        return
    hidden = condition if _is_fill(x) else ~condition
    for text, other in shifted(hidden):
        yield call.called(text, other if _is_fill(x) else ~other, x, y)


def operand(call: TorchCall) -> Mistakes:
    """Use another mask, where an operand is one: 0 and 1, or 0 and a large negative number."""
    for n, mask in enumerate(call.args):
        numbers = mask.unique() if isinstance(mask, Tensor) and mask.ndim else ()
        if len(numbers) != 2:
            continue
        for text, other in _operands(call.op, mask, call.args[1 - n], *numbers):
            args = [other if k == n else x for k, x in enumerate(call.args)]
            yield call.called(text, *args, **call.kwargs)


def _operands(
    op: str, mask: Tensor, x: Any, low: Tensor, high: Tensor
) -> Iterator[tuple[Difference, Tensor]]:
    """Yield other masks in place of an operand that contains two numbers."""
    yield Mutual("the mask is inverted"), torch.where(mask == low, high, low)
    multiplies = "mul" in op and low == 0
    if not (multiplies and high == 1) and not ("add" in op and high == 0 and low < _LOW):
        return
    if (turned := transposed(mask, x)) is not None:
        yield Mutual("the mask is transposed"), turned
    for text, hidden in shifted(mask == low):
        yield text, torch.where(hidden, low, high)


def _is_fill(x: Any) -> bool:
    return not isinstance(x, Tensor) or x.numel() == 1


def transposed(mask: Any, x: Any) -> Tensor | None:
    """Return a mask with its last two axes exchanged, if it then has another effect on `x`.

    A mask of one row, which masks the keys for every query, then masks the queries.
    """
    square = isinstance(x, Tensor) and x.ndim > 1 and x.shape[-1] == x.shape[-2]
    if not square or not isinstance(mask, Tensor) or mask.ndim < 2:
        return None
    shape = torch.broadcast_shapes(mask.shape, x.shape)
    same = torch.equal(mask.broadcast_to(shape), mask.mT.broadcast_to(shape))
    return None if same else mask.mT


def shifted(hidden: Tensor) -> Iterator[tuple[Difference, Tensor]]:
    """Yield a mask of queries and keys that is shifted by one key; True hides a key.

    In a causal mask, the keys that are hidden from all queries (padding) stay hidden.
    """
    if hidden.ndim < 2 or hidden.shape[-1] != hidden.shape[-2]:
        return
    size = hidden.shape[-1]
    later = torch.ones(size, size, dtype=torch.bool).triu(1)
    if hidden[..., later].all():
        padding = hidden.all(-2, keepdim=True)
        yield Told(FEWER, MORE), hidden | torch.eye(size, dtype=torch.bool)
        yield Told(MORE, FEWER), hidden & (padding | ~(later & ~later.triu(2)))
        return
    left, right = hidden.roll(-1, -1), hidden.roll(1, -1)
    left[..., -1], right[..., 0] = hidden[..., -1], hidden[..., 0]
    for names, other in ((("left", "right"), left), (("right", "left"), right)):
        if not torch.equal(other, hidden):
            yield Told(*(f"the mask is shifted by one key to the {x}" for x in names)), other


def _tiled(mask: Tensor) -> Iterator[tuple[Difference, Tensor]]:
    """Yield a mask that is tiled along an axis where its elements are repeated, or the reverse."""
    for axis, n in enumerate(mask.shape):
        if (mask == mask.narrow(axis, 0, 1)).all():
            continue
        for count in (k for k in range(2, n // 2 + 1) if n % k == 0):
            split = mask.unflatten(axis, (count, n // count))
            other = split.transpose(axis, axis + 1).flatten(axis, axis + 1)
            texts = (
                f"the mask is tiled along axis {axis}, {{}} repeats each element",
                f"each element of the mask is repeated along axis {axis}, {{}} tiles them",
            )
            for constant, (own, theirs) in ((axis + 1, texts), (axis, texts[::-1])):
                if (split == split.narrow(constant, 0, 1)).all():
                    yield Told(own.format("torch"), theirs.format("JAX")), other
