"""Parameters of distributions as arrays of one floating dtype."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, floating, is_complex, promoted, together


def distribution_parameters(*args: Any, elementwise: bool = True) -> list[Array]:
    """Arguments in the precision of their result type; what is real stays so beside complex."""
    found = (together if elementwise else promoted)(*args)
    if is_complex(found[0]):
        pairs = zip(args, found, strict=True)
        return [y if jnp.iscomplexobj(x) else jnp.real(y) for x, y in pairs]
    return [floating(x) for x in found]


def _in_dtype_of(value: Any, *params: Any) -> Array:
    """A value in the dtype of the parameters: torch does not always promote it."""
    return array(value, "value").astype(floating(promoted(*params)[0]).dtype)


def _expanded(*params: Array) -> list[Array]:
    """Parameters in one shape, as a distribution of torch keeps them.

    Their gradients are summed element by element: where slopes are infinite, inf and -inf make NaN.
    """
    return jnp.broadcast_arrays(*params)


def _given(value: Any, *params: Any) -> list[Array]:
    """A value in the result type of all, and the parameters in one shape."""
    x, *floats = distribution_parameters(array(value, "value"), *params)
    return [x, *_expanded(*floats)]


def _one(name: str, first: Any, second: Any, names: str = "probs and logits") -> None:
    if (first is None) == (second is None):
        raise TypeError(f"{name} needs one of {names}, not both or neither")
