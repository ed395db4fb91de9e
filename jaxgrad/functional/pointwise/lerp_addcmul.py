"""Linear interpolation, addcmul and addcdiv with torch's dtype promotion and gradients."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating, together
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, require_same_dtype


def lerp(input: Array, end: Array, weight: ArrayLike) -> Array:
    """Interpolate linearly: return `input + weight * (end - input)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lerp(jnp.array(1.0), jnp.array(3.0), 0.5))
        2.0

    Torch: `torch.lerp`.
    """
    input, end = array(input), array(end, "end")
    require_same_dtype("lerp", input=input, end=end, weight=weight if jnp.ndim(weight) else None)
    if isinstance(weight, int | float):
        reject("lerp", "bool integer", input, end)
        return in_opmath(_lerp_number, input, end, weight=weight)
    reject("lerp", "bool integer", input, end, weight)
    return in_opmath(lerp_kernel, input, end, weight)


@derivative(
    # Broadcast before multiplying, so that products inf and -inf sum to NaN as in torch.
    lambda t, out, *rest: jnp.broadcast_to(t, out.shape) * (1 - rest[-1]),
    lambda t, out, *rest: jnp.broadcast_to(t, out.shape) * rest[-1],
    lambda t, _, x, end, __: t * (end - x),
)
def lerp_kernel(x: Array, end: Array, w: Array) -> Array:
    delta = end - x
    return jnp.where(jnp.abs(w) < 0.5, x + w * delta, end - delta * (1 - w))


# A Python weight is more precise than the arrays, so `1 - weight` is computed from the number.
@derivative(lambda t, *_, weight: t * (1 - weight), lambda t, *_, weight: t * weight)
def _lerp_number(x: Array, end: Array, *, weight: float) -> Array:
    return lerp_kernel(x, end, jnp.asarray(weight, x.dtype))


def addcmul(input: Array, tensor1: Array, tensor2: Array, *, value: float = 1) -> Array:
    """Return `input + value * tensor1 * tensor2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addcmul(jnp.array(1.0), jnp.array(2.0), jnp.array(3.0), value=0.5))
        4.0

    Torch: `torch.addcmul`.
    """
    reject("addcmul", "bool", input, tensor1, tensor2)
    x, a, b = together(array(input), array(tensor1, "tensor1"), array(tensor2, "tensor2"))
    if not is_floating(x):
        return x + a * b * int(value)
    return in_opmath(lambda x, a, b: x + value * a * b, x, a, b)


def addcdiv(input: Array, tensor1: Array, tensor2: Array, *, value: float = 1) -> Array:
    """Return `input + value * tensor1 / tensor2`.

    Raises:
        RuntimeError: Neither `tensor1` nor `tensor2` is floating.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addcdiv(jnp.array(1.0), jnp.array(3.0), jnp.array(2.0)))
        2.5

    Torch: `torch.addcdiv`.
    """
    a, b = together(array(tensor1, "tensor1"), array(tensor2, "tensor2"))
    if not is_floating(a):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; make one of the arguments a "
            "float"
        )
    return in_opmath(_addcdiv, array(input), a, b, value=value)


@derivative(
    lambda t, *_, **__: t,
    # Broadcast first, as in `lerp_kernel`.
    lambda t, out, _, __, b, value: jnp.broadcast_to(t, out.shape) * (value / b),
    lambda t, out, _, a, b, value: jnp.broadcast_to(t, out.shape) * -(value * a / (b * b)),
)
def _addcdiv(x: Array, a: Array, b: Array, *, value: float) -> Array:
    return x + value * a / b
