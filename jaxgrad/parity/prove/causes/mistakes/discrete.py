"""Mistakes in calls that return integers or booleans: a comparison, a rounding, an index."""

from __future__ import annotations

import operator
from typing import Any, TypeGuard

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import Mistakes, TorchCall
from jaxgrad.parity.prove.wording import Missing, Setting, Told


COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
TO_INTEGERS = ("long", "int", "short", "to", "type")
LOGICAL = {"and": "&", "or": "|", "logical_and": "&", "logical_or": "|"}
_LOGICAL = {"&": operator.and_, "|": operator.or_}
_ROUNDINGS = {
    "to the nearest integer": torch.round, "down": torch.floor, "up": torch.ceil,
    "towards zero": torch.trunc,
}  # fmt: skip


def compared(call: TorchCall) -> Mistakes:
    """Compare by another sign, if JAX has the number, or with another number of JAX's."""
    x, y = call.args
    number = float(y) if isinstance(y, int | float) else None
    own = COMPARISONS[call.op]
    for name, sign in COMPARISONS.items():
        if sign != own and (number is None or number in call.numbers):
            text = Told(
                f"JAX compares by {sign}, torch by {own}", f"torch compares by {own}, JAX by {sign}"
            )
            yield call.by(text, getattr(torch, name)).fixed(sign, own)
    for other in call.numbers if number is not None else ():
        if other != number:
            text = Told(
                f"JAX compares with {other:g}, torch with {number:g}",
                f"torch compares with {number:g}, JAX with {other:g}",
            )
            yield call.called(text, x, other).fixed(f"{other:g}", f"{number:g}")


def rounded(call: TorchCall) -> Mistakes:
    """Round before the conversion to integers, which truncates."""
    x, *rest = call.args
    truncates = isinstance(x, Tensor) and x.is_floating_point() and _is_discrete(call.result)
    if truncates:
        for how, function in _ROUNDINGS.items():
            text = Setting("the conversion to integers", how, "towards zero", "rounds", "rounds")
            yield call.called(text, function(x), *rest, **call.kwargs)


def largest(call: TorchCall) -> Mistakes:
    """Take the index of the smallest element instead of the largest one, or the reverse."""
    other = "argmin" if call.op == "argmax" else "argmax"
    text = Setting("the function", other, call.op)
    yield call.by(text, getattr(torch, other)).fixed(other, call.op)


def logical(call: TorchCall) -> Mistakes:
    """Join two masks by the other operator."""
    own = LOGICAL[call.op]
    for sign, function in _LOGICAL.items():
        if sign != own:
            text = Setting("the operator of the masks", sign, own)
            yield call.by(text, function).fixed(sign, own)


def left_out(call: TorchCall) -> Mistakes:
    """Return an operand of a call with a discrete result, instead of the result."""
    out = call.result
    if not _is_discrete(out):
        return
    given = [x for x in (*call.args, *call.kwargs.values()) if isinstance(x, Tensor)]
    alike = [x for x in given if (x.shape, x.dtype) == (out.shape, out.dtype)][:2]
    for which, x in zip(("first", "second"), alike, strict=False):
        text = Missing(f"torch's {call.op}", f"its {which} operand" if len(alike) == 2 else "")
        yield call.by(text, lambda *_, x=x, **__: x.clone())._replace(setting="skip")


def _is_discrete(x: Any) -> TypeGuard[Tensor]:
    return isinstance(x, Tensor) and not x.is_floating_point() and not x.is_complex()
