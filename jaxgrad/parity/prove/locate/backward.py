"""Locate where the backward passes diverge: the wrong cotangent closest to the loss."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from jaxgrad.parity.prove.align.align import NOISY, Alignment
from jaxgrad.parity.prove.align.fingerprint import (
    SIZE,
    fingerprint,
    magnitude,
    print_distance,
)
from jaxgrad.parity.prove.causes import straight_through
from jaxgrad.parity.prove.locate.compared import VIEWS, inside_functions
from jaxgrad.parity.prove.record.jax_side.flow import Flow
from jaxgrad.parity.prove.record.jax_side.program import Key, Spot
from jaxgrad.parity.prove.record.torch_side.values import TorchRun
from jaxgrad.parity.prove.weights.layout import layout


SAME = 1e-9
NEGLIGIBLE = 1e-13  # relative to the largest cotangent; less is only rounding error
STOPS = ("detach", "data", "requires_grad")
_PLAIN = ("add", "sub", "radd", "reshape", "view", "transpose", "permute", "dropout", "result")


def wrong(
    run: TorchRun,
    spots: Mapping[int, Spot],
    cotangents: Mapping[Key, np.ndarray],
    noise: Mapping[int, float],
) -> list[int]:
    """Return the torch values whose cotangents differ, in torch's order."""
    nothing = np.zeros(SIZE)
    pairs = {}
    for i, spot in spots.items():
        actual = fingerprint(np.asarray(cotangents[spot.key])[spot.iteration])
        expected = run.values[i].cotangent
        pairs[i] = actual, nothing if expected is None else expected
    largest = max((float(magnitude(t)) for _, t in pairs.values()), default=0.0)
    numbers = []
    for i, (actual, expected) in pairs.items():
        size = max(float(magnitude(actual)), float(magnitude(expected)))
        bound = allowed(noise.get(i, 0.0))
        if size <= NEGLIGIBLE * largest or bound > NOISY * 100:
            continue
        if run.values[i].cotangent is None or float(print_distance(actual, expected)) > bound:
            numbers.append(i)
    return numbers


def allowed(noise: float) -> float:
    """Return the relative distance of two cotangents that rounding may cause."""
    return max(1e-10, 20 * noise)


def nearest_weights(run: TorchRun, number: int, right: Set[int] = frozenset()) -> set[str]:
    """Return the weights of the nearest calls upstream of a value, and "input" for an input.

    Args:
        run: torch's run.
        number: Index of the value.
        right: The values whose cotangents are right; those of the values behind them are too.
    """
    names: set[str] = set()
    visited: set[int] = set()
    todo = [number]
    while todo:
        i = todo.pop()
        if i in visited or i in right:
            continue
        visited.add(i)
        value = run.values[i]
        names |= set(value.weights) or ({"input"} if value.op == "input" else set())
        if not value.weights:
            todo += [k for k in value.inputs if run.values[k].cotangent is not None or k == number]
    return names


def culprit(
    number: int,
    expected: np.ndarray | None,
    actual: np.ndarray,
    run: TorchRun,
    values: tuple[Any, Any],
    noise: float = 0.0,
) -> tuple[int | None, str]:
    """Find the consumer of a value that contributes the error in the value's cotangent.

    Args:
        number: Index of the value.
        expected: Cotangent in torch, None if there is none.
        actual: Cotangent in JAX.
        run: torch's run with `split=number`.
        values: The value in torch and in JAX, from which the order of the axes is found.
        noise: Relative change of the cotangent that rounding causes.

    Returns:
        The first result of the consumer, and the likely cause.
    """
    inside = inside_functions(run)
    consumers = [i for i, v in enumerate(run.values) if number in v.inputs and i not in inside]
    if expected is None:
        stops = [i for i in consumers if run.values[i].op in STOPS]
        return (stops or consumers or [None])[0], "torch stops the gradient here, JAX does not"
    index = layout(np.asarray(values[0]), np.asarray(values[1]), rtol=1e-9)
    if index is None:
        return _likely(run, consumers), ""
    arranged = expected.ravel()[index] if expected.size == index.size else expected
    rest = _in_reals(actual - arranged)
    if not np.isfinite(rest).all():
        return _likely(run, consumers), ""  # no multiple of a contribution explains NaN
    norm = float(np.linalg.norm(rest)) or 1.0
    near = max(1e-6, min(0.01, 20 * noise * float(np.linalg.norm(arranged)) / norm))
    fits = []
    contributions = _contributions(run, consumers, expected)
    if not _add_up(contributions, expected, near):
        return _likely(run, consumers), ""  # a hook on the value has changed their sum
    for i, contribution in contributions.items():
        c = _in_reals(np.asarray(contribution).ravel()[index])
        size = float(c @ c)
        factor = float(rest @ c) / size if size else 0.0
        miss = float(np.linalg.norm(rest - factor * c)) / norm
        if size and miss < near:
            fits.append((miss, i, factor))
    dropped = [i for _, i, factor in fits if abs(factor + 1) < near]
    if dropped:
        return dropped[0], "JAX passes no gradient through this call"
    if fits:
        _, i, factor = min(fits)
        text = f"JAX's gradient through this call is {1 + factor:.6g} times torch's"
        return i, text if len(fits) == 1 else ""  # proportional contributions: any of them may be
    whole = _in_reals(arranged)
    factor = float(rest @ whole) / (float(whole @ whole) or 1.0)
    if np.linalg.norm(rest - factor * whole) < near * norm:
        text = f"{1 + factor:.6g} times torch's" if abs(factor + 1) >= near else "zero"
        return _likely(run, consumers), f"JAX's gradient through all consumers is {text}"
    several = _several(run, consumers, expected, rest, index)
    if several:
        return max(several), "JAX's gradients through several consumers of this value differ"
    silent = [i for i in consumers if i not in run.contributions]
    stops = [i for i in silent if run.values[i].op in ("detach", "data")]
    if stops:
        formula = straight_through.formula(run, stops[0])
        if formula:
            return stops[0], f"torch passes the gradient straight through here; write {formula}"
        return stops[0], "torch stops the gradient here, JAX does not"
    return _likely(run, consumers), ""


