"""Compare the parts of the calls that torch makes in one kernel: attention, GRU, LSTM, RNN."""

from __future__ import annotations

import dataclasses

from jaxgrad.parity.prove.alignments import aligned
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.torch_side.opened import CALLS


def opened(evidence: Evidence, op: str) -> Evidence | None:
    """Return the evidence of runs in which torch computes these calls step by step.

    Returns None if the call `op` has no parts, if it is too long, or if it is open already.
    """
    if evidence.opened or not evidence.rerunnable or op not in CALLS:
        return None
    side = evidence.torch_side
    drawn = [dataclasses.replace(d, run=side.run(d.draw, opened=True)) for d in evidence.drawn]
    if len(drawn[0].run.values) == len(evidence.runs[0].values):
        return None
    alignments = aligned(drawn, evidence.jax_runs)
    return dataclasses.replace(evidence, drawn=drawn, alignments=alignments, opened=True)
