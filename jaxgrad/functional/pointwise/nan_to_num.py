"""Replacement of NaN and infinities."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, is_floating
from jaxgrad.functional._core.derivative import derivative


def nan_to_num(
    input: Array, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """Replace NaN and infinities by finite numbers, with gradient 0 there.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nan_to_num(jnp.array([jnp.nan, 1.0])))
        [0. 1.]

    Torch: `torch.nan_to_num`.
    """
    input = array(input)
    if not is_floating(input):
        return input
    return _replace_nan(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@derivative(lambda t, _, x, **__: t * jnp.where(jnp.isfinite(x), 1, 0))
def _replace_nan(x: Array, **values: Any) -> Array:
    return jnp.nan_to_num(x, **values)
