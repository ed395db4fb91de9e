"""Fill the state of an optax transformation with the moments of a torch optimizer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Moment(NamedTuple):
    """torch's names of a moment, and the power of the gradient that it averages."""

    names: tuple[str, ...]
    power: int = 1


_FIRST, _SECOND = Moment(("exp_avg",)), Moment(("exp_avg_sq", "exp_inf"), 2)
MOMENTS = {  # optax's state -> its fields
    "ScaleByAdamState": {"mu": _FIRST, "nu": _SECOND},
    "TraceState": {"trace": Moment(("momentum_buffer",))},
    "ScaleByRmsState": {"nu": Moment(("square_avg",), 2)},
    "ScaleByRmsWithCountState": {"nu": Moment(("square_avg",), 2)},
    "ScaleByRStdDevState": {"mu": Moment(("grad_avg",)), "nu": Moment(("square_avg",), 2)},
    "ScaleByRStdDevWithCountState": {"mu": Moment(("grad_avg",)), "nu": Moment(("square_avg",), 2)},
    "ScaleByRssState": {"sum_of_squares": Moment(("sum",), 2)},
    "ScaleByAdaDeltaState": {"e_g": Moment(("square_avg",), 2), "e_x": Moment(("acc_delta",), 2)},
}
_OTHER_FORMULAS = ({"mu_product"}, {"square_avg", "momentum_buffer"}, {"max_exp_avg_sq"})

Read = Callable[[str, int, Any], np.ndarray | None]  # (torch's field, power, key path) -> value


def is_own(state: Any) -> bool:
    """Whether a value is an optimizer state of this package."""
    own = type(state).__module__.startswith("jaxgrad.optim")
    return own and getattr(state, "_fields", ())[-1:] == ("count",)


def filled(state: Any, read: Read, fields: set[str], count: int) -> Any:
    """Return an optax state with torch's moments.

    Args:
        state: The initial state.
        read: Function that returns torch's moment of the parameter at a key path, or None. It
            raises ValueError if the moment does not have the shape of the leaf.
        fields: The names in torch's state.
        count: Number of steps that torch has taken.

    Raises:
        ValueError: A part of the state has no counterpart in torch.
    """
    if is_own(state):
        return state
    if hasattr(state, "_fields"):
        return type(state)(*_filled_fields(state, read, fields, count))
    if isinstance(state, Mapping):
        return {key: filled(x, read, fields, count) for key, x in state.items()}
    if isinstance(state, tuple | list):
        return type(state)(filled(x, read, fields, count) for x in state)
    return state


def _filled_fields(state: Any, read: Read, fields: set[str], count: int) -> list[Any]:
    name, known = type(state).__name__, MOMENTS.get(type(state).__name__, {})
    values = []
    for field, value in zip(state._fields, state, strict=True):
        if field in known:
            values.append(_moment(name, field, value, known[field], read, fields))
        elif field in ("count", "step") and jnp.issubdtype(jnp.result_type(value), jnp.integer):
            values.append(jnp.full_like(value, count))
        elif field in ("hyperparams", "hyperparams_states"):
            values.append(value)
        elif any(hasattr(x, "shape") for x in jax.tree.leaves(value)) and _is_plain(value):
            raise ValueError(
                f"the field {field!r} of optax's {name} has no counterpart in torch's state, which "
                f"has {sorted(fields)}: use the optimizer of the same name in jaxgrad.optim"
            )
        else:
            values.append(filled(value, read, fields, count))
    return values


def _is_plain(value: Any) -> bool:
    """Whether a field is a tree of arrays that contains no further state."""

    def is_state(x: Any) -> bool:
        return type(x).__name__.endswith("State") and hasattr(x, "_fields")

    return not any(map(is_state, jax.tree.leaves(value, is_leaf=is_state)))


def _moment(
    state: str, field: str, value: Any, moment: Moment, read: Read, fields: set[str]
) -> Any:
    if not fields:
        return value  # torch has not made a step
    name = next((name for name in moment.names if name in fields), None)
    if name is None or any(other <= fields for other in _OTHER_FORMULAS):
        raise ValueError(
            f"{field!r} of optax's {state} cannot be filled from torch's state, which has "
            f"{sorted(fields)}: it comes from a different optimizer, or from different options"
        )

    def one(path: Any, first: Any) -> Any:
        new = read(name, moment.power, path)
        return first if new is None else jnp.asarray(new, first.dtype)

    return jax.tree_util.tree_map_with_path(one, value)


def remark_options(tx: Any, params: Any, groups: Any) -> None:
    """Warn about decay rates of `tx` that no parameter group of torch has.

    The rates of Adam and of momentum show in the states after two steps with gradients of 1.
    """
    ones = jax.tree.map(jnp.ones_like, params)
    try:
        state = tx.init(params)
        first = tx.update(ones, state, params)[1]
        second = tx.update(ones, first, params)[1]
    except Exception:  # an update that needs more arguments
        return
    is_state = lambda x: type(x).__name__ in ("ScaleByAdamState", "TraceState")  # noqa: E731
    pairs = [jax.tree.leaves(s, is_leaf=is_state) for s in (first, second)]
    for one, two in zip(*pairs, strict=True):
        if not is_state(one):
            continue
        if type(one).__name__ == "ScaleByAdamState":
            if any("lr" in group and "betas" not in group for group in groups):
                raise ValueError(
                    "torch's state comes from an optimizer without betas, but the optax "
                    "transformation is an Adam"
                )
            rates = {"b1": _decay(one.mu, two.mu), "b2": _decay(one.nu, two.nu)}
            betas = [group["betas"] for group in groups if "betas" in group]
            torch = dict(zip(rates, zip(*betas, strict=True), strict=False))
        else:
            rates = {"decay": _decay(one.trace, two.trace)}
            torch = {"decay": [g["momentum"] for g in groups if g.get("momentum") is not None]}
        for name, expected in torch.items():
            rate, values = rates[name], list(dict.fromkeys(map(float, expected)))
            if values and rate > 1e-6 and all(abs(rate - x) > 1e-4 for x in values):
                warnings.warn(
                    f"the optax transformation has {name}={rate:.4g}, but torch's optimizer has "
                    f"{' and '.join(f'{x:g}' for x in values)}",
                    stacklevel=3,
                )


def _decay(one: Any, two: Any) -> float:
    """Return the decay rate of an average, given its values after one and two equal gradients."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    first, second = next((x, y) for x, y in pairs if np.size(x))
    return float(np.asarray(second).flat[0] / np.asarray(first).flat[0]) - 1
