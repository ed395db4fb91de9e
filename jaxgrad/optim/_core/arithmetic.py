"""The element arithmetic of torch's optimizers, as XLA makes it fast; `_exact` has torch's bits.

torch's CPU kernels round an `add` with alpha, an `addcmul` and a `lerp` once, by a fused
multiply-add, and everything else after every operation. XLA fuses or not as it sees fit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core import compat
from jaxgrad.optim._core.fusion_barrier import Seal
from jaxgrad.optim._core.scalars import Scalar, as_double, is_number, rounded


Method = TypeVar("Method", bound=Callable[..., Any])


class Displaced:
    """A parameter on its way: its start, and how far it has come, which is optax's update."""

    def __init__(self, start: jax.Array, by: Any = 0.0, limit: Any = None) -> None:
        self.start, self.by = start, by
        self.limit = jnp.finfo(start.dtype).max if limit is None else limit

    def __add__(self, other: jax.Array) -> Displaced:
        return Displaced(self.start, other if is_number(self.by) else self.by + other, self.limit)

    def __sub__(self, other: jax.Array) -> Displaced:
        return self + -other

    def becoming(self, end: jax.Array, finite: bool) -> Displaced:
        """On its way to `end`; unless it is `finite`, an infinity does not move.

        A number of half precision may always become one.
        """
        half = self.limit < jnp.finfo(self.start.dtype).max
        clamped = half or not finite
        start = lax.clamp(-self.limit, self.start, self.limit) if clamped else self.start
        return Displaced(self.start, end - start, self.limit)

    @property
    def value(self) -> jax.Array:
        return self.start if is_number(self.by) else self.start + self.by


def in_float32(method: Method) -> Method:
    """Half-precision numbers are computed in float32 and rounded after each operation, as torch."""

    @functools.wraps(method)
    def wrapped(self: Any, x: Any, *args: Any, **options: Any) -> Any:
        dtype = (x.start if isinstance(x, Displaced) else x).dtype
        if dtype.itemsize > 2:
            return method(self, x, *args, **options)
        if isinstance(x, Displaced):
            x = Displaced(wide(x.start), wide(x.by), np.float32(x.limit))
        out = method(self, wide(x), *map(wide, args), **options)
        if isinstance(out, Displaced):
            return Displaced(out.start.astype(dtype), out.by.astype(dtype))
        return out.astype(dtype)

    return wrapped  # pyright: ignore[reportReturnType]


def wide(x: Any) -> Any:
    return x.astype(np.float32) if isinstance(x, jax.Array) else x


class Fast:
    """One operation of torch a method, as XLA computes it best.

    Args:
      step: The step count: numbers that depend on it are computed as Python computes them.
    """

    exact = False

    def __init__(self, step: jax.Array | None) -> None:
        seal = Seal(step) if step is not None else None
        self.seal_scalar = seal or (lambda x: x)
        self.seal_product = seal.product if seal else (lambda x: x)

    def seal(self, x: Any) -> Any:
        """`x`, which the compiler may not look through; here it may."""
        return x

    @in_float32
    def settled(self, x: Any) -> Any:
        """A finite parameter between two moves, rounded to where it is now."""
        return x.becoming(x.value, finite=True) if isinstance(x, Displaced) else x

    def value(self, x: Any) -> Any:
        """The parameter where it is now."""
        return x.value if isinstance(x, Displaced) else x

    def scalar(self, x: Any) -> Any:
        """A hyperparameter: a Python number stays one, an array is a tensor of one element."""
        if is_number(x):
            return x
        return Scalar(jnp.reshape(jnp.asarray(x), ()), True, self.seal_scalar)

    def double(self, x: Any) -> Scalar:
        """What torch has as a Python double and knows at run time only, as `step.item()`."""
        return Scalar(x, False, self.seal_scalar)

    def select(self, condition: Any, x: Any, y: Any) -> Scalar:
        """The double `x` where `condition`, else `y`; of shape ()."""
        with compat.enable_x64():
            values = (rounded(v, np.float64) for v in (x, y))
            return self.double(jnp.where(condition, *values))

    @in_float32
    def mul(self, x: Any, factor: Any) -> Any:
        """`x * factor`."""
        return self.seal(x * like(factor, x))

    def times(self, x: Any, factor: Any) -> Any:
        """`x * factor`, not in place: of shape () it may be wider."""
        return self.mul(x, factor)

    @in_float32
    def decay(self, x: Any, rate: Any, finite: bool = False) -> Any:
        """A parameter times `1 - rate`, and rounded; a `finite` one costs less."""
        factor = 1 - rate
        if isinstance(x, Displaced):
            end = self.seal_product(x.value * like(factor, x))
            return x.becoming(end, finite)
        return self.seal_product(self.mul(x, factor))

    @in_float32
    def add(self, x: Any, y: Any, alpha: Any = 1) -> Any:
        """`x + alpha * y`, y an array or a number."""
        y = like(self.value(y), x)
        if is_number(alpha) and abs(alpha) == 1:
            return self._in_place(x, x + y if alpha == 1 else x - y)
        return self._fma(like(alpha, y), y, x)

    def sub(self, x: Any, y: Any) -> Any:
        """`x - y`."""
        return self.add(self.value(x), self.value(y), -1)

    @in_float32
    def addcmul(self, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
        """`x + value * a * b`."""
        return self._fma(self._times(value, a), b, x)

    @in_float32
    def addcdiv(self, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
        """`x + value * a / b`."""
        return x + self.seal(self._times(value, a) / b)

    def adaptive(self, x: Any, a: Any, square: Any, root: Any, eps: Any, value: Any) -> Any:
        """`x + value * a / (sqrt(square) / root + eps)`."""
        if not self.exact and a.dtype.itemsize > 2:  # a division less for each element
            root, eps, value = as_double(root), as_double(eps), as_double(value)
            return self.addcdiv(x, a, self.add(self.sqrt(square), root * eps), root * value)
        return self.addcdiv(x, a, self.add(self.div(self.sqrt(square), root), eps), value)

    @in_float32
    def lerp(self, x: Any, end: Any, weight: Any) -> Any:
        """`x + weight * (end - x)`, from the end that is nearer."""
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
        """`x / y`, y an array or a number."""
        return self.seal(x / self._divisor(like(y, x), x))

    @in_float32
    def rdiv(self, x: Any, number: Any) -> Any:
        """`number / x`."""
        return like(number, x) / x

    @in_float32
    def sqrt(self, x: Any) -> Any:
        return self.seal(jnp.sqrt(x))

    def sign(self, x: Any) -> Any:
        """-1, 0 or 1, and 0 of a NaN."""
        return jnp.where(jnp.isnan(x), 0, jnp.sign(x))

    def _in_place(self, x: Any, result: Any) -> Any:
        del x
        return result

    def _times(self, value: Any, x: Any) -> Any:
        if is_number(value) and abs(value) == 1:
            return x if value == 1 else -x
        return self.seal(like(value, x) * x)

    def _fma(self, x: Any, y: Any, z: Any) -> Any:
        return z + x * y

    def _divisor(self, y: Any, x: Any) -> Any:
        del x
        return y


def like(y: Any, x: Any) -> Any:
    """A number in the dtype of the array `x`; an array as it is."""
    dtype = x.start.dtype if isinstance(x, Displaced) else x.dtype
    return y if isinstance(y, jax.Array) else rounded(y, dtype)