def _contributions(run: TorchRun, consumers: list[int], total: np.ndarray) -> dict[int, np.ndarray]:
    """Return the cotangent through each consumer; a custom Function contributes the remainder."""
    silent = [i for i in consumers if i not in run.contributions and run.values[i].requires_grad]
    if not silent:
        return run.contributions
    rest = total - sum(run.contributions.values(), np.zeros_like(total))
    return run.contributions | {silent[0]: rest}


def _add_up(contributions: Mapping[int, np.ndarray], total: np.ndarray, near: float) -> bool:
    """Whether the cotangents through all consumers of a value are its total cotangent."""
    rest = total - sum(contributions.values(), np.zeros_like(total))
    return float(np.linalg.norm(rest)) <= near * float(np.linalg.norm(total))


def _in_reals(x: np.ndarray) -> np.ndarray:
    """Return the float64 numbers of an array in a row; a complex number is two of them."""
    x = np.ascontiguousarray(x).ravel()
    return x.astype(np.complex128).view(np.float64) if np.iscomplexobj(x) else x.astype(np.float64)


def _several(
    run: TorchRun, consumers: list[int], total: np.ndarray, rest: np.ndarray, index: np.ndarray
) -> list[int]:
    """Return several consumers whose contributions to the cotangent are scaled wrongly.

    Consumers of the same op (decoder layers) share one factor, or each consumer has its own.
    """
    contributions = _contributions(run, consumers, total)
    parts = {i: _in_reals(x.ravel()[index]) for i, x in contributions.items()}
    ops = {run.values[i].op for i in parts}
    norm = float(np.linalg.norm(rest)) or 1.0
    for op in ops:
        chosen = [i for i in parts if run.values[i].op == op]
        together = np.sum([parts[i] for i in chosen], 0)
        size = float(together @ together)
        factor = float(rest @ together) / size if size else 0.0
        if len(chosen) > 1 and np.linalg.norm(rest - factor * together) < 1e-6 * norm:
            return chosen
    if 1 < len(parts) <= 64:
        columns = np.stack(list(parts.values()), 1)
        if len(columns) > 2 * len(parts):
            factors = np.linalg.lstsq(columns, rest, rcond=None)[0]
            if np.linalg.norm(rest - columns @ factors) < 1e-6 * norm:
                return [i for i, f in zip(parts, factors, strict=True) if abs(f) > 1e-6]
    return []


def last_view(run: TorchRun, alignment: Alignment, number: int) -> int:
    """Follow a value through views (reshape, transpose) while each is the only consumer."""
    while True:
        consumers = [i for i, v in enumerate(run.values) if number in v.inputs]
        if len(consumers) != 1 or not is_view(run, consumers[0]):
            return number
        if alignment.first[consumers[0]] != alignment.first[number]:
            return number
        number = consumers[0]


def first_consumer(run: TorchRun, number: int) -> int | None:
    """Return the first value computed from the value `number`, or None."""
    return next((i for i, v in enumerate(run.values) if number in v.inputs), None)


def _likely(run: TorchRun, consumers: list[int]) -> int | None:
    """Return the first consumer that does more than add or rearrange, else the first consumer.

    A consumer under `no_grad` passes no gradient, so that any other one is likelier.
    """
    consumers = [i for i in consumers if run.values[i].requires_grad] or consumers
    first = next(iter(consumers), None)
    return next((i for i in consumers if run.values[i].op not in _PLAIN), first)


def past_views(
    run: TorchRun, alignment: Alignment, number: int, consumer: int | None
) -> int | None:
    """Follow a consumer through views and inactive dropouts to a call that changes the value."""
    contribution = run.contributions.get(consumer) if consumer is not None else None
    expected = run.values[number].cotangent if contribution is None else fingerprint(contribution)
    while consumer is not None and alignment.first[consumer] == alignment.first[number]:
        if not is_view(run, consumer) and "dropout" not in run.values[consumer].op:
            break  # changes nothing for these values, like a relu of positive numbers
        cotangent = run.values[consumer].cotangent
        if cotangent is None or (
            expected is not None and print_distance(cotangent, expected) > SAME
        ):
            break  # the identity forward but not backward, like a gradient reversal
        consumer = first_consumer(run, consumer)
    return consumer


def is_view(run: TorchRun, number: int) -> bool:
    """Whether a value only selects or rearranges, so that an error may be upstream of it."""
    return run.values[number].op in VIEWS


def first_equation(
    flow: Flow, alignment: Alignment, spot: Spot, target: int | None, same: Set[Key] = frozenset()
) -> Key:
    """Return the first equation on the path from a JAX value to `target`, a torch value's index.

    `same` contains other JAX values equal to the first: casts and stop_gradients on the path.

    Returns:
        A stop_gradient on the path if there is one, or else its first equation.
    """
    consumers = flow.children.get(spot.key, [])
    if target is None or not consumers:
        return spot.key
    goal = {alignment.spots[k].key for k in alignment.candidates[target]}
    barrier = alignment.known - same
    stops = flow.between([spot.key], goal, barrier, "stop_gradient")
    if stops:
        return stops[0]
    consumers = sorted(consumers, key=lambda key: flow.order[key])
    for key in consumers:
        if key in goal or flow.ahead([key], barrier) & goal:
            return key
    return consumers[0]
