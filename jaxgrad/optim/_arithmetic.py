"""The element arithmetic of torch's optimizers, twice: what XLA makes fast, and torch's own bits.

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

from jaxgrad import _compat
from jaxgrad.optim._scalars import Scalar, is_number, rounded


Method = TypeVar("Method", bound=Callable[..., Any])


class Displaced:
    """A parameter on its way: where it started, and how far it has come, which is optax's update.

    The way is summed up before it is added to the start, which rounds less than torch does.
    """

    def __init__(self, start: jax.Array, by: Any = 0.0) -> None:
        self.start, self.by = start, by

    def __add__(self, other: jax.Array) -> Displaced:
        return Displaced(self.start, other if is_number(self.by) else self.by + other)

    def __sub__(self, other: jax.Array) -> Displaced:
        return self + -other

    def scaled(self, factor: Any, less: Any) -> Displaced:
        """Times `factor`, which is `less` below one."""
        moved = -(self.start * less)
        return Displaced(self.start, moved if is_number(self.by) else moved + self.by * factor)

    @property
    def value(self) -> jax.Array:
        return self.start if is_number(self.by) else self.start + self.by


def _in_float32(method: Method) -> Method:
    """Half-precision numbers are computed in float32 and rounded after each operation, as torch."""

    @functools.wraps(method)
    def wrapped(self: Any, x: Any, *args: Any) -> Any:
        dtype = (x.start if isinstance(x, Displaced) else x).dtype
        if dtype.itemsize > 2:
            return method(self, x, *args)
        wide = Displaced(_wide(x.start), _wide(x.by)) if isinstance(x, Displaced) else _wide(x)
        out = method(self, wide, *map(_wide, args))
        if isinstance(out, Displaced):
            return Displaced(out.start.astype(dtype), out.by.astype(dtype))
        return out.astype(dtype)

    return wrapped  # pyright: ignore[reportReturnType]


def _wide(x: Any) -> Any:
    return x.astype(np.float32) if isinstance(x, jax.Array) else x


@jax.custom_jvp
def _or(x: Any, zeros: Any) -> Any:
    """`x`, whose derivative is one."""
    return lax.bitcast_convert_type(_bits(x) | zeros, x.dtype)


@_or.defjvp
def _or_jvp(primals: Any, tangents: Any) -> Any:
    out = _or(*primals)
    return out, jnp.broadcast_to(tangents[0], out.shape)


class Seal:
    """What a value goes through that the compiler is not to rewrite with its neighbours.

    An `or` with a zero that the compiler does not know is all that it does not look through.

    Args:
      witness: Any array that the compiler cannot know, float32 or float64.
    """

    def __init__(self, witness: jax.Array) -> None:
        # A NaN with a payload that no computation makes: zero, and only we know it.
        bits = _bits(witness.ravel()[:1])
        self.zero = jnp.any(bits == jnp.asarray(0x7FC0DEAD, bits.dtype))

    def __call__(self, x: Any) -> Any:
        with _compat.enable_x64():
            return _or(x, self.zero.astype(_bits(x).dtype))


class Fast:
    """One operation of torch a method, as XLA computes it best.

    Args:
      step: The step count: numbers that depend on it are computed as Python computes them.
    """

    exact = False

    def __init__(self, step: jax.Array | None) -> None:
        self.seal_scalar = Seal(step) if step is not None else lambda x: x

    def seal(self, x: Any) -> Any:
        """`x`, which the compiler may not look through; here it may."""
        return x

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
        with _compat.enable_x64():
            values = (rounded(v, np.float64) for v in (x, y))
            return self.double(jnp.where(condition, *values))

    @_in_float32
    def mul(self, x: Any, factor: Any) -> Any:
        """`x * factor`."""
        return self.seal(x * _like(factor, x))

    def times(self, x: Any, factor: Any) -> Any:
        """`x * factor`, not in place: of shape () it may be wider."""
        return self.mul(x, factor)

    @_in_float32
    def decay(self, x: Any, rate: Any) -> Any:
        """A parameter times `1 - rate`."""
        factor = 1 - rate
        if isinstance(x, Displaced):  # what torch's rounded factor takes away
            return x.scaled(_like(factor, x), _like(1 - factor, x))
        return self.mul(x, factor)

    @_in_float32
    def add(self, x: Any, y: Any, alpha: Any = 1) -> Any:
        """`x + alpha * y`, y an array or a number."""
        y = _like(self.value(y), x)
        if is_number(alpha) and abs(alpha) == 1:
            return self._in_place(x, x + y if alpha == 1 else x - y)
        return self._fma(_like(alpha, y), y, x)

    def sub(self, x: Any, y: Any) -> Any:
        """`x - y`."""
        return self.add(self.value(x), self.value(y), -1)

    @_in_float32
    def addcmul(self, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
        """`x + value * a * b`."""
        return self._fma(self._times(value, a), b, x)

    @_in_float32
    def addcdiv(self, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
        """`x + value * a / b`."""
        return x + self.seal(self._times(value, a) / b)

    @_in_float32
    def lerp(self, x: Any, end: Any, weight: Any) -> Any:
        """`x + weight * (end - x)`, from the end that is nearer."""
        weight = _like(weight, x)
        near = abs(weight) < 0.5
        if isinstance(near, (bool, np.bool_)):
            coefficient, base = (weight, x) if near else (weight - weight.dtype.type(1), end)
        else:
            coefficient = jnp.where(near, weight, weight - 1)
            base = jnp.where(near, x, end)
        return self._fma(coefficient, end - x, base)

    @_in_float32
    def div(self, x: Any, y: Any) -> Any:
        """`x / y`, y an array or a number."""
        return self.seal(x / self._divisor(_like(y, x), x))

    @_in_float32
    def rdiv(self, x: Any, number: Any) -> Any:
        """`number / x`."""
        return _like(number, x) / x

    @_in_float32
    def sqrt(self, x: Any) -> Any:
        return self.seal(jnp.sqrt(x))

    def _in_place(self, x: Any, result: Any) -> Any:
        del x
        return result

    def _times(self, value: Any, x: Any) -> Any:
        if is_number(value) and abs(value) == 1:
            return x if value == 1 else -x
        return self.seal(_like(value, x) * x)

    def _fma(self, x: Any, y: Any, z: Any) -> Any:
        return z + x * y

    def _divisor(self, y: Any, x: Any) -> Any:
        del x
        return y


def _like(y: Any, x: Any) -> Any:
    """A number in the dtype of the array `x`; an array as it is."""
    dtype = x.start.dtype if isinstance(x, Displaced) else x.dtype
    return y if isinstance(y, jax.Array) else rounded(y, dtype)


class Exact(Fast):
    """The same to the last bit of torch's, on any device that rounds as IEEE 754 says.

    Args:
      step: As for `Fast`.
      grad: The gradient, which the compiler does not know.
    """

    exact = True

    def __init__(self, step: jax.Array | None, grad: jax.Array) -> None:
        super().__init__(step)
        self._seal = Seal(grad if grad.dtype.itemsize > 2 else _wide(grad))

    def seal(self, x: Any) -> Any:
        return self._seal(x)

    def _in_place(self, x: Any, result: Any) -> Any:
        return result.astype(x.dtype)

    def _divisor(self, y: Any, x: Any) -> Any:
        # One number for all elements would become a product with its reciprocal.
        with _compat.enable_x64():
            bits = _bits(x)
            return _or(y, bits & self._seal.zero.astype(bits.dtype))

    @_in_float32
    def mul(self, x: Any, factor: Any) -> Any:
        return self.times(x, factor).astype(x.dtype)

    @_in_float32
    def times(self, x: Any, factor: Any) -> Any:
        if x.ndim == 0 and isinstance(factor, Scalar) and factor.tensor:
            with _compat.enable_x64():  # two tensors of shape (): torch takes the wider dtype
                x = x.astype(np.promote_types(x.dtype, factor.value.dtype))
                return self.seal(x * factor.value)
        return self.seal(x * _like(factor, x))

    @_in_float32
    def rdiv(self, x: Any, number: Any) -> Any:
        return self.mul(self.seal(1 / x), number)  # torch takes the reciprocal

    def _fma(self, x: Any, y: Any, z: Any) -> Any:
        with _compat.enable_x64():
            return _fma(x, y, z, self._seal.zero)


@jax.custom_jvp
def _fma(x: Any, y: Any, z: Any, zero: Any) -> Any:
    """`x * y + z`, rounded once; `zero` is that of a seal."""
    if z.dtype == np.float64:
        return _fma64(x, y, z, zero)
    x, y, z = (v.astype(np.float64) for v in (x, y, z))
    return _to_odd(*_two_sum(x * y, z)).astype(np.float32)  # the product is exact


@_fma.defjvp
def _fma_jvp(primals: Any, tangents: Any) -> Any:
    (x, y, *_), (dx, dy, dz, _) = primals, tangents
    out = _fma(*primals)
    return out, jnp.broadcast_to(dx * y + x * dy + dz, out.shape)


def _fma64(x: Any, y: Any, z: Any, zero: Any) -> Any:
    """Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008."""
    product, low = _two_product(x, y, zero.astype(np.uint64))
    sum_high, sum_low = _two_sum(z, low)
    high, rest = _two_sum(product, sum_high)
    out = high + _to_odd(*_two_sum(sum_low, rest))
    return jnp.where(out == 0, product + z, out)  # for the sign of zero


def _two_product(x: Any, y: Any, zero: Any) -> tuple[Any, Any]:
    """Dekker's product: `x * y` rounded, and its error; the other products are exact."""
    product = _or(x * y, zero)
    (a, b), (c, d) = _split(x, zero), _split(y, zero)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _split(x: Any, zero: Any) -> tuple[Any, Any]:
    shifted = _or(x * np.float64(2**27 + 1), zero)
    high = shifted - (shifted - x)
    return high, x - high


def _bits(x: Any) -> jax.Array:
    return lax.bitcast_convert_type(x, np.dtype(f"uint{8 * np.dtype(x.dtype).itemsize}"))


def _two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """Knuth's sum: `x + y` rounded, and its error."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _to_odd(total: Any, error: Any) -> Any:
    """The sum of both, its last bit odd where it is inexact: safe to round once more."""
    bits = _bits(total)
    away = jnp.where((error > 0) == (total > 0), np.uint64(1), np.uint64(2**64 - 1))
    inexact = (error != 0) & (bits % 2 == 0) & jnp.isfinite(total)
    return lax.bitcast_convert_type(jnp.where(inexact, bits + away, bits), np.float64)
