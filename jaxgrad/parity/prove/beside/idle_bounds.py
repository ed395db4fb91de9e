"""Note a bound or mask of torch that changes no number of the proof and that the port lacks.

A clamp that no input reaches is the identity, and so is a mask that hides nothing. A port without
it has the same values and gradients, on these inputs.
"""

from __future__ import annotations

import numpy as np

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate.forward import ROOT
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES, leaf_of
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.report import Judgement
from jaxgrad.parity.prove.wording import jax_program


_BOUNDS = frozenset({
    "clamp", "clamp_", "clamp_max", "clamp_min", "clip", "clip_", "hardtanh", "masked_fill",
    "masked_fill_", "maximum", "minimum", "nan_to_num", "relu", "relu6", "threshold", "where",
})  # fmt: skip
_SAME = REARRANGES | {"custom_vjp_call"}  # an equation with a body returns what that returns


def noted(evidence: Evidence, judgement: Judgement) -> Judgement:
    """Return the forward surface with a note on the bounds that it did not compare."""
    idle = [i for i in range(len(evidence.runs[0].values)) if _is_idle(evidence, i)]
    missing = [i for i in idle if not _has_counterpart(evidence, i)]
    if not missing:
        return judgement
    value = evidence.runs[0].values[missing[0]]
    more = len(missing) - 1
    others = f" (and {more} other call{'s' * (more > 1)})" if more else ""
    note = (
        f"torch's {value.op} in {value.module or ROOT}{others} changes no number on the inputs of "
        f"this proof, and no such step was found in {jax_program(evidence.reference)}: add inputs "
        "on which it acts, with also="
    )
    return judgement._replace(notes=(*judgement.notes, note))


def _is_idle(evidence: Evidence, number: int) -> bool:
    """Whether a bound or mask returns the numbers of its operand in every draw."""
    if evidence.runs[0].values[number].op not in _BOUNDS:
        return False
    for run, alignment in zip(evidence.runs, evidence.alignments, strict=True):
        if number >= len(run.values) or alignment.trivial[number]:
            return False
        value = run.values[number]
        if not any(np.array_equal(run.values[i].print, value.print) for i in value.inputs):
            return False
    return True


def _has_counterpart(evidence: Evidence, number: int) -> bool:
    """Whether the port computes a value from one with the same numbers.

    The values inside a custom rule, as that of `jax.nn.relu`, are not recorded, so they are passed.
    """
    alignment, flow = evidence.alignments[0], evidence.flow
    keys = {alignment.spots[k].key for k in alignment.matches(number)}

    def computes(key: Key) -> bool:
        if leaf_of(key) is not None:
            return False
        inside = [key, *flow.back(flow.parents.get(key, ()), keys)]
        return any(
            leaf_of(k) is None
            and flow.program.equations[k[0]].primitive.name not in _SAME
            and (k == key or _is_inside(k, key))
            and keys & set(flow.parents.get(k, ()))
            for k in inside
        )

    return any(map(computes, keys))


def _is_inside(inner: Key, key: Key) -> bool:
    """Whether a value is computed in a body of the equation that returns another one."""
    return len(inner[0]) > len(key[0]) and inner[0][: len(key[0])] == key[0]
