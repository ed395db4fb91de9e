"""The backward surface: find the first intermediate cotangent that differs."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import fingerprint, magnitude, print_distance
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side.flow import leaf_of, place
from jaxgrad.parity.prove.jax_side.lines import quoted
from jaxgrad.parity.prove.jax_side.program import Key, Spot
from jaxgrad.parity.prove.judge import CONTROL_SIZE
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.surfaces import locate_backward, numbers
from jaxgrad.parity.prove.surfaces.gradient_case import Explanation
from jaxgrad.parity.prove.surfaces.locate_forward import ROOT
from jaxgrad.parity.prove.torch_side.values import TorchRun, Value, rounding


def surface(evidence: Evidence, why: Explanation | None = None) -> Judgement:
    """Judge the intermediate cotangents, which are compared only if a gradient differs.

    Args:
        evidence: All runs.
        why: The tested cause of wrong gradients, if one was found.
    """
    count, draw = len(evidence.spots()), evidence.failed_gradient_draw
    if draw is None:
        text = f"{count} intermediate cotangents not compared, because no gradient differs"
        return Judgement(Surface("backward", "not judged", text, control=_control(evidence)))
    wrong = _wrong(evidence, draw, evidence.jax_gradients[draw].cotangents)
    read = {k for value in evidence.runs[draw].values for k in value.inputs}
    last = set(evidence.runs[draw].output_values) - read  # whose cotangents are given
    inside = [i for i in wrong if i not in last and _matters(evidence, draw, i)]
    if why is not None and why.cotangents:
        after = set(_wrong(evidence, draw, why.cotangents))
        inside = [i for i in inside if i not in after]  # the others differ in a correct port too
    while inside and _stopped_too(evidence, draw, inside[-1]):
        inside.pop()
    cotangents = evidence.jax_gradients[draw].cotangents
    inside = [i for i in inside if _not_finite(evidence, draw, i, cotangents)] or inside
    rows = _rows(evidence, draw, set(wrong), set(inside))
    if not inside:
        text = f"{count} intermediate cotangents agree"
        return Judgement(Surface("backward", "pass", text, rows, control=_control(evidence)))
    run = evidence.runs[draw]
    value = run.values[inside[-1]]
    text = f"the gradient flowing into {_described(run, inside[-1])} differs"
    plain = Finding("backward", value.module or ROOT, "not located", text, op=value.op)
    finding, notes = evidence.locate(lambda: _locate(evidence, draw, inside[-1], why), plain)
    text = f"{len(inside)} of {count} intermediate cotangents differ"
    return Judgement(Surface("backward", "fail", text, rows, (finding,)), notes)


def _rows(
    evidence: Evidence, draw: int, wrong: Set[int], inside: Set[int]
) -> tuple[dict[str, Any], ...]:
    """Return a row for each compared cotangent in the order of the backward pass.

    Those that are `wrong`, but not `inside`, differ in a correct port too.
    """
    run, program, noise = evidence.runs[draw], evidence.port.program, _noise(evidence, draw)
    rows = []
    for i, spot in sorted(evidence.spots(draw).items(), reverse=True):
        value = run.values[i]
        actual = fingerprint(
            np.asarray(evidence.jax_gradients[draw].cotangents[spot.key])[spot.iteration]
        )
        expected = value.cotangent
        of = value.name if value.module else value.op
        rows.append({
            "name": ", ".join(filter(None, (of, _call(run, i), place(program, spot.key)))),
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


def _described(run: TorchRun, number: int) -> str:
    value = run.values[number]
    if value.op == "input":
        return "an input"
    call = _call(run, number)
    return f"the output of torch's {value.name}" + (f", {call}," if call else "")


def _call(run: TorchRun, number: int) -> str:
    """Return which one of several calls with the same name computed a value."""
    name = run.values[number].name
    calls = [i for i, value in enumerate(run.values) if value.name == name]
    return f"call {calls.index(number) + 1} of {len(calls)}" if len(calls) > 1 else ""


def _wrong(evidence: Evidence, draw: int, cotangents: Mapping[Key, np.ndarray]) -> list[int]:
    """Return the torch values whose cotangents differ on one draw."""
    noise = dict(enumerate(_noise(evidence, draw)))
    spots = evidence.spots(draw)
    return locate_backward.wrong(evidence.runs[draw], spots, cotangents, noise)


def _noise(evidence: Evidence, draw: int) -> np.ndarray:
    drawn = evidence.drawn[draw]
    return rounding(drawn.run, drawn.gradient_reruns, lambda value: value.cotangent)


def _matters(evidence: Evidence, draw: int, number: int) -> bool:
    """Whether the gradients nearest to a differing cotangent differ too.

    If they agree, the port is correct and only uses the value differently from torch.
    """
    right = {j.name for j in evidence.judged_gradients[draw] if j.verdict != "fail"}
    run = evidence.runs[draw]
    inputs = {n for n in evidence.torch_gradients(run) if n.startswith("input ")}
    near = locate_backward.nearest_weights(run, number)
    names = (near - {"input"}) | (inputs if "input" in near else set())
    return not names or not names <= right


def _stopped_too(evidence: Evidence, draw: int, number: int) -> bool:
    """Whether torch stops the gradient of a value, and JAX the gradient of one of its copies.

    A port may compute the same value twice: with a gradient for a loss, and without a gradient
    for a straight-through estimator.
    """
    if evidence.runs[draw].values[number].cotangent is not None:
        return False
    return any(not np.any(g) for _, g in _copies(evidence, draw, number))


def _copies(
    evidence: Evidence, draw: int, number: int, first: int = 0
) -> list[tuple[Key, np.ndarray]]:
    """Return the JAX values equal to a torch value, with their cotangents."""
    alignment, port = evidence.alignments[draw], evidence.port
    spots = [alignment.spots[k] for k in alignment.candidates[number][first:9]]
    spots = [s for s in spots if s.path not in port.program.closed and leaf_of(s.key) is None]
    if not spots:
        return []
    keys = tuple(dict.fromkeys(s.key for s in spots))
    cotangents = port.gradients(evidence.draws[draw], keys).cotangents
    return [(s.key, np.asarray(cotangents[s.key])[s.iteration]) for s in spots]


def _locate(evidence: Evidence, draw: int, number: int, why: Explanation | None) -> Finding:
    """Locate the call through which the cotangent of a torch value goes wrong."""
    run, alignment, port = evidence.runs[draw], evidence.alignments[draw], evidence.port
    spot = evidence.spots(draw)[number]
    source, number = number, locate_backward.last_view(run, alignment, number)
    if evidence.rerunnable:
        run = evidence.torch_side.run(evidence.draws[draw], keep=True, split=number)
    value = run.values[number]
    actual = np.asarray(evidence.jax_gradients[draw].cotangents[spot.key])[spot.iteration]
    key = _correct_copy(evidence, draw, number, value.cotangent, bool(np.any(actual)))
    if evidence.rerunnable or value.cotangent is None:
        consumer, cause = _culprit(evidence, draw, number, spot, run)
        if why is None and not _same_elsewhere(evidence, draw, number, (consumer, cause)):
            cause = ""
    else:  # a dump does not record the cotangent through each consumer
        consumer, cause = locate_backward.first_consumer(run, number), ""
    if key is None:
        consumer = locate_backward.past_views(run, alignment, number, consumer)
        same = {alignment.spots[k].key for k in alignment.candidates[number]}
        key = locate_backward.first_equation(evidence.flow, alignment, spot, consumer, same)
    else:
        consumer, value = None, run.values[source]  # the error is upstream of the correct copy
    at = value
    if consumer is not None and not locate_backward.is_view(run, consumer):
        at = run.values[consumer]
    if why is not None:
        key, cause = why.key or key, why.text
    data = port.value(evidence.draws[draw], spot)
    alike = evidence.rerunnable and value.data is not None and numbers.equal(value.data, data)
    expected = value.cotangent_data if alike else None
    text, worst, in_torch, in_jax = _difference(value, expected, actual)
    finding = Finding(
        "backward",
        at.module or ROOT,
        place(port.program, key),
        f"the gradient flowing into {_described(run, number)} differs: {text}",
        worst,
        in_torch,
        in_jax,
        cause=cause,
        tested=why is not None,
        op=at.op,
        torch_line=at.line,
    )
    if why is None:
        return quoted(finding, port.program, key)
    return quoted(finding, port.program, key, why.fix, why.closed)


def _culprit(
    evidence: Evidence, draw: int, number: int, spot: Spot, run: TorchRun
) -> tuple[int | None, str]:
    """Return the consumer that makes a cotangent wrong on a draw, and how it does so."""
    value = run.values[number]
    actual = np.asarray(evidence.jax_gradients[draw].cotangents[spot.key])[spot.iteration]
    both = value.data, evidence.port.value(evidence.draws[draw], spot)
    noise = float(_noise(evidence, draw)[number])
    return locate_backward.culprit(number, value.cotangent_data, actual, run, both, noise)


def _same_elsewhere(
    evidence: Evidence, draw: int, number: int, culprit: tuple[int | None, str]
) -> bool:
    """Whether the same call makes a cotangent wrong in the same way on every draw that fails.

    On one draw, a clipped cotangent can be a multiple of torch's by coincidence.
    """
    for other in range(len(evidence.draws)):
        spot = evidence.spots(other).get(number)
        failed = any(j.verdict == "fail" for j in evidence.judged_gradients[other])
        if other != draw and failed and spot is not None and evidence.rerunnable and culprit[1]:
            run = evidence.torch_side.run(evidence.draws[other], keep=True, split=number)
            if _culprit(evidence, other, number, spot, run) != culprit:
                return False
    return True


def _difference(
    value: Value, expected: np.ndarray | None, actual: np.ndarray
) -> tuple[str, tuple[int, ...], Any, Any]:
    """Describe a wrong cotangent; return the element that differs most, in torch and in JAX.

    Without torch's array, or if JAX arranges its elements otherwise, only the sizes are compared.
    """
    size = float(np.max(np.abs(actual), initial=0.0))
    if value.cotangent is None:
        text = f"torch has none, and JAX's largest element is {size:.6g}"
        return text, numbers.largest(actual), None, size
    in_torch = float(magnitude(value.cotangent))
    sizes = f"its largest element is {in_torch:.6g} in torch and {size:.6g} in JAX"
    if expected is None or expected.shape != actual.shape:
        return sizes, (), None, None
    infinite, worst = numbers.not_finite(expected, actual)
    worst = worst if infinite else numbers.largest(actual - expected)
    if f"{in_torch:.6g}" == f"{size:.6g}":
        sizes = "the largest elements have the same size"
    return infinite or sizes, worst, expected[worst].item(), actual[worst].item()


def _correct_copy(
    evidence: Evidence, draw: int, number: int, expected: np.ndarray | None, arrives: bool
) -> Key | None:
    """Return a value's JAX copy with a correct cotangent: the error is upstream of that copy.

    A stop_gradient is not the error if a wrong gradient `arrives`, because it blocks gradients.
    """
    if expected is None:
        return None
    equations = evidence.port.program.equations
    for key, cotangent in _copies(evidence, draw, number, 1):
        stops = equations[key[0]].primitive.name == "stop_gradient"
        off = float(print_distance(fingerprint(cotangent), expected))
        if not (stops and arrives) and off < 1e-10:
            return key
    return None


def _control(evidence: Evidence) -> str:
    """Change one cotangent inside the JAX program, and check that the comparison then fails."""
    if evidence.control_key is None:
        return ""
    gradients = evidence.gradients(evidence.draws[0], 1 + CONTROL_SIZE)
    judged = evidence.judge_gradients(0, gradients)
    if _wrong(evidence, 0, gradients.cotangents) or any(j.verdict == "fail" for j in judged):
        where = place(evidence.port.program, evidence.control_key)
        return f"an error of {CONTROL_SIZE:g} injected into the cotangent at {where} was detected"
    return ""
