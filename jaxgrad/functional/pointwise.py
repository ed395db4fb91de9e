"""Pointwise functions: torch's gradients at kinks, ties and the edges of their domains."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ._arguments import array
from ._rule import derivative


def abs(input: jax.Array) -> jax.Array:
    """The magnitude, with gradient 0 at 0.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(abs)(0.0), jax.grad(jnp.abs)(0.0))
        0.0 1.0

    Torch: `torch.abs`.

    Differs from jax in:
        1. At 0 the gradient is 0 (`jnp.abs`: 1), at NaN 0 (-1).
    """
    return _abs(array(input))


@derivative(lambda t, _, x: t * jnp.sign(x))
def _abs(x: jax.Array) -> jax.Array:
    return jnp.abs(x)
