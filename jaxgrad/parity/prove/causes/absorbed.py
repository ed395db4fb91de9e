"""Explain wrong gradients by a mistake in the forward pass that the outputs do not show.

A later call may absorb it: rounding to a grid gives the same numbers for slightly different ones.
The outputs then agree, and the gradients differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.causes.case import Case, Explanation
from jaxgrad.parity.prove.judge import Judged
from jaxgrad.parity.prove.locate import forward as locate_forward


_STARTS = 12  # calls in which mistakes are tried


def explain(case: Case) -> Explanation | None:
    """Return the mistake in a call of torch with which torch has JAX's value and gradients."""
    evidence = case.evidence
    if not evidence.rerunnable or evidence.failed_output_draw is not None or case.changes:
        return None
    starts = _starts(case)
    draws = [k for k, each in enumerate(evidence.judged_gradients) if _differ(each)]
    draw = draws[-1] if draws else case.draw  # the last one, as weights of ones tell little
    if not starts or evidence.alignments[draw] is not evidence.alignments[case.draw]:
        return None
    from jaxgrad.parity.prove.causes.forward import Search  # imports torch

    search = Search(evidence, draw)
    found = [
        trial
        for i in starts
        for trial in search.in_time(search.visible_trials(i))
        if not trial.partial and trial.changes
    ]  # before torch runs with other weights, which the calls of this run would then read
    pairs = [(trial, x) for trial in found for x in (trial.changes, tuple(trial.everywhere()))]
    best = case.best_in_torch((pair, pair[1]) for pair in pairs if pair[1])
    if best is None:
        return None
    (trial, changes), fixed = best
    count = f" in all {len(changes)} calls of {search.run.values[trial.value].op}"
    where = count if len(changes) > len(trial.changes) else ""
    tested = f"{trial.tested}{where}, {case.names(fixed)}; the outputs do not show the difference"
    text = wording.Rerun(trial.difference, tested).says(evidence.reference)
    key = trial.key if trial.row is None else search.spot(trial.row).key
    line = search.run.values[trial.value].line
    lines = (line,) if line else ()
    return Explanation(
        text, fixed, fixed == case.wrong, key, fix=trial.fix, changes=tuple(changes), lines=lines
    )


def _differ(judged: Sequence[Judged]) -> bool:
    return any(j.verdict == "fail" for j in judged)


def _starts(case: Case) -> list[int]:
    """Return the first values of torch that do not occur in JAX."""
    evidence, run = case.evidence, case.evidence.runs[case.draw]
    alignment = evidence.alignments[case.draw]
    region = [i for i, v in enumerate(run.values) if v.op != "input" and not alignment.visible(i)]
    mapped = set(evidence.port.weights.names)
    return locate_forward.origins(run, alignment, region, mapped)[:_STARTS] if region else []
