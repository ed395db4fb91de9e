"""Report a wrong cotangent: where it goes wrong, in torch and in JAX, and by how much."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad._core.jaxpr import Path
from jaxgrad._core.source import Rule, rule_of
from jaxgrad.parity.prove.align.fingerprint import fingerprint, magnitude, print_distance
from jaxgrad.parity.prove.causes import numbers
from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate import backward as locate_backward
from jaxgrad.parity.prove.locate import quotes
from jaxgrad.parity.prove.locate.backward import STOPS
from jaxgrad.parity.prove.locate.compared import under_no_grad
from jaxgrad.parity.prove.locate.forward import ROOT
from jaxgrad.parity.prove.record.jax_side.flow import leaf_of, place
from jaxgrad.parity.prove.record.jax_side.port import Draw, Port
from jaxgrad.parity.prove.record.jax_side.program import CUSTOM, Key, Spot
from jaxgrad.parity.prove.record.torch_side.side import RERUNS
from jaxgrad.parity.prove.record.torch_side.values import TorchRun, Value, rounding
from jaxgrad.parity.prove.report import Finding


_SMALL = 1e-9  # relative to the largest element


def locate(evidence: Evidence, draw: int, number: int, why: Explanation | None) -> Finding:
    """Locate the call through which the cotangent of a torch value goes wrong."""
    run, alignment, port = evidence.runs[draw], evidence.alignments[draw], evidence.port
    spot = evidence.spots(draw)[number]
    source, number = number, locate_backward.last_view(run, alignment, number)
    if evidence.rerunnable:
        run = evidence.torch_side.run(evidence.draws[draw], keep=True, split=number)
    value = run.values[number]
    actual = np.asarray(evidence.jax_gradients[draw].cotangents[spot.key])[spot.iteration]
    data = port.value(evidence.draws[draw], spot)
    key = _correct_copy(evidence, draw, number, value.cotangent, bool(np.any(actual)))
    if evidence.rerunnable or value.cotangent is None:
        consumer, cause = _culprit(evidence, draw, number, spot, run, data)
        unsure = bool(cause) and why is None and evidence.rerunnable
        if unsure and not _same_elsewhere(evidence, draw, number, (consumer, cause)):
            cause = ""
    else:  # a dump does not record the cotangent through each consumer
        consumer, cause = locate_backward.first_consumer(run, number), ""
    consumer = locate_backward.past_views(run, alignment, number, consumer)
    if key is None:
        same = {alignment.spots[k].key for k in alignment.candidates[number]}
        key = locate_backward.first_equation(evidence.flow, alignment, spot, consumer, same)
    else:
        value = run.values[source]  # the error is upstream of the correct copy
        if sum(number in v.inputs for v in run.values) != 1 or not _stops_later(port, spot, key):
            consumer = None  # the copy is computed with the value, and not where it is used
    at = value
    own = number in under_no_grad(run)  # the call itself is under `no_grad`, and not its readers
    if consumer is not None and not own and not locate_backward.is_view(run, consumer):
        at = run.values[consumer]
    if why is not None:
        key, cause = why.key or key, why.text
        at = _stop_of(why, run, at)
    alike = evidence.rerunnable and value.data is not None and numbers.equal(value.data, data)
    expected = value.cotangent_data if alike else None
    text, worst, in_torch, in_jax = _difference(value, expected, actual)
    redrawn = " with redrawn weights and inputs" if draw else ""
    rule = _rule(port, spot, key)
    backward = at.rule if at is not value else ""  # of the call that reads the value
    if why is None and rule is not None and backward and not cause:
        both = expected, actual
        cause = _unequal_rules(evidence, draw, run, number, at, rule, both)
    finding = Finding(
        "backward",
        at.module or ROOT,
        place(port.program, key),
        f"the gradient flowing into {described(run, number)} differs{redrawn}: {text}",
        worst,
        in_torch,
        in_jax,
        cause=cause,
        tested=why is not None and why.confirmed,
        op=at.op,
        torch_line=backward or at.line,
    )
    if why is None:
        return quotes.quoted(evidence, finding, key, rule=None if rule is None else rule[1])
    return quotes.explained(evidence, finding, why._replace(key=key))


def _stop_of(why: Explanation, run: TorchRun, at: Value) -> Value:
    """Return the stop of torch's that a confirmed cause names, if `at` is another stop."""
    if not (why.confirmed and why.stops_torch and at.op in STOPS) or at.line in why.lines:
        return at
    return next((v for v in run.values if v.op in STOPS and v.line in why.lines), at)


