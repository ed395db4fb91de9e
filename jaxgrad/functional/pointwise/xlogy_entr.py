"""Products such as `x * log(y)` that are 0 at a logarithm's pole, with torch's derivatives."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.scipy.special as jss

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def xlogy(input: ArrayLike, other: ArrayLike) -> Array:
    """Return `input * log(other)`, or 0 where `input` is 0 and `other` is not NaN.

    Example:
        >>> import jax
        >>> print(jax.grad(xlogy)(0.0, 0.0), jax.grad(jax.scipy.special.xlogy)(0.0, 0.0))
        0.0 -inf

    Torch: `torch.xlogy`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At input 0 and other <= 0 the input's gradient is 0 (`jax.scipy.special.xlogy`: -inf,
           NaN).
    """
    reject("xlogy", "complex", input, other)
    return in_opmath(xlogy_kernel, input, other)


def _xlogy_input_derivative(t: Any, _: Any, x: Any, y: Any) -> Any:
    masked = (x == 0) & (y <= 0)
    each = jnp.broadcast_to(y, masked.shape)  # per element: inf and -inf sum to NaN
    return jnp.where(masked, 0, t) * jnp.where(masked, 0, jnp.log(each))


@derivative(_xlogy_input_derivative, lambda t, _, x, y: t * (x / y))
def xlogy_kernel(x: Array, y: Array) -> Array:
    product = x * jnp.log(y)
    return jnp.where((x == 0) & ~jnp.isnan(y), 0, product)


def entr(input: Array) -> Array:
    """Return the entropy `-x * log(x)`; it is 0 at 0 and -inf for negative elements.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(entr)(0.5):.4f}")
        -0.3069

    Torch: `torch.special.entr`.
    """
    reject("special.entr", "complex", input)
    return in_opmath(_entr, array(input))


@derivative(lambda t, _, x: t * (-(jnp.log(x) + 1)))
def _entr(x: Array) -> Array:
    return jss.entr(x)


def xlog1py(input: ArrayLike, other: ArrayLike) -> Array:
    """Return `input * log1p(other)`, or 0 where `input` is 0 and `other` is not NaN.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(xlog1py)(0.0, jnp.array(-1.0)))
        0.0

    Torch: `torch.special.xlog1py`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At input 0 and other <= -1 the input's gradient is 0 (`jax.scipy.special.xlog1py`: -inf
           or NaN).
    """
    reject("special.xlog1py", "complex", input, other)
    return in_opmath(_xlog1py, input, other)


def _xlog1py_input_derivative(t: Any, _: Any, x: Any, y: Any) -> Any:
    masked = (x == 0) & (y <= -1)
    each = jnp.broadcast_to(y, masked.shape)  # one slope per element, as in `xlogy`
    return jnp.where(masked, 0, t) * jnp.where(masked, 0, jnp.log1p(each))


@derivative(_xlog1py_input_derivative, lambda t, _, x, y: t * (x / (y + 1)))
def _xlog1py(x: Array, y: Array) -> Array:
    product = x * jnp.log1p(y)
    return jnp.where(jnp.isnan(y), jnp.nan, jnp.where(x == 0, 0, product))
