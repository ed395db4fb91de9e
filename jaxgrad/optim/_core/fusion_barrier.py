"""What keeps XLA from rewriting an expression."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core import compat


def as_bits(x: Any) -> jax.Array:
    """The bits of floating point numbers, as unsigned integers of their size."""
    return lax.bitcast_convert_type(x, np.dtype(f"uint{8 * np.dtype(x.dtype).itemsize}"))


@jax.custom_jvp
def with_zeros(x: Any, zeros: Any) -> Any:
    """`x`, whose derivative is one."""
    return lax.bitcast_convert_type(as_bits(x) | zeros, x.dtype)


@with_zeros.defjvp
def _with_zeros_jvp(primals: Any, tangents: Any) -> Any:
    out = with_zeros(*primals)
    return out, jnp.broadcast_to(tangents[0], out.shape)


class Seal:
    """What a value goes through that the compiler is not to rewrite with its neighbours.

    An `or` with a zero that the compiler does not know is all that it does not look through; a
    product that it may not fuse with a sum needs less.

    Args:
      witness: What the compiler cannot know, of the shape of what is sealed; float32 or float64.
    """

    def __init__(self, witness: jax.Array) -> None:
        # A NaN with a payload that no computation makes: zero, and only we know it.
        bits = as_bits(witness)
        self.zero = bits == jnp.asarray(0x7FC0DEAD, bits.dtype)

    def __call__(self, x: Any) -> Any:
        with compat.enable_x64():
            return with_zeros(x, self.zero.astype(as_bits(x).dtype))

    def product(self, x: Any) -> Any:
        """A product, rounded before anything is added to it: the larger of it and -inf."""
        return jnp.maximum(x, self(jnp.asarray(-jnp.inf, x.dtype)))
