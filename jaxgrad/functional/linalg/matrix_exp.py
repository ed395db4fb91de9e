"""Powers and exponentials of matrices, and powers of a vector as a matrix."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.linalg._matrices import square
from jaxgrad.functional.linalg.inv_pinv import inv
from jaxgrad.functional.reduction.cumulative import cumprod


def matrix_power(A: Array, n: int) -> Array:
    """A product of n equal matrices; for negative n of their inverses.

    Raises:
        RuntimeError: They are not square, or n is negative and one is singular.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matrix_power(jnp.array([[1.0, 1.0], [0.0, 1.0]]), 3))
        [[1. 3.]
         [0. 1.]]

    Torch: `torch.linalg.matrix_power`.
    """
    A = square("linalg.matrix_power", A, integers=True)
    if n < 0:
        A, n = inv(A), -n
    if n > 1:
        reject("linalg.matrix_power", "bool", A)
    if not is_floating(A):
        return jnp.linalg.matrix_power(A, n)
    return in_opmath(lambda x: jnp.linalg.matrix_power(x, n), A)


def matrix_exp(A: Array) -> Array:
    """The exponential of square matrices.

    Raises:
        RuntimeError: They are not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matrix_exp(jnp.array([[0.0, 1.0], [0.0, 0.0]])))
        [[1. 1.]
         [0. 1.]]

    Torch: `torch.linalg.matrix_exp`.

    Differs from jax in:
        1. Of a NaN the gradient is NaN (`jax.scipy.linalg.expm`: 0 in forward mode).
        2. Of one number it is the exponential (`jax.scipy.linalg.expm`: NaN below -350000).
    """
    A = square("linalg.matrix_exp", A)
    return in_opmath(_number_exp if A.shape[-1] == 1 else _exp, A)


# torch's derivative is by the exponential of twice the rows, which is NaN of an infinity.
@derivative(lambda t, y, x: t * jnp.where(jnp.isfinite(x), y, jnp.nan))
def _number_exp(x: Array) -> Array:
    return jnp.exp(x)


def _exp(x: Array) -> Array:
    y = jax.scipy.linalg.expm(x)
    # Where that is NaN it forgets x: its derivative is 0.
    failed = jnp.any(jnp.isnan(y), (-2, -1), keepdims=True)
    return jnp.where(failed, x * jnp.where(failed, jnp.nan, 0), y)


def vander(x: Array, *, N: int | None = None) -> Array:
    """The powers 0 to N - 1 of each element, as the last dim.

    Raises:
        RuntimeError: N is below 2.

    Example:
        >>> import jax.numpy as jnp
        >>> print(vander(jnp.array([2.0, 3.0]), N=3))
        [[1. 2. 4.]
         [1. 3. 9.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.linalg.vander`.

    Differs from jax in:
        1. At 0 the gradient is a number (`jnp.vander`: NaN).
    """
    reject("linalg.vander", "bool", x)
    x = array(x, "x")
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"N must be greater than 1, it is {count}")
    x = jnp.broadcast_to(x[..., None], (*x.shape, count - 1))
    return jnp.concatenate([jnp.ones_like(x[..., :1]), cumprod(x, -1)], -1)
