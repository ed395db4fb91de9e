"""Note that torch computes something else in float64, in which a proof runs it, than in float32.

A module may read a dtype and branch on it, or take a number from `torch.finfo(x.dtype)`. A port of
the float32 branch then differs from torch in float64, and a port of the float64 branch agrees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxgrad.parity.prove.clock import TimeLimit
from jaxgrad.parity.prove.dtypes import single_precision
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate.forward import ROOT
from jaxgrad.parity.prove.record.torch_side.values import TorchRun, Value
from jaxgrad.parity.prove.report import Judgement
from jaxgrad.parity.prove.wording import jax_program


# Calls that return their operand itself if it has the dtype already.
_CASTS = {"input", "result", "to", "type", "type_as", "float", "double", "half", "bfloat16"}
# Numbers that do the same in a mask or as a bound, such as the largest ones of two dtypes.
_AS_INFINITE = 1e30


def noted(evidence: Evidence, judgement: Judgement) -> Judgement:
    """Return the forward surface with a note if torch takes another branch in float32."""
    if not evidence.rerunnable or not evidence.runs[0].reads_dtype:
        return judgement
    if evidence.native.working != "float32" or single_precision.too_large(evidence):
        return judgement
    try:
        with evidence.clock("float32"):
            note = _note(evidence, failed=judgement.surface.verdict == "fail")
    except TimeLimit:  # the verdict holds, and the next step raises it again
        return judgement
    except Exception:  # torch rejects float32, in which the user then does not run it either
        return judgement
    return judgement._replace(notes=(*judgement.notes, note)) if note else judgement


def _note(evidence: Evidence, failed: bool) -> str:
    """Compare a run in float32 with the one in float64."""
    side, draw = evidence.torch_side, evidence.draws[0]
    single = side.in_float32(draw)
    double = evidence.runs[0]
    if _names(single) != _names(double):
        double = side.run(draw, keep=True, forward=True)
        position = _first_difference(single, double)
        low, high = (_described(run, position) for run in (single, double))
        return (
            f"torch takes a different branch in float32 than in float64: {low} in float32, and "
            f"{high} in float64. The proof compares the branch that torch takes in float64"
        )
    changed = _changed(single.numbers, double.numbers)
    if failed and changed is not None and min(map(abs, changed)) < _AS_INFINITE:
        return (
            f"torch uses a different number in float32 than in float64: {changed[0]:g} in float32, "
            f"and {changed[1]:g} in float64. The proof compares float64: if "
            f"{jax_program(evidence.reference)} contains this number, take it from the dtype "
            "(for example from jnp.finfo(x.dtype))"
        )
    return ""


def _calls(run: TorchRun) -> list[Value]:
    return [value for value in run.values if value.op not in _CASTS]


def _names(run: TorchRun) -> list[tuple[str, str]]:
    return [(value.module, value.op) for value in _calls(run)]


def _first_difference(run: TorchRun, other: TorchRun) -> int:
    """Return the position of the first call that differs."""
    pairs = zip(_names(run), _names(other), strict=False)
    same = [x == y for x, y in pairs]
    return same.index(False) if False in same else len(same)


def _described(run: TorchRun, position: int) -> str:
    """Describe the call at a position."""
    calls = _calls(run)
    if position >= len(calls):
        return "no further call"
    value = calls[position]
    line = f" at {value.line}" if value.line else ""
    return f"{value.op} in {value.module or ROOT}{line}"


def _changed(single: Sequence[float], double: Sequence[float]) -> tuple[float, float] | None:
    """Return a number that only the float32 run uses, and one that only the other run uses."""
    alone = [
        next((x for x in one if not np.isclose(x, other, rtol=1e-5, atol=0).any()), None)
        for one, other in ((single, double), (double, single))
    ]
    return None if alone[0] is None or alone[1] is None else (alone[0], alone[1])
