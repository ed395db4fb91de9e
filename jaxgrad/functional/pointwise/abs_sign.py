"""Absolute values, signs and the step function with torch's gradients at zero."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath, is_complex, is_floating, together
from jaxgrad.functional._core.derivative import derivative, not_differentiable
from jaxgrad.functional._core.dtypes import reject, require_same_dtype


def abs(input: Array) -> Array:
    """Return the absolute value of each element, with gradient 0 at 0.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(abs)(0.0), jax.grad(jnp.abs)(0.0))
        0.0 1.0

    Torch: `torch.abs`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient is 0 at 0 (`jnp.abs`: 1) and at NaN (`jnp.abs`: -1).
    """
    reject("abs", "bool", input)
    input = array(input)
    return jnp.abs(input) if is_complex(input) else abs_kernel(input)


def sign_kernel(x: Array) -> Array:
    """Return the sign of each element as -1, 0 or 1, with 0 at NaN."""
    zero, one = (np.asarray(n, x.dtype) for n in (0, 1))
    return jnp.where(x > 0, one, jnp.where(x < 0, -one, zero))


@derivative(lambda t, _, x: t * sign_kernel(x))
def abs_kernel(x: Array) -> Array:
    return jnp.abs(x)


def sign(input: Array) -> Array:
    """Return the sign of each element as -1, 0 or 1, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sign(jnp.array([-2.0, 0.0])))
        [-1.  0.]

    Torch: `torch.sign`.
    """
    reject("sign", "complex", input)
    input = array(input)
    if input.dtype == jnp.bool_:
        return input
    if not is_floating(input):
        return jnp.sign(input)
    return jnp.where(jnp.isnan(input), 0, jnp.sign(input))


def copysign(input: Array, other: ArrayLike) -> Array:
    """Return the magnitude of `input` with the sign of `other`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(copysign)(0.0, 1.0), jax.grad(jnp.copysign)(0.0, 1.0))
        0.0 1.0

    Torch: `torch.copysign`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient is 0 at 0 (`jnp.copysign`: 1) and NaN at infinities.
    """
    return in_opmath(_copysign, array(input), other)


@derivative(lambda t, y, x, _: t * jnp.where(x == 0, 0, _divide(y, x)), None)
def _copysign(x: Array, y: Array) -> Array:
    return jnp.copysign(x, y)


@derivative(lambda t, *rest: t / rest[-1], lambda t, _, a, b: t * -((a / b) / b))
def _divide(a: Array, b: Array) -> Array:
    return a / b


def heaviside(input: Array, values: Array) -> Array:
    """Return 0 for negative elements, 1 for positive ones and `values` at 0, without a gradient.

    Raises:
        RuntimeError: The dtypes differ, the shapes do not broadcast, or the function is
            differentiated.

    Example:
        >>> import jax.numpy as jnp
        >>> print(heaviside(jnp.array([-1.0, 0.0, 2.0]), jnp.array(0.5)))
        [0.  0.5 1. ]

    Torch: `torch.heaviside`.

    Differs from jax in:
        1. It raises if it is differentiated (`jnp.heaviside`: 0).
    """
    input, values = array(input), array(values, "values")
    require_same_dtype("heaviside", input=input, values=values)
    return _heaviside(*together(input, values))


@derivative(not_differentiable("heaviside"), not_differentiable("heaviside"))
def _heaviside(x: Array, values: Array) -> Array:
    return jnp.where(x == 0, values, (x > 0).astype(x.dtype))
