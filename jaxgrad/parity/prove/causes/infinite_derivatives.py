"""Explain NaN in JAX's gradients: an infinite derivative times a gradient of zero.

`jnp.where(x > 0, jnp.log(x), 0)` gives the branch that it does not select a gradient of zero, and
zero times infinity is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxgrad import functional
from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.causes.case import Case, Explanation
from jaxgrad.parity.prove.record.jax_side.flow import Flow, leaf_of
from jaxgrad.parity.prove.record.jax_side.gates import Gate
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key, Spot


_AT_ZERO = " where its gradient is 0"
_PRODUCT = "0 times infinity is NaN"


def explain(case: Case) -> Explanation | None:
    """Drop the NaN that an infinite derivative makes, most often of a gradient of zero."""
    flow, program = case.evidence.flow, case.evidence.port.program
    read = {gate: _operand(flow, gate) for gate in case.unbounded}
    keys = dict.fromkeys((gate.path, 0) for gate in case.unbounded)
    keys |= dict.fromkeys(k for k in read.values() if k is not None and leaf_of(k) is None)
    before = case.gated.gradients(case.evidence.draws[case.draw], {}, tuple(keys)).cotangents
    first = [g for g in case.unbounded if np.all(np.isfinite(before[g.path, 0]))]  # NaN starts here
    kept, fixed = case.best([(gate,) for gate in first], 1.0)
    if not kept:
        return None
    gates_ = [gate for group in kept for gate in group]
    key, operand = (gates_[0].path, 0), read[gates_[0]]
    elements = None if operand is None or operand not in before else ~np.isfinite(before[operand])
    function = _function(case, key)
    difference = wording.Rerun(
        wording.InJax(
            f"the derivative of {_name(program, key)} at {case.place(key)} is infinite"
            f"{_where(case, key, operand, elements, before[key])}"
        ),
        f"rerunning JAX without these elements, {case.names(fixed)}",
        f"; jaxgrad.functional.{function} has torch's gradient there"
        if function
        else "; replace its operand by a safe number there, as in "
        "jnp.where(ok, f(jnp.where(ok, x, 1.0)), 0.0)",
    )
    text = difference.says(case.evidence.reference)
    settings = dict.fromkeys(gates_, 1.0)
    return Explanation(text, fixed, fixed == case.wrong, key, settings=settings)


def _operand(flow: Flow, gate: Gate) -> Key | None:
    """Return the value that a gate scales, None if it is several or a literal."""
    operands = flow.operands.get(gate.path, ())
    keys = operands[gate.operand] if gate.operand < len(operands) else ()
    return keys[0] if len(keys) == 1 else None


def _where(
    case: Case,
    key: Key,
    operand: Key | None,
    elements: np.ndarray | None,
    cotangent: np.ndarray,
) -> str:
    """Say in which elements a derivative is infinite, as the end of a clause.

    Args:
        case: The gradients.
        key: The result of the call.
        operand: Its operand, None if it is unknown.
        elements: The elements of the operand whose gradient is not finite, None if unknown.
        cotangent: The gradient of the result.
    """
    if elements is None or operand is None or elements.shape != cotangent.shape:
        return "" if np.all(cotangent) else f"{_AT_ZERO}, and {_PRODUCT}"
    if not np.any(cotangent[elements]):
        branch = _unselected(case, key, elements)
        return f" in elements that {branch} does not select, and {_PRODUCT}" if branch else (
            f"{_AT_ZERO}, and {_PRODUCT}"
        )  # fmt: skip
    values = _values(case, [operand])
    zero = values is not None and values[0].shape == elements.shape and not np.any(
        values[0][elements]
    )  # fmt: skip
    return " where its operand is 0" if zero else ""


def _unselected(case: Case, key: Key, elements: np.ndarray) -> str:
    """Name the `where` after a call at which the gradient of the given elements becomes 0."""
    flow, program = case.evidence.flow, case.evidence.port.program
    computed = {key, *flow.ahead([key], set())}
    selects = [k for k in computed if _name(program, k) == "select_n"]
    branches = {
        select: next(
            (k for keys in flow.operands[select[0]][1:] for k in keys if k in computed), None
        )
        for select in sorted(selects, key=flow.order.__getitem__)
    }
    slots = tuple(dict.fromkeys(k for pair in branches.items() for k in pair if k is not None))
    draw = case.evidence.draws[case.draw]
    found = case.gated.gradients(draw, {}, slots).cotangents if slots else {}
    for select, branch in branches.items():
        if branch is None or any(found[k].shape != elements.shape for k in (select, branch)):
            continue
        if np.any(found[select][elements]) and not np.any(found[branch][elements]):
            return f"the where at {case.place(select)}"
    return ""


def _values(case: Case, keys: Sequence[Key]) -> list[np.ndarray] | None:
    """Return values of the JAX program, None if one is a leaf or is computed in a loop."""
    lengths = case.evidence.port.program.lengths
    spots = [Spot(*key) for key in keys if leaf_of(key) is None]
    if len(spots) != len(keys) or any(lengths.get(spot.path) for spot in spots):
        return None
    return case.evidence.port.values(case.evidence.draws[case.draw], spots)


def _function(case: Case, key: Key) -> str:
    """Return the function of `jaxgrad.functional` that computes what a call of torch computes.

    The call has the same result as the equation, and it is more than this equation in torch.
    """
    alignment = case.evidence.alignments[case.draw]
    for i, value in enumerate(case.run.values):
        if any(alignment.spots[k].key == key for k in alignment.matches(i)):
            alone = value.op in ("where", _name(case.evidence.port.program, key))
            return value.op if not alone and hasattr(functional, value.op) else ""
    return ""


def _name(program: JaxProgram, key: Key) -> str:
    return program.equations[key[0]].primitive.name if key[0] in program.equations else ""
