"""Compare the moments in the states of both optimizers, which are matched by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgrad._core import paths
from jaxgrad.parity.prove.causes.acceptance import UNKNOWN, Range, range_of
from jaxgrad.parity.prove.judge import MAX_ROUNDING, Judged, judge, max_difference
from jaxgrad.parity.prove.record.jax_side.port import Port
from jaxgrad.parity.prove.record.torch_side.side import State
from jaxgrad.parity.ulp import scale_of


# torch's names for the fields of optax's states; the states of jaxgrad.optim have torch's names.
_NAMES = {
    "mu": ("exp_avg", "grad_avg"),
    "nu": ("exp_avg_sq", "square_avg", "exp_inf"),
    "trace": ("momentum_buffer",),
    "sum_of_squares": ("sum",),
    "e_g": ("square_avg",),
    "e_x": ("acc_delta",),
}


class Moment(NamedTuple):
    """A moment of one weight: torch's name of it, its comparison, and JAX's values."""

    name: str
    moment: str
    judged: Judged
    values: Range = UNKNOWN


def compare(
    port: Port,
    expected: Mapping[str, State],
    reruns: Sequence[Mapping[str, Mapping[str, Any]]],
    opt_state: Any,
    left_out: set[str],
    most: float = MAX_ROUNDING,
) -> list[Moment]:
    """Compare torch's moments with those in an optax state that have a matching name.

    Args:
        port: The port, with the map of its weights.
        expected: torch's optimizer state by parameter.
        reruns: The same with every number perturbed by an ULP, or how much that changes each.
        opt_state: The state of the optax transformation.
        left_out: Parameters that are not compared.
        most: Largest effect of rounding with which moments can be compared.
    """
    compared = []
    for moment, name, actual in _matched(port, expected, opt_state):
        if name in left_out:
            continue
        x = expected[name][moment]
        others = (rerun[name][moment] for rerun in reruns if moment in rerun.get(name, {}))
        scale = max(scale_of(state[moment]) for state in expected.values() if moment in state)
        scale = scale_of(x) or scale
        judged = judge(f"{moment} of {name}", x, actual, others, scale=scale, most=most)
        if judged.verdict == "fail" and _holds_the_rate(x, actual):
            judged = judge(f"{moment} of {name}", x, x)
        compared.append(Moment(name, moment, judged, range_of(actual)))
    return compared


def rounding(
    expected: Mapping[str, State], reruns: Sequence[Mapping[str, State]]
) -> list[dict[str, dict[str, float]]]:
    """Return how much each rerun changes torch's moments."""
    return [
        {
            name: {k: max_difference(expected[name][k], x) for k, x in state.items()
                   if k in expected[name]}
            for name, state in rerun.items() if name in expected
        }
        for rerun in reruns
    ]  # fmt: skip


def count(expected: Mapping[str, State]) -> int:
    """Return the number of torch's moments that are as large as a weight."""
    return sum(np.size(x) > 1 for state in expected.values() for x in state.values())


def _matched(
    port: Port, expected: Mapping[str, State], opt_state: Any
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield torch's moment, the parameter and the port's value of each moment in both states."""
    fields = _by_field(port, opt_state)
    moments = dict.fromkeys(moment for state in expected.values() for moment in state)
    whole = {name for name in expected if _is_one_to_one(port, name)}
    for field, leaves in fields.items():
        for moment in moments:
            if moment not in _NAMES.get(field, (field,)):
                continue
            for name, value in port.weights.to_torch(leaves).items():
                state = expected.get(name, {})
                if value is None or moment not in state or name not in whole:
                    continue
                held = all(leaves[i] is not None for i in port.weights.leaves_of(name))
                if held and np.shape(value) == np.shape(state[moment]):
                    yield moment, name, value


def _by_field(port: Port, opt_state: Any) -> dict[str, list[np.ndarray | None]]:
    """Return the fields of an optax state that are trees like the params, as lists of leaves."""
    numbers = {path: i for i, path in enumerate(port.program.param_paths)}
    fields: dict[str, list[np.ndarray | None]] = {}
    for path, x in jax.tree_util.tree_leaves_with_path(opt_state):
        for number, key in enumerate(path):
            field = getattr(key, "name", None)
            rest = paths.text(path[number + 1 :])
            if field is not None and rest in numbers:
                i = numbers[rest]
                if np.shape(x) == np.shape(port.weights.leaves[i]):
                    fields.setdefault(field, [None] * len(numbers))[i] = np.asarray(x)
                break
    return fields


def _is_one_to_one(port: Port, name: str) -> bool:
    """Whether each element of a parameter is held once, in a leaf that holds nothing else there."""
    used = [piece.used for piece in port.weights.pieces if piece.name == name]
    total = sum(map(len, used))
    return (
        name not in port.weights.not_one_to_one
        and total == math.prod(port.weights.shapes[name])
        and len(np.unique(np.concatenate(used))) == total
    )


def _holds_the_rate(expected: np.ndarray, actual: np.ndarray) -> bool:
    """Whether optax's moment is a negative multiple: it accumulates updates, not gradients."""
    factor = float(np.vdot(expected, actual).real / (np.vdot(expected, expected).real or 1.0))
    off = np.max(np.abs(actual - factor * expected), initial=0.0)
    return factor < 0 and np.size(actual) > 1 and bool(off <= 1e-9 * scale_of(actual))
