"""Evidence of a torch that runs in another way: calls step by step, or with a mistake in some."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from jaxgrad.parity.prove.align.alignments import aligned
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.torch_side.opened import CALLS
from jaxgrad.parity.prove.record.torch_side.values import Change, Mistakes


def opened(evidence: Evidence, op: str) -> Evidence | None:
    """Return the evidence of runs in which torch computes these calls step by step.

    Returns None if the call `op` has no parts, if it is too long, or if it is open already.
    """
    if evidence.opened or evidence.mistakes or not evidence.rerunnable or op not in CALLS:
        return None
    side = evidence.torch_side
    drawn = [dataclasses.replace(d, run=side.run(d.draw, opened=True)) for d in evidence.drawn]
    if len(drawn[0].run.values) == len(evidence.runs[0].values):
        return None
    alignments = aligned(drawn, evidence.jax_runs)
    return dataclasses.replace(evidence, drawn=drawn, alignments=alignments, opened=True)


def changed(evidence: Evidence, changes: Sequence[Change]) -> Evidence | None:
    """Return the evidence of runs in which torch makes a mistake too, in some of its calls.

    Returns None if torch cannot run with it on every draw.
    """
    side, mistakes = evidence.torch_side, (*evidence.mistakes, tuple(changes))
    options: dict[str, Any] = dict(changes=Mistakes(mistakes).joined, opened=evidence.opened)
    drawn = []
    for each in evidence.drawn:
        try:
            run = side.run(each.draw, forward=True, **options)
            reruns = side.reruns(each.draw, run, forward=True, **options)
        except Exception:  # the mistake makes a later call impossible
            return None
        if len(run.values) != len(each.run.values):
            return None
        drawn.append(dataclasses.replace(each, run=run, reruns=reruns))
    return dataclasses.replace(
        evidence,
        drawn=drawn,
        alignments=aligned(drawn, evidence.jax_runs),
        mistakes=mistakes,
    )


def making(evidence: Evidence, mistakes: Mistakes) -> Evidence:
    """Return the evidence of a torch that makes these mistakes in every run, also of training."""
    side = evidence.torch_side.making(mistakes)
    drawn = [side.record(each.draw) for each in evidence.drawn]
    alignments = aligned(drawn, evidence.jax_runs)
    return dataclasses.replace(
        evidence, torch_side=side, drawn=drawn, alignments=alignments, made=True
    )
