"""The elementwise operations of torch's optimizers, in the order that is fastest in XLA.

torch's CPU kernels round `add` with alpha, `addcmul` and `lerp` once (a fused multiply-add) and
round after every other operation. XLA fuses where it likes. `exact.Exact` overrides these methods
with operations that reproduce torch's bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad.optim._core.fusion_barrier import FusionBarrier
from jaxgrad.optim._core.scalars import Scalar, as_double, element, is_number, rounded
from jaxgrad.optim._core.step_counts import StepCount


Method = TypeVar("Method", bound=Callable[..., Any])


class PendingUpdate:
    """A parameter and its pending changes (optax's update); update rules treat it as an array."""

    def __init__(self, start: jax.Array, change: Any = 0.0, limit: Any = None) -> None:
        self.start, self.change = start, change
        self.limit = jnp.finfo(start.dtype).max if limit is None else limit

    def __add__(self, other: jax.Array) -> PendingUpdate:
        change = other if is_number(self.change) else self.change + other
        return PendingUpdate(self.start, change, self.limit)

    def __sub__(self, other: jax.Array) -> PendingUpdate:
        return self + -other

    def toward(self, end: jax.Array, finite: bool) -> PendingUpdate:
        """Return the pending update whose new value is `end`.

        The start is clamped to avoid inf - inf, unless it is `finite` and not in half precision.
        """
        half = self.limit < jnp.finfo(self.start.dtype).max
        clamped = half or not finite
        start = lax.clamp(-self.limit, self.start, self.limit) if clamped else self.start
        return PendingUpdate(self.start, end - start, self.limit)

    @property
    def value(self) -> jax.Array:
        return self.start if is_number(self.change) else self.start + self.change


def in_float32(method: Method) -> Method:
    """Run a method in float32 on half-precision input and round its result, as torch does."""

    @functools.wraps(method)
    def wrapped(self: Any, x: Any, *args: Any, **options: Any) -> Any:
        dtype = (x.start if isinstance(x, PendingUpdate) else x).dtype
        if dtype.itemsize > 2:
            return method(self, x, *args, **options)
        if isinstance(x, PendingUpdate):
            x = PendingUpdate(wide(x.start), wide(x.change), np.float32(x.limit))
        out = method(self, wide(x), *map(wide, args), **options)
        if isinstance(out, PendingUpdate):
            return PendingUpdate(out.start.astype(dtype), out.change.astype(dtype))
        return out.astype(dtype)

    return wrapped  # pyright: ignore[reportReturnType]


def wide(x: Any) -> Any:
    return x.astype(np.float32) if isinstance(x, jax.Array) else x


class Fast:
    """torch's operations on one leaf, as methods, in whatever order XLA computes fastest.

    Args:
        step: The leaf's step count; scalars that depend on it are computed in double precision.
        place: The step count after this step in a vector with the counts of several leaves.
    """

    exact = False

    def __init__(self, step: jax.Array | None, place: StepCount | None = None) -> None:
        barrier = FusionBarrier(step) if step is not None else None
        self.place = place
        if place is not None:
            self.counts_barrier = FusionBarrier(place.counts)
            barrier = self.counts_barrier.at(place.place)
        self.scalar_barrier = barrier or (lambda x: x)
        self.product_barrier = barrier.product if barrier else (lambda x: x)

    def barrier(self, x: Any) -> Any:
        """Return `x`; `Exact` keeps the compiler from rewriting it together with its consumers."""
        return x

    @in_float32
    def settled(self, x: Any) -> Any:
        """Round a finite pending update to the parameter's dtype before the next change."""
        return x.toward(x.value, finite=True) if isinstance(x, PendingUpdate) else x

    def value(self, x: Any) -> Any:
        """Return the parameter's current value."""
        return x.value if isinstance(x, PendingUpdate) else x

    def scalar(self, x: Any) -> Any:
        """Wrap an array hyperparameter as a 1-element tensor; return a Python number as is."""
        if is_number(x):
            return x
        return Scalar(jnp.reshape(jnp.asarray(x), ()), True, self.scalar_barrier)

    def double(self, x: Any) -> Scalar:
        """Wrap a run-time value that torch holds as a Python double, such as `step.item()`."""
        return Scalar(x, False, self.scalar_barrier)

    def next(self, step: jax.Array) -> tuple[jax.Array, Scalar]:
        """Return the step count after this step, as the state keeps it and as a double."""
        if self.place is None:
            return step + 1, self.double(step + 1)
        counts, index = self.place
        return element(counts, index), Scalar(counts, False, self.counts_barrier, index)

    def select(self, condition: Any, x: Any, y: Any) -> Scalar:
        """Return the double `x` where the scalar `condition` holds, else `y`."""
        with jax.enable_x64(True):
            values = (rounded(v, np.float64) for v in (x, y))
            return self.double(jnp.where(condition, *values))

    @in_float32
    def mul(self, x: Any, factor: Any) -> Any:
        """Return `x * factor` in the dtype of `x`."""
        return self.barrier(x * like(factor, x))

    def times(self, x: Any, factor: Any) -> Any:
        """Return `x * factor` with torch's dtype promotion: a 0-dim `x` may be widened."""
        return self.mul(x, factor)

    @in_float32
    def decay(self, x: Any, rate: Any, finite: bool = False) -> Any:
        """Multiply a parameter by `1 - rate` and round; `finite` assumes it has no infinity."""
        factor = 1 - rate
        if isinstance(x, PendingUpdate):
            end = self.product_barrier(x.value * like(factor, x))
            return x.toward(end, finite)
        return self.product_barrier(self.mul(x, factor))

    @in_float32
    def add(self, x: Any, y: Any, alpha: Any = 1) -> Any:
        """Return `x + alpha * y` for an array or number `y`."""
        y = like(self.value(y), x)
        if is_number(alpha) and abs(alpha) == 1:
            return self._in_place(x, x + y if alpha == 1 else x - y)
        return self._fma(like(alpha, y), y, x)

    def sub(self, x: Any, y: Any) -> Any:
        """Return `x - y`."""
        return self.add(self.value(x), self.value(y), -1)

    @in_float32
    def addcmul(self, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
        """Return `x + value * a * b`."""
        return self._fma(self._times(value, a), b, x)

    @in_float32
    def addcdiv(self, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
        """Return `x + value * a / b`."""
        return x + self.barrier(self._times(value, a) / b)

    def adaptive(self, x: Any, a: Any, square: Any, root: Any, eps: Any, value: Any) -> Any:
        """Return `x + value * a / (sqrt(square) / root + eps)`."""
        if not self.exact and a.dtype.itemsize > 2:  # saves one division per element
            root, eps, value = as_double(root), as_double(eps), as_double(value)
            return self.addcdiv(x, a, self.add(self.sqrt(square), root * eps), root * value)
        return self.addcdiv(x, a, self.add(self.div(self.sqrt(square), root), eps), value)

    @in_float32
    def lerp(self, x: Any, end: Any, weight: Any) -> Any:
        """Return `x + weight * (end - x)`, computed from whichever end is nearer, as in torch."""
        weight = like(weight, x)
        near = abs(weight) < 0.5
        if isinstance(near, (bool, np.bool_)):
            coefficient, base = (weight, x) if near else (weight - weight.dtype.type(1), end)
        else:
            coefficient = jnp.where(near, weight, weight - 1)
            base = jnp.where(near, x, end)
        return self._fma(coefficient, end - x, base)

    @in_float32
    def div(self, x: Any, y: Any) -> Any:
        """Return `x / y` for an array or number `y`."""
        return self.barrier(x / self._divisor(like(y, x), x))

    @in_float32
    def rdiv(self, x: Any, number: Any) -> Any:
        """Return `number / x`."""
        return like(number, x) / x

    @in_float32
    def sqrt(self, x: Any) -> Any:
        return self.barrier(jnp.sqrt(x))

    def sign(self, x: Any) -> Any:
        """Return -1, 0 or 1; the sign of NaN is 0, as in torch."""
        return jnp.where(jnp.isnan(x), 0, jnp.sign(x))

    def _in_place(self, x: Any, result: Any) -> Any:
        del x
        return result

    def _times(self, value: Any, x: Any) -> Any:
        if is_number(value) and abs(value) == 1:
            return x if value == 1 else -x
        return self.barrier(like(value, x) * x)

    def _fma(self, x: Any, y: Any, z: Any) -> Any:
        return z + x * y

    def _divisor(self, y: Any, x: Any) -> Any:
        del x
        return y


def like(y: Any, x: Any) -> Any:
    """Round a number to the dtype of `x`; return an array unchanged."""
    dtype = x.start.dtype if isinstance(x, PendingUpdate) else x.dtype
    return y if isinstance(y, jax.Array) else rounded(y, dtype)
