"""Explain NaN in JAX's gradients: an infinite derivative times a gradient of zero.

`jnp.where(x > 0, jnp.log(x), 0)` gives the branch that it does not select a gradient of zero, and
zero times infinity is NaN.
"""

from __future__ import annotations

import numpy as np

from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.causes.case import Case, Explanation
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key


def explain(case: Case) -> Explanation | None:
    """Drop the NaN that an infinite derivative makes of a gradient of zero."""
    keys = tuple(dict.fromkeys((gate.path, 0) for gate in case.unbounded))
    before = case.gated.gradients(case.evidence.draws[case.draw], {}, keys).cotangents
    first = [g for g in case.unbounded if np.all(np.isfinite(before[g.path, 0]))]  # NaN starts here
    kept, fixed = case.best([(gate,) for gate in first], 1.0)
    if not kept:
        return None
    gates_ = [gate for group in kept for gate in group]
    key, flow = (gates_[0].path, 0), case.evidence.flow
    program = case.evidence.port.program
    after = [k for k in flow.ahead([key], set()) if _name(program, k) == "select_n"]
    branch = f"the where at {case.place(min(after, key=flow.order.__getitem__))}" if after else ""
    skipped = f"in elements that {branch} does not select" if branch else "where its gradient is 0"
    zero = "" if np.all(before[key]) else f" {skipped}, and 0 times infinity is NaN"
    difference = wording.Rerun(
        wording.InJax(
            f"the derivative of {_name(program, key)} at {case.place(key)} is infinite{zero}"
        ),
        f"rerunning JAX without these elements, {case.names(fixed)}",
        "; replace its operand by a safe number there, as in "
        "jnp.where(ok, f(jnp.where(ok, x, 1.0)), 0.0)",
    )
    text = difference.says(case.evidence.reference)
    settings = dict.fromkeys(gates_, 1.0)
    return Explanation(text, fixed, fixed == case.wrong, key, settings=settings)


def _name(program: JaxProgram, key: Key) -> str:
    return program.equations[key[0]].primitive.name if key[0] in program.equations else ""