def _rule(port: Port, spot: Spot, key: Key) -> tuple[Path, Rule] | None:
    """Return the equation and the user's rule through which the gradient flows into a value.

    Args:
        port: The port.
        spot: The value.
        key: The first equation on its path; the lines inside a custom rule have no derivative.
    """
    if key == spot.key or leaf_of(key) is not None:
        return None
    for n in range(1, len(key[0]) + 1, 2):
        eqn = port.program.equations[key[0][:n]]
        rule = rule_of(eqn) if eqn.primitive.name in CUSTOM else None
        if rule is not None:
            return key[0][:n], rule
    return None


def _unequal_rules(
    evidence: Evidence,
    draw: int,
    run: TorchRun,
    number: int,
    result: Value,
    in_jax: tuple[Path, Rule],
    cotangents: tuple[np.ndarray | None, np.ndarray],
) -> str:
    """Say that the derivative rules differ, if no other call reads the value in either program.

    Args:
        evidence: All runs.
        draw: The draw of weights and inputs.
        run: torch's run.
        number: The value whose cotangent differs.
        result: The result of torch's custom Function.
        in_jax: JAX's equation and its rule.
        cotangents: torch's cotangent of the value, if it has JAX's layout, and JAX's.
    """
    (path, rule), (expected, actual) = in_jax, cotangents
    inside = locate_backward.inside_functions(run)
    consumers = [i for i, v in enumerate(run.values) if number in v.inputs and i not in inside]
    children = evidence.flow.children.get(evidence.spots(draw)[number].key, [])
    spot = evidence.spots(draw).get(consumers[0]) if len(consumers) == 1 else None
    if (
        spot is None
        or run.values[consumers[0]] is not result
        or result.cotangent is None
        or any(key[0][: len(path)] != path for key in children)
    ):
        return ""
    after = np.asarray(evidence.jax_gradients[draw].cotangents[spot.key])[spot.iteration]
    allowed = locate_backward.allowed(float(noise_of(evidence, draw)[consumers[0]]))
    if float(print_distance(fingerprint(after), result.cotangent)) > allowed:
        return ""
    text = f"for the same incoming gradient, JAX's {rule.name} and torch's {result.op}.backward"
    if expected is None or expected.shape != actual.shape:
        return f"{text} differ"
    off = np.abs(actual - expected) > _SMALL * np.max(np.abs(expected), initial=0.0)
    zero = [name for name, x in (("torch's", expected), ("JAX's", actual)) if not np.any(x[off])]
    where = f", where {zero[0]} result is 0" if len(zero) == 1 else ""
    return f"{text} differ in {int(off.sum())} of {off.size} elements{where}"


def _stops_later(port: Port, spot: Spot, key: Key) -> bool:
    """Whether a copy is a stop_gradient in another line of the port than the value itself."""
    if port.program.equations[key[0]].primitive.name != "stop_gradient":
        return False
    lines = [place(port.program, k).partition(" ")[0] for k in (spot.key, key)]
    return lines[0] != lines[1]


def _culprit(
    evidence: Evidence, draw: int, number: int, spot: Spot, run: TorchRun, data: np.ndarray
) -> tuple[int | None, str]:
    """Return the consumer that makes a cotangent wrong on a draw, and how it does so.

    The data is the value itself in JAX.
    """
    value = run.values[number]
    actual = np.asarray(evidence.jax_gradients[draw].cotangents[spot.key])[spot.iteration]
    both = value.data, data
    noise = float(noise_of(evidence, draw)[number])
    return locate_backward.culprit(number, value.cotangent_data, actual, run, both, noise)


