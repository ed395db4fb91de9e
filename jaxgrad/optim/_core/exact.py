"""Arithmetic with torch's bits: a software fused multiply-add, and barriers against rewrites."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad.optim._core.arithmetic import Fast, in_float32, like, wide
from jaxgrad.optim._core.fusion_barrier import FusionBarrier, as_bits, with_zeros
from jaxgrad.optim._core.scalars import Scalar
from jaxgrad.optim._core.step_counts import StepCount


class Exact(Fast):
    """The operations of `Fast` with torch's bits, on any device that rounds as IEEE 754 requires.

    Args:
        step: The leaf's step count, as for `Fast`.
        grad: The leaf's gradient, an array whose values are unknown at compile time.
        place: The step count in a vector, as for `Fast`.
    """

    exact = True

    def __init__(
        self, step: jax.Array | None, grad: jax.Array, place: StepCount | None = None
    ) -> None:
        super().__init__(step, place)
        self._barrier = FusionBarrier(grad if grad.dtype.itemsize > 2 else wide(grad))

    def barrier(self, x: Any) -> Any:
        return self._barrier(x)

    def _in_place(self, x: Any, result: Any) -> Any:
        return result.astype(x.dtype)

    def _divisor(self, y: Any, x: Any) -> Any:
        # XLA turns a division by a scalar into a multiplication by its reciprocal.
        with jax.enable_x64(True):
            bits = as_bits(x)
            return with_zeros(y, bits & self._barrier.zero.astype(bits.dtype))

    @in_float32
    def mul(self, x: Any, factor: Any) -> Any:
        return self.times(x, factor).astype(x.dtype)

    @in_float32
    def times(self, x: Any, factor: Any) -> Any:
        if x.ndim == 0 and isinstance(factor, Scalar) and factor.tensor:
            with jax.enable_x64(True):  # torch promotes two 0-dim tensors to the wider dtype
                x = x.astype(np.promote_types(x.dtype, factor.value.dtype))
                return self.barrier(x * factor.value)
        return self.barrier(x * like(factor, x))

    def lerp(self, x: Any, end: Any, weight: Any) -> Any:
        if x.ndim == 0 and isinstance(weight, Scalar) and weight.tensor:
            with jax.enable_x64(True):  # torch promotes three 0-dim tensors, as in `times`
                wider = np.promote_types(x.dtype, weight.value.dtype)
                return super().lerp(x.astype(wider), end.astype(wider), weight).astype(x.dtype)
        return super().lerp(x, end, weight)

    @in_float32
    def rdiv(self, x: Any, number: Any) -> Any:
        if isinstance(number, Scalar) and number.tensor:
            return self.barrier(like(number, x) / x)
        return self.mul(self.barrier(1 / x), number)  # torch multiplies by the reciprocal

    def sign(self, x: Any) -> Any:
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)  # turns -0 into +0

    def _fma(self, x: Any, y: Any, z: Any) -> Any:
        with jax.enable_x64(True):
            return _fma(x, y, z, self._barrier.zero)


@jax.custom_jvp
def _fma(x: Any, y: Any, z: Any, zero: Any) -> Any:
    """Return `x * y + z`, rounded once; `zero` is a zero that the compiler cannot fold."""
    if z.dtype == np.float64:
        return _fma64(x, y, z, zero)
    x, y, z = (v.astype(np.float64) for v in (x, y, z))
    return _to_odd(*_two_sum(x * y, z)).astype(np.float32)  # the float64 product is exact


@_fma.defjvp
def _fma_jvp(primals: Any, tangents: Any) -> Any:
    (x, y, *_), (dx, dy, dz, _) = primals, tangents
    out = _fma(*primals)
    return out, jnp.broadcast_to(dx * y + x * dy + dz, out.shape)


def _fma64(x: Any, y: Any, z: Any, zero: Any) -> Any:
    """Emulate an FMA (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums")."""
    product, low = _two_product(x, y, zero.astype(np.uint64))
    sum_high, sum_low = _two_sum(z, low)
    high, rest = _two_sum(product, sum_high)
    out = high + _to_odd(*_two_sum(sum_low, rest))
    plain = (out == 0) | ~jnp.isfinite(out)  # preserves infinities and the sign of zero
    return jnp.where(plain, product + z, out)


def _two_product(x: Any, y: Any, zero: Any) -> tuple[Any, Any]:
    """Return the rounded product and its rounding error (Dekker); partial products are exact."""
    product = with_zeros(x * y, zero)
    (a, b), (c, d) = _split(x, zero), _split(y, zero)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _split(x: Any, zero: Any) -> tuple[Any, Any]:
    shifted = with_zeros(x * np.float64(2**27 + 1), zero)
    high = shifted - (shifted - x)
    return high, x - high


def _two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the rounded sum and its rounding error (Knuth)."""
    total = x + y
    rest = total - x
    return total, (x - (total - rest)) + (y - rest)


def _to_odd(total: Any, error: Any) -> Any:
    """Round `total + error` to odd, so that a second rounding gives the correct result."""
    bits = as_bits(total)
    away = jnp.where((error > 0) == (total > 0), np.uint64(1), np.uint64(2**64 - 1))
    inexact = (error != 0) & (bits % 2 == 0) & jnp.isfinite(total)
    return lax.bitcast_convert_type(jnp.where(inexact, bits + away, bits), np.float64)
