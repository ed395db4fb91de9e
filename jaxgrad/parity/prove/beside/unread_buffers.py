"""Note the buffers of torch whose numbers are nowhere in the port.

Buffers that the port does not take from its params are not redrawn. A port without a mean of 0, or
without a deviation of 1, returns the numbers of torch.
"""

from __future__ import annotations

import numpy as np

from jaxgrad.parity.prove.align.align import SAME
from jaxgrad.parity.prove.align.fingerprint import fingerprint, print_distance
from jaxgrad.parity.prove.evidence import Evidence, taken
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.jax_side.program import literals
from jaxgrad.parity.prove.record.torch_side.values import changes
from jaxgrad.parity.prove.report import Judgement
from jaxgrad.parity.prove.wording import jax_program


_LISTED = 4
_EQUAL = 1e-6  # relative difference of two numbers that are one, perhaps rounded to float32


def noted(evidence: Evidence, judgement: Judgement) -> Judgement:
    """Return the forward surface with a note on the buffers that were compared as they are."""
    names = _unread(evidence)
    if not names:
        return judgement
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    many = "s" * (len(names) > 1)
    note = (
        f"the numbers of torch's buffer{many} {', '.join(names[:_LISTED])}{more} were not found in "
        f"{jax_program(evidence.reference)}: its outputs agree for these numbers alone. If a "
        "checkpoint or training can change them, they have to come from params"
    )
    return judgement._replace(notes=(*judgement.notes, note))


def _unread(evidence: Evidence) -> list[str]:
    """Return the floating buffers that torch reads, and of which the port has no number."""
    side, run = evidence.torch_side, evidence.runs[0]
    state = evidence.draws[0].state
    fixed = {*taken(evidence.port, evidence.flow, side.flags), *side.flags, *changes(run, state)}
    numbers = {
        name: np.asarray(state[name], np.float64)
        for value in run.values
        for name in value.weights
        if name not in fixed and name in run.buffers and state[name].dtype.kind == "f"
    }
    suspects = {name: x for name, x in numbers.items() if not _is_mask(x)}
    if not suspects:
        return []
    _, prints = evaluation.spots(evidence.jax_runs[0].prints)
    own = literals(evidence.port.program.jaxpr, integers=True)
    return [
        name
        for name, x in suspects.items()
        if not _is_literal(x, own) and not _is_computed(evidence, name, x, prints)
    ]


def _is_mask(x: np.ndarray) -> bool:
    """Whether a buffer has two numbers, as a mask that the port may hold in booleans."""
    return np.unique(x).size == 2


def _is_literal(x: np.ndarray, own: list[float]) -> bool:
    """Whether all elements are one number that the port contains; 0 and 1 are in most programs."""
    first = x.flat[0] if x.size else 0.0
    plain = first in (0.0, 1.0) or not np.all(x == first)
    return not plain and any(abs(first - y) <= _EQUAL * abs(first) for y in own)


def _is_computed(evidence: Evidence, name: str, x: np.ndarray, prints: np.ndarray) -> bool:
    """Whether the port has the buffer, or a value that torch computes from this buffer alone."""
    run, alignment = evidence.runs[0], evidence.alignments[0]
    if np.unique(x).size > 1 and print_distance(fingerprint(x), prints).min(initial=np.inf) < SAME:
        return True
    alone: set[int] = set()
    for i, value in enumerate(run.values):
        if set(value.weights) <= {name} and alone.issuperset(value.inputs):
            if value.weights or value.inputs:
                alone.add(i)
    return any(alignment.matches(i) and not alignment.trivial[i] for i in alone)