def _same_elsewhere(
    evidence: Evidence, draw: int, number: int, culprit: tuple[int | None, str]
) -> bool:
    """Whether the same call makes a cotangent wrong in the same way on every draw that fails.

    On one draw, a clipped cotangent can be a multiple of torch's by coincidence.
    """
    for other in range(len(evidence.draws)):
        failed = any(j.verdict == "fail" for j in evidence.judged_gradients[other])
        spot = evidence.spots(other).get(number) if failed and other != draw else None
        if spot is not None:
            run = evidence.torch_side.run(evidence.draws[other], keep=True, split=number)
            data = evidence.port.value(evidence.draws[other], spot)
            if _culprit(evidence, other, number, spot, run, data) != culprit:
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
    if f"{in_torch:.6g}" == f"{size:.6g}":
        sizes = "the largest elements have the same size, but not every element agrees"
    if expected is None or expected.shape != actual.shape:
        return sizes, (), None, None
    infinite, worst = numbers.not_finite(expected, actual)
    worst = worst if infinite else numbers.largest(actual - expected)
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
    for key, cotangent in copies(evidence, draw, number, 1):
        stops = equations[key[0]].primitive.name == "stop_gradient"
        off = float(print_distance(fingerprint(cotangent), expected))
        if not (stops and arrives) and off < 1e-10:
            return key
    return None


def copies(
    evidence: Evidence, draw: int, number: int, first: int = 0
) -> list[tuple[Key, np.ndarray]]:
    """Return the JAX values equal to a torch value, with their cotangents."""
    alignment, port = evidence.alignments[draw], evidence.port
    spots = [alignment.spots[k] for k in alignment.candidates[number][first:9]]
    spots = [s for s in spots if s.path not in port.program.closed and leaf_of(s.key) is None]
    if not spots:
        return []
    keys = tuple(dict.fromkeys(s.key for s in spots))
    cotangents = _cotangents(port, evidence.draws[draw], keys)
    found = [s for s in spots if s.key in cotangents]
    return [(s.key, np.asarray(cotangents[s.key])[s.iteration]) for s in found]


def _cotangents(port: Port, draw: Draw, keys: Sequence[Key]) -> Mapping[Key, np.ndarray]:
    """Return the cotangents of some values, without the values that JAX cannot differentiate by.

    A value behind a stop_gradient may be used in a way that has no derivative in JAX, such as in a
    reduction of values together with their indices.
    """
    try:
        return port.gradients(draw, keys).cotangents
    except Exception:
        if len(keys) == 1:
            return {}
    return {k: x for key in keys for k, x in _cotangents(port, draw, (key,)).items()}


def noise_of(evidence: Evidence, draw: int) -> np.ndarray:
    """Return how much rounding changes the fingerprint of each cotangent."""
    drawn = evidence.drawn[draw]
    most = 1 if evidence.failed_gradient_draw is None else RERUNS
    return rounding(drawn.run, drawn.gradient_reruns[:most], lambda value: value.cotangent)


def described(run: TorchRun, number: int) -> str:
    value = run.values[number]
    if value.op == "input":
        return "an input"
    call = calls(run)[number]
    return f"the output of torch's {value.in_words}" + (f", {call}," if call else "")


def calls(run: TorchRun) -> list[str]:
    """Return for each value which one of several calls with the same name computed it.

    Only floating results are counted. An index often gives integers too, so its text says so.
    """
    names = [value.name for value in run.values]
    total, so_far = collections.Counter(names), collections.Counter[str]()
    texts = []
    for value, name in zip(run.values, names, strict=True):
        so_far[name] += 1
        what = "floating result" if value.op == "getitem" else "call"
        texts.append(f"{what} {so_far[name]} of {total[name]}" if total[name] > 1 else "")
    return texts
