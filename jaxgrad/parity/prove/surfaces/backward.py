"""The backward surface: find the first intermediate cotangent that differs."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import fingerprint, magnitude, print_distance
from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import CONTROL_SIZES
from jaxgrad.parity.prove.locate import backward as locate_backward
from jaxgrad.parity.prove.locate import cotangents as wrong_cotangent
from jaxgrad.parity.prove.locate.forward import ROOT
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.text import counted, differing


def surface(evidence: Evidence, why: Explanation | None = None) -> Judgement:
    """Judge the intermediate cotangents, which are compared only if a gradient differs.

    Args:
        evidence: All runs.
        why: The tested cause of wrong gradients, if one was found.
    """
    count, draw = len(evidence.spots()), evidence.failed_gradient_draw
    if draw is None:
        what = "cotangents are" if count != 1 else "cotangent is"
        text = f"{count} intermediate {what} compared only if a gradient differs"
        return Judgement(Surface("backward", "not judged", text, control=_control(evidence)))
    wrong = _wrong(evidence, draw, evidence.jax_gradients[draw].cotangents)
    read = {k for value in evidence.runs[draw].values for k in value.inputs}
    last = set(evidence.runs[draw].output_values) - read  # whose cotangents are given
    right = set(evidence.spots(draw)) - set(wrong)
    inside = [i for i in wrong if i not in last and _matters(evidence, draw, i, right)]
    if why is not None and why.cotangents:
        after = set(_wrong(evidence, draw, why.cotangents))
        inside = [i for i in inside if i not in after]  # the others differ in a correct port too
    while inside and _stopped_too(evidence, draw, inside[-1]):
        inside.pop()
    cotangents = evidence.jax_gradients[draw].cotangents
    inside = [i for i in inside if _not_finite(evidence, draw, i, cotangents)] or inside
    rows = _rows(evidence, draw, set(wrong), set(inside))
    if not inside:
        text = f"{counted(count, 'intermediate cotangent')} agree{'s' * (count == 1)}"
        return Judgement(Surface("backward", "pass", text, rows, control=_control(evidence)))
    run = evidence.runs[draw]
    value = run.values[inside[-1]]
    text = f"the gradient flowing into {wrong_cotangent.described(run, inside[-1])} differs"
    plain = Finding("backward", value.module or ROOT, "not located", text, op=value.op)
    own = _repairs(evidence, inside[-1], why)
    finding, notes = evidence.locate(
        lambda: wrong_cotangent.locate(evidence, draw, inside[-1], own), plain
    )
    text = differing(len(inside), count, "intermediate cotangent")
    return Judgement(Surface("backward", "fail", text, rows, (finding,)), notes)


def _repairs(evidence: Evidence, number: int, why: Explanation | None) -> Explanation | None:
    """Return the explanation after which a cotangent agrees.

    If each leaves it wrong, it is the one whose place comes last in the program, where gradients
    start.
    """
    if why is None or not why.rest:
        return why
    order = evidence.flow.order
    alone = [e for e in (why, *why.rest) if number in e.repaired]
    placed = {order.get(e.key, -1): e for e in alone or (why, *why.rest) if e.key is not None}
    return placed[max(placed)] if placed else why


def _rows(
    evidence: Evidence, draw: int, wrong: Set[int], inside: Set[int]
) -> tuple[dict[str, Any], ...]:
    """Return a row for each compared cotangent in the order of the backward pass.

    Those that are `wrong`, but not `inside`, differ in a correct port too.
    """
    run, program, noise = (
        evidence.runs[draw],
        evidence.port.program,
        wrong_cotangent.noise_of(evidence, draw),
    )
    calls = wrong_cotangent.calls(run)
    rows = []
    for i, spot in sorted(evidence.spots(draw).items(), reverse=True):
        value = run.values[i]
        actual = fingerprint(
            np.asarray(evidence.jax_gradients[draw].cotangents[spot.key])[spot.iteration]
        )
        expected = value.cotangent
        rows.append({
            "name": ", ".join(filter(None, (value.in_words, calls[i], place(program, spot.key)))),
            "verdict": "fail" if i in inside else "harmless" if i in wrong else "pass",
            "difference": 1.0 if expected is None else float(print_distance(actual, expected)),
            "allowed": locate_backward.allowed(float(noise[i])),
            "index": [],
            "torch": None if expected is None else float(magnitude(expected)),
            "jax": float(magnitude(actual)),
        })  # fmt: skip
    return tuple(rows)


def _not_finite(
    evidence: Evidence, draw: int, number: int, cotangents: Mapping[Key, np.ndarray]
) -> bool:
    """Whether a cotangent has NaN or infinite elements in one framework only."""
    spot = evidence.spots(draw)[number]
    actual = np.asarray(cotangents[spot.key])[spot.iteration]
    expected = evidence.runs[draw].values[number].cotangent
    counts = slice(1, 4)  # of NaN and infinite elements in a fingerprint
    torchs = expected is not None and np.any(expected[counts])
    return bool(torchs) != bool(np.any(fingerprint(actual)[counts]))


def _wrong(evidence: Evidence, draw: int, cotangents: Mapping[Key, np.ndarray]) -> list[int]:
    """Return the torch values whose cotangents differ on one draw."""
    noise = dict(enumerate(wrong_cotangent.noise_of(evidence, draw)))
    spots = evidence.spots(draw)
    return locate_backward.wrong(evidence.runs[draw], spots, cotangents, noise)


def _matters(evidence: Evidence, draw: int, number: int, right: Set[int] = frozenset()) -> bool:
    """Whether the gradients nearest to a differing cotangent differ too.

    If they agree, or if the cotangents of all values before it are `right`, the port only uses the
    value differently from torch: it may mask after a product what torch masks before it.
    """
    agreeing = {j.name for j in evidence.judged_gradients[draw] if j.verdict != "fail"}
    run = evidence.runs[draw]
    inputs = {n for n in evidence.torch_gradients(run) if n.startswith("input ")}
    near = locate_backward.nearest_weights(run, number, right)
    if not near and locate_backward.nearest_weights(run, number):
        return False
    names = (near - {"input"}) | (inputs if "input" in near else set())
    return not names or not names <= agreeing


def _stopped_too(evidence: Evidence, draw: int, number: int) -> bool:
    """Whether torch stops the gradient of a value, and JAX the gradient of one of its copies.

    A port may compute the same value twice: with a gradient for a loss, and without a gradient
    for a straight-through estimator.
    """
    if evidence.runs[draw].values[number].cotangent is not None:
        return False
    return any(not np.any(g) for _, g in wrong_cotangent.copies(evidence, draw, number))


def _control(evidence: Evidence) -> str:
    """Change one cotangent inside the JAX program, and check that the comparison then fails."""
    if evidence.control_key is None:
        return ""
    for size in CONTROL_SIZES:
        gradients = evidence.gradients(evidence.draws[0], 1 + size)
        judged = evidence.judge_gradients(0, gradients, control=True)
        if _wrong(evidence, 0, gradients.cotangents) or any(j.verdict == "fail" for j in judged):
            where = place(evidence.port.program, evidence.control_key)
            return f"an error of {size:g} injected into the cotangent at {where} was detected"
    return ""
