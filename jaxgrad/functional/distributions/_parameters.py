"""Convert the arguments of distributions to arrays of one floating dtype."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, floating, is_complex, promoted, together


def distribution_parameters(*args: Any, elementwise: bool = True) -> list[Array]:
    """Return the arguments in the precision of their promoted dtype; real arguments stay real."""
    arrays = (together if elementwise else promoted)(*args)
    if is_complex(arrays[0]):
        pairs = zip(args, arrays, strict=True)
        return [y if jnp.iscomplexobj(x) else jnp.real(y) for x, y in pairs]
    return [floating(x) for x in arrays]


def in_dtype_of(value: Any, *params: Any) -> Array:
    """Cast a value to the parameters' dtype, for formulas in which torch does not promote them."""
    return array(value, "value").astype(floating(promoted(*params)[0]).dtype)


def broadcast_parameters(*params: Array) -> list[Array]:
    """Broadcast parameters to one shape, as torch's distributions store them.

    Gradients of a broadcast parameter are summed, so infinite gradients of opposite sign give NaN.
    """
    return jnp.broadcast_arrays(*params)


def value_and_parameters(value: Any, *params: Any) -> list[Array]:
    """Return the value in the common dtype, and the parameters broadcast to one shape."""
    x, *rest = distribution_parameters(array(value, "value"), *params)
    return [x, *broadcast_parameters(*rest)]


def require_one(name: str, first: Any, second: Any, names: str = "probs and logits") -> None:
    """Raise a TypeError unless exactly one of two arguments is passed."""
    if (first is None) == (second is None):
        raise TypeError(f"{name} needs exactly one of {names}")
