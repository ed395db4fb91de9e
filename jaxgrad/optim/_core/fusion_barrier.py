"""Barriers that keep XLA from fusing or rewriting expressions, at the cost of a bitwise `or`."""

from __future__ import annotations

import copy
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def as_bits(x: Any) -> jax.Array:
    """Reinterpret floating-point numbers as unsigned integers of the same width."""
    return lax.bitcast_convert_type(x, np.dtype(f"uint{8 * np.dtype(x.dtype).itemsize}"))


@jax.custom_jvp
def with_zeros(x: Any, zeros: Any) -> Any:
    """Return `x`, computed as a bitwise `or` with `zeros`; its derivative is 1."""
    return lax.bitcast_convert_type(as_bits(x) | zeros, x.dtype)


@with_zeros.defjvp
def _with_zeros_jvp(primals: Any, tangents: Any) -> Any:
    out = with_zeros(*primals)
    return out, jnp.broadcast_to(tangents[0], out.shape)


class FusionBarrier:
    """An identity the compiler cannot simplify: a bitwise `or` with a zero only known at run time.

    `product` is a cheaper barrier that only keeps a product from being fused with a later sum.

    Args:
        witness: A float32 or float64 array of run-time values, with the same shape as the
            values that pass through the barrier.
    """

    def __init__(self, witness: jax.Array) -> None:
        # No computation produces a NaN with this payload, so the comparison is always 0 at run
        # time; the compiler cannot know that.
        bits = as_bits(witness)
        self.zero = bits == jnp.asarray(0x7FC0DEAD, bits.dtype)

    def __call__(self, x: Any) -> Any:
        with jax.enable_x64(True):
            return with_zeros(x, self.zero.astype(as_bits(x).dtype))

    def at(self, index: int) -> FusionBarrier:
        """Return the barrier for one element of the values that pass through this one."""
        barrier = copy.copy(self)
        barrier.zero = lax.index_in_dim(self.zero, index, keepdims=False)
        return barrier

    def product(self, x: Any) -> Any:
        """Round a product before anything is added to it, by taking its maximum with -inf."""
        return jnp.maximum(x, self(jnp.asarray(-jnp.inf, x.dtype)))
