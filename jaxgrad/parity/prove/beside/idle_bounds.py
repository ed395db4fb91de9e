"""Note a bound, mask or threshold of torch that changes no number and that the port lacks.

A clamp that no input reaches is the identity, and so is a mask that hides nothing. A port without
it, or with another number in it, has the same values and gradients on these inputs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.prove.align.align import SAME
from jaxgrad.parity.prove.align.fingerprint import fingerprint, magnitude, print_distance
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate.forward import ROOT
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES, leaf_key, leaf_of
from jaxgrad.parity.prove.record.jax_side.program import Key, Spot, literals
from jaxgrad.parity.prove.record.torch_side.values import BOUNDS, Value
from jaxgrad.parity.prove.report import Judgement
from jaxgrad.parity.prove.wording import NO_DIFFERENCE, jax_program


_BOUNDS = frozenset({
    "abs", "celu", "clamp", "clamp_", "clamp_max", "clamp_min", "clip", "clip_", "elu", "hardtanh",
    "leaky_relu", "masked_fill", "masked_fill_", "maximum", "minimum", "nan_to_num", "relu",
    "relu6", "threshold", "where",
})  # fmt: skip
_FILLS = ("masked_fill", "masked_fill_", "nan_to_num", "where")  # their number is not a bound
_SAME = REARRANGES | {"custom_vjp_call"}  # an equation with a body returns what that returns
_IN_JAX = ("max", "min", "clamp", "select_n")
_THRESHOLDS = {  # a number of a call that acts only beyond a bound
    "cosine_embedding_loss": "margin", "hardshrink": "lambd", "hinge_embedding_loss": "margin",
    "huber_loss": "delta", "margin_ranking_loss": "margin", "multi_margin_loss": "margin",
    "softshrink": "lambd", "triplet_margin_loss": "margin",
}  # fmt: skip
_CUTS = ("clamp", "clamp_", "clamp_min", "relu", "relu_", "relu6", "softshrink", "hardshrink")
_UNLIMITED = 1e30  # a bound that is meant for infinite numbers
ValuesOf = Callable[[int], Sequence[Value]]  # torch's values on a draw, which are kept
_NEARLY = 1e-3  # how far a threshold is moved
_EQUAL = 1e-6  # relative difference of two numbers that are one, perhaps rounded to float32


def noted(evidence: Evidence, judgement: Judgement) -> Judgement:
    """Add notes on the bounds and thresholds that no number reaches to the forward surface."""
    own = literals(evidence.port.program.jaxpr, integers=True)

    @functools.cache
    def values_of(draw: int) -> Sequence[Value]:
        run = evidence.run_with_values(draw) if evidence.rerunnable else evidence.runs[draw]
        return run.values

    notes = [
        *_about_bounds(evidence, own, values_of),
        *_about_thresholds(evidence, own, values_of),
        *_about_zeros(evidence, values_of),
    ]
    return judgement._replace(notes=(*judgement.notes, *notes)) if notes else judgement


def _about_thresholds(evidence: Evidence, own: Sequence[float], values_of: ValuesOf) -> list[str]:
    """Return a note on the first threshold that no number reaches and that the port lacks."""
    if not evidence.rerunnable or not any(v.op in _THRESHOLDS for v in evidence.runs[0].values):
        return []
    idle = [_idle_thresholds(values_of(draw.number)) for draw in evidence.draws]
    for number, (value, threshold) in idle[0].items():
        if all(number in other for other in idle) and _lacking([threshold], own):
            return [
                f"torch's {_named([value])} has {_THRESHOLDS[value.op]}={threshold:g}, which "
                f"changes no number on the inputs of this proof, and {threshold:g} was not found "
                f"in {jax_program(evidence.reference)}: add inputs on which it acts, with also="
            ]
    return []


def _about_zeros(evidence: Evidence, values_of: ValuesOf) -> list[str]:
    """Return a note on the first bound that no element passes, as a penalty that is always 0."""
    for number, value in enumerate(evidence.runs[0].values):
        if value.op in _CUTS and all(_is_cut(run.values, number) for run in evidence.runs):
            return [
                f"torch's {_named([values_of(0)[number]])} returns nothing but zeros on the inputs "
                "of this proof, so the steps after it were not compared: add inputs on which it "
                "does not, with also="
            ]
    return []


def _is_cut(values: Sequence[Value], number: int) -> bool:
    """Whether a call returns zeros alone, and not from zeros."""
    if number >= len(values):
        return False
    value = values[number]
    read = [values[i].print for i in value.inputs if i != number]
    return bool(value.print[0] and not magnitude(value.print) and any(map(magnitude, read)))


def _idle_thresholds(values: Sequence[Value]) -> dict[int, tuple[Value, float]]:
    """Return the calls whose result stays the same with a slightly different threshold."""
    import torch

    from jaxgrad.parity.prove.causes.mistakes.call import TorchCall

    found = {}
    for number, value in enumerate(values):
        if value.op not in _THRESHOLDS or value.call is None:
            continue
        call = TorchCall(*value.call, value.op)
        threshold = call.named(_THRESHOLDS[value.op])
        if not isinstance(threshold, int | float):
            continue
        near = {_THRESHOLDS[value.op]: threshold * (1 + _NEARLY) + _NEARLY}
        if torch.equal(call.replaced(NO_DIFFERENCE, **near).result, call.result):
            found[number] = value, float(threshold)
    return found


def _about_bounds(evidence: Evidence, own: Sequence[float], values_of: ValuesOf) -> list[str]:
    """Return notes on the bounds and masks that change no number and that the port lacks."""
    idle = [i for i in range(len(evidence.runs[0].values)) if _is_idle(evidence, i)]
    whole = _integer_bounds(evidence)
    if not idle and not whole:
        return []
    values = values_of(0)
    settings = _settings(values, idle)
    idle = [i for i in idle if i not in settings or not _is_unlimited(settings[i])]
    spots, prints = evaluation.spots(evidence.jax_runs[0].prints)
    missing = [i for i in idle if not _has_counterpart(evidence, i, spots, prints)]
    program, notes = jax_program(evidence.reference), []
    if missing or whole:
        notes.append(
            f"torch's {_named([*(values[i] for i in missing), *whole])} changes no number on the "
            f"inputs of this proof, and no such step was found in {program}: add inputs on which "
            "it acts, with also="
        )
    unlike = {
        i: numbers[0]
        for i in idle
        if i not in missing and (numbers := _lacking(settings.get(i, []), own))
    }
    if unlike:
        number = f"{next(iter(unlike.values())):g}"
        notes.append(
            f"torch's {_named([values[i] for i in unlike])} changes no number on the inputs of "
            f"this proof, and its number {number} was not found in {program}: add inputs on which "
            "it acts, with also="
        )
    return notes


def _named(values: Sequence[Value]) -> str:
    value, more = values[0], len(values) - 1
    others = f" (and {more} other call{'s' * (more > 1)})" if more else ""
    return f"{value.op} in {value.module or ROOT}{f', {value.line}' if value.line else ''}{others}"


def _is_idle(evidence: Evidence, number: int) -> bool:
    """Whether a bound or mask returns the numbers of its operand in every draw."""
    if evidence.runs[0].values[number].op not in _BOUNDS:
        return False
    for draw, run in zip(evidence.draws, evidence.runs, strict=True):
        if number >= len(run.values):
            return False
        value = run.values[number]
        constant = evidence.alignments[draw.number].trivial[number]
        if not value.print[0] or (constant and value.print[0] > 1):
            return False  # there are no elements, or a relu of zeros is as good as any
        weights = [fingerprint(draw.state[name]) for name in value.weights if name in draw.state]
        read = [run.values[i].print for i in value.inputs if i != number]
        if not any(np.array_equal(x, value.print) for x in (*read, *weights)):
            return False
    return True


def _integer_bounds(evidence: Evidence) -> list[Value]:
    """Return the bounds of integers, as of a count, that change none and that the port lacks."""
    kept = [[v for v in run.discrete if v.op in BOUNDS] for run in evidence.runs]
    if len({len(values) for values in kept}) > 1:
        return []
    idle = [each for each in zip(*kept, strict=True) if all(_bounded(v) is not None for v in each)]
    if not idle:
        return []
    flow, equations = evidence.flow, evidence.port.program.equations
    bounds = [key for key in flow.parents if equations[key[0]].primitive.name in _IN_JAX]
    bounded = {k for key in bounds for k in flow.parents[key]}
    exact = evidence.port.discrete(evidence.draws[0])
    integers = [x for key, x in exact.items() if key in bounded]
    leaves = evidence.port.leaves(evidence.draws[0])
    integers += [np.asarray(leaves[i]) for key in bounded if (i := leaf_of(key)) is not None]
    floats = [x for key, x in evidence.jax_runs[0].prints.items() if key in bounded]

    def has(operand: Any) -> bool:
        print_ = fingerprint(operand.astype(np.float64))
        return any(np.array_equal(np.ravel(x), operand.ravel()) for x in integers) or any(
            print_distance(x, print_).min(initial=np.inf) < SAME for x in floats
        )

    return [value for value, *_ in idle if not has(_bounded(value))]


def _bounded(value: Value) -> np.ndarray | None:
    """Return the operand of a bound that returns it unchanged."""
    if value.call is None or value.data is None:
        return None
    from jaxgrad.parity.prove.causes.trials import in_place  # imports torch

    if in_place(value):
        return None  # its operand is the result
    _, args, kwargs = value.call
    given = [np.asarray(x) for x in (*args, *kwargs.values()) if hasattr(x, "shape")]
    return next((x for x in given if np.array_equal(x, value.data)), None)


def _settings(values: Sequence[Value], idle: Sequence[int]) -> dict[int, list[float]]:
    """Return the numbers in idle calls of torch whose numbers are bounds or slopes."""
    calls = {i: call for i in idle if (call := values[i].call) is not None}
    if not calls:
        return {}
    from jaxgrad.parity.prove.causes.mistakes.call import TorchCall  # imports torch

    return {
        i: TorchCall(*call, values[i].op).settings
        for i, call in calls.items()
        if values[i].op not in _FILLS
    }


def _is_unlimited(numbers: Sequence[float]) -> bool:
    """Whether no usual number reaches a bound, as the one in `Categorical.entropy` of torch."""
    return bool(numbers) and all(abs(x) >= _UNLIMITED for x in numbers)


def _lacking(numbers: Sequence[float], own: Sequence[float]) -> list[float]:
    """Return the numbers that the port's program does not contain."""
    finite = (x for x in numbers if abs(x) < _UNLIMITED)
    return [x for x in finite if not any(abs(x - y) <= _EQUAL * abs(x) for y in own)]


def _has_counterpart(
    evidence: Evidence, number: int, spots: Sequence[Spot], prints: np.ndarray
) -> bool:
    """Whether the port computes a value from one with the same numbers.

    The values inside a custom rule, as that of `jax.nn.relu`, are not recorded, so they are passed.

    Args:
        evidence: All runs.
        number: The torch value.
        spots: The values of the port.
        prints: Their fingerprints.
    """
    alignment, flow, weights = evidence.alignments[0], evidence.flow, evidence.port.weights
    value = evidence.runs[0].values[number]
    equal = np.flatnonzero(print_distance(value.print, prints) < SAME)
    keys = {alignment.spots[k].key for k in alignment.matches(number)}
    keys |= {spots[int(k)].key for k in equal}
    keys |= {leaf_key(i) for name in value.weights for i in weights.leaves_of(name)}

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
