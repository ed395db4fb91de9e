"""Turn an update rule for one array into a `Transformation` of a parameter tree."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array, PyTree
from jaxgrad.optim._core.arithmetic import Fast, PendingUpdate
from jaxgrad.optim._core.exact import Exact
from jaxgrad.optim._core.step_counts import StepCount, stack
from jaxgrad.optim._core.transformation import (
    Transformation,
    broadcast,
    from_apply,
    gradients,
    matched,
)


# The arithmetic on one leaf: (ops, hyperparameters, grad, param, state) -> (new param, new state).
UpdateRule = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]


# State initializers: a step count in torch's dtype, a running product of scalars, and zeros.
counter = functools.partial(jnp.zeros_like, shape=(), dtype=np.float32)
one = functools.partial(jnp.ones_like, shape=(), dtype=np.float32)
zeros = jnp.zeros_like


def filled(value: Any, param: Any) -> Array:
    """Fill an array like `param` with `value`, in both real and imaginary parts if complex."""
    out = jnp.full_like(param, value)
    return jax.lax.complex(out.real, out.real) if jnp.iscomplexobj(out) else out


@dataclasses.dataclass(frozen=True)
class Step:
    """The arguments of a `step` or `update` call that are the same for all leaves."""

    rule: UpdateRule
    state_type: Callable[..., Any]  # the optimizer's state, a named tuple
    settings: Mapping[str, Any]  # the hyperparameters, with the schedules' values for this step
    maximize: bool  # negate the gradients first
    exact: bool  # reproduce torch's bits
    return_update: bool  # return optax's updates instead of the new parameters

    def leaf(
        self, grad: Any, param: Any, live: Any, place: StepCount | None, *old: Any
    ) -> tuple[Any, list[Any]]:
        """Return one leaf's new parameter (or its update) and its new state fields."""
        param = jnp.asarray(param)
        unchanged = jnp.zeros_like(param) if self.return_update else param
        if not _moves(grad, live):
            return unchanged, list(old)
        end, after = self._moved(jnp.asarray(grad).astype(param.dtype), param, place, old)
        new = [_as_leaf(x, like) for x, like in zip((end, *after), (param, *old), strict=True)]
        if not _is_known(live):
            new = [
                None if x is None else jnp.where(live, x, x_old)
                for x, x_old in zip(new, (unchanged, *old), strict=True)
            ]
        return new[0], new[1:]

    def _moved(
        self, grad: Array, param: Array, place: StepCount | None, old: Any
    ) -> tuple[Any, Any]:
        state = self.state_type(*(_as_real(x, param) for x in old), None)
        start = _as_real(param, param)
        grad = _as_real(-grad if self.maximize else grad, param)
        count = getattr(state, "step", None)
        ops = Exact(count, grad, place) if self.exact else Fast(count, place)
        h = SimpleNamespace(**{name: _known(ops, value) for name, value in self.settings.items()})
        pending = PendingUpdate(start) if self.return_update and not self.exact else start
        end, after = self.rule(ops, h, grad, pending, state)
        if not self.return_update:
            return ops.value(end), after[:-1]
        return end.change if isinstance(end, PendingUpdate) else end - start, after[:-1]


def elementwise(
    rule: UpdateRule,
    initial: NamedTuple,
    hyperparameters: Mapping[str, Any],
    *,
    maximize: bool = False,
    exact: bool = False,
) -> Transformation:
    """Return the transformation that applies `rule` to every leaf.

    Args:
        rule: The update of one leaf.
        initial: An instance of the optimizer's state type. Each field holds a function that
            initializes it for a parameter, or None if unused. The last field is `count`.
        hyperparameters: Numbers or arrays that `rule` reads as attributes of its second argument;
            each may be a schedule.
        maximize: Negate the gradients first.
        exact: Reproduce torch's bits instead of XLA's fastest order.
    """
    state_type: Any = type(initial)
    schedules = {name: value for name, value in hyperparameters.items() if callable(value)}

    def init(params: PyTree) -> Any:
        fields = [None if f is None else jax.tree.map(f, params) for f in initial[:-1]]
        return state_type(*fields, jnp.zeros((), np.int32) if schedules else None)

    def apply(
        return_update: bool, grads: PyTree, state: Any, params: PyTree, live: PyTree, **extra: Any
    ) -> Any:
        del extra
        leaves, treedef = jax.tree.flatten(params)
        *fields, count = state
        own = gradients(grads, params)
        columns = [
            [None] * len(leaves) if f is None else matched(f, params, "the arrays of the state")
            for f in fields
        ]
        call = Step(rule, state_type, settings(count), maximize, exact, return_update)
        live = broadcast(live, params)
        steps = (
            columns[state_type._fields.index("step")]
            if "step" in state_type._fields
            else [None] * len(leaves)
        )
        moves = map(_moves, own, live)
        places = stack([step if moved else None for step, moved in zip(steps, moves, strict=True)])
        inputs = own, leaves, live, places, *columns
        results = [call.leaf(*leaf) for leaf in zip(*inputs, strict=True)]
        new_fields = [
            None if f is None else treedef.unflatten([leaf[i] for _, leaf in results])
            for i, f in enumerate(fields)
        ]
        count = None if count is None else count + 1
        return treedef.unflatten([new for new, _ in results]), state_type(*new_fields, count)

    def settings(count: Any) -> dict[str, Any]:
        now = {name: Scheduled(schedule(count)) for name, schedule in schedules.items()}
        return {**hyperparameters, **now}

    tx, options = from_apply(init, apply), dict(maximize=maximize, exact=exact)
    return tx.rebuilt_by(elementwise, rule, initial, hyperparameters, **options)


def _moves(grad: Any, live: Any) -> bool:
    """Whether the leaf may change in this step."""
    return grad is not None and not (_is_known(live) and not live)


def _is_known(live: Any) -> bool:
    return isinstance(live, (bool, np.bool_))


class Scheduled(NamedTuple):
    """A schedule's value, which torch holds as a Python double rather than a tensor."""

    value: Any


def _known(ops: Fast, value: Any) -> Any:
    return ops.double(value.value) if isinstance(value, Scheduled) else ops.scalar(value)


def _as_real(x: Any, param: jax.Array) -> Any:
    """Mirror torch's `view_as_real`: a complex number becomes two real ones."""
    if not jnp.iscomplexobj(param) or not jnp.iscomplexobj(x):
        return x
    return jnp.stack([x.real, x.imag], -1)


def _as_leaf(x: Any, like: Any) -> Any:
    return jax.lax.complex(x[..., 0], x[..., 1]) if jnp.iscomplexobj(like) else x
