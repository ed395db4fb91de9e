"""`Schedule`: the learning rate of a torch scheduler as a function of the step."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat
from jaxgrad._core.typing import ArrayLike
from jaxgrad.optim.lr_scheduler._plan import Build, Lr, Plan, plan, value


Rates = ArrayLike | Sequence[float]  # a number, or one per parameter group


class Schedule:
    """The learning rate of a torch scheduler after `step` calls, as a function of `step`.

    It is computed in float64 even with x64 off, and rounded once to JAX's default float. The step
    is an int, a traced integer or an integer array; an array gives an array. For a step at which
    torch raises, an eager call also raises; under `jit` the learning rate is NaN.
    """

    takes_lr = True  # whether torch's scheduler starts from the optimizer's learning rate

    def __init__(self, lr: Rates, build: Build, last_epoch: int = -1) -> None:
        self.lr = as_float64(lr)
        if not compat.is_traced(lr) and np.any(self.lr < 0):
            raise ValueError(f"Invalid learning rate: {lr}")
        if last_epoch < -1:
            raise ValueError(f"last_epoch must be -1 or more, got {last_epoch}")
        self.build = build
        self.last_epoch = last_epoch

    def __call__(self, step: Any) -> jax.Array:
        self._raise_where_torch_does(step)
        return self._rounded(step, self._compiled)

    @functools.cached_property
    def _plan(self) -> Plan:
        traced = compat.is_traced(self.lr)
        now = contextlib.nullcontext() if traced else jax.ensure_compile_time_eval()
        with jax.enable_x64(True), now:
            result = plan(self.build, self.lr)
            if traced:
                return result
            segments = [s._replace(x=np.asarray(s.x, np.float64)) for s in result.segments]
            return result._replace(segments=segments)

    @functools.cached_property
    def _compiled(self) -> Callable[..., jax.Array]:
        return jax.jit(self._at, static_argnums=1)

    def _at(self, step: jax.Array, dtype: Any) -> jax.Array:
        segments, limit, _ = self._plan
        step = jnp.maximum(step.astype(jnp.int64), 0) + (self.last_epoch + 1)
        stops = [segment.start for segment in segments[1:]] + [limit]
        lr: Lr = jnp.float64(jnp.nan)
        for segment, stop in zip(segments, stops, strict=True):
            here = step >= segment.start
            if stop < math.inf:
                here &= step < stop
            lr = jnp.where(here, value(segment, jnp.where(here, step - segment.start, 0)), lr)
        return lr.astype(dtype)

    def _raise_where_torch_does(self, step: Any) -> None:
        _, limit, error = self._plan
        if limit < math.inf and not compat.is_traced(step):
            if np.size(step) and np.max(step) + self.last_epoch + 1 >= limit:
                assert error is not None
                raise type(error)(*error.args)

    def _rounded(self, step: Any, compiled: Callable[..., jax.Array]) -> jax.Array:
        dtype = jnp.result_type(float)
        with jax.enable_x64(True):
            step = jnp.asarray(step)
            fun: Callable[..., jax.Array] = lambda n: compiled(n, dtype)  # noqa: E731  # vmapped
            for _ in range(step.ndim):
                fun = jax.vmap(fun)
            return fun(step)


def as_float64(x: Any) -> Any:
    """Convert a number, or a list with one per parameter group, to float64."""
    if compat.is_traced(x):
        with jax.enable_x64(True):
            return x.astype(jnp.float64)
    return np.asarray(x, np.float64)


def per_group(name: str, x: Any, lr: Any) -> Any:
    """Convert a setting to float64; a list must have one entry per learning rate."""
    if np.ndim(x) and np.ndim(lr) and np.size(x) != np.size(lr):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {np.size(x)} values, param_groups has {np.size(lr)}."
        )
    return as_float64(x)


def quotient(x: Any, y: Any) -> Any:
    """Divide with IEEE rounding; for a constant divisor XLA would multiply by its reciprocal."""
    return x / (y + 0.0 * x)


def power(gamma: Any, exponent: Any) -> Any:
    """Return `gamma**exponent` in float64, for an integer exponent."""
    return jnp.power(jnp.float64(gamma), jnp.asarray(exponent, jnp.float64))


def traceable(name: str, fun: Any, x: Any) -> Lr:
    """Call the user's function (or functions) of the epoch; explain the error if untraceable."""
    try:
        if isinstance(fun, (list, tuple)):
            return jnp.stack([jnp.asarray(f(x), jnp.float64) for f in fun])
        return jnp.asarray(fun(x), jnp.float64)
    except compat.NEEDS_NUMBERS as error:
        raise TypeError(
            f"{name} must be traceable, but it needs the concrete value of its argument: use "
            "jnp.where for `if`, jnp.minimum for `min`, jnp.cos for `math.cos`, "
            "jnp.asarray(values)[epoch] for `values[epoch]`"
        ) from error
