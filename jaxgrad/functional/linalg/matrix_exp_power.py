"""Powers and exponentials of matrices, and Vandermonde matrices."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.linalg._matrices import square
from jaxgrad.functional.linalg.inv_pinv_rank import inv
from jaxgrad.functional.reduction.cumsum_diff_trapezoid import cumprod


def matrix_power(A: Array, n: int) -> Array:
    """Raise square matrices to the integer power n; a negative n raises their inverses to -n.

    Raises:
        RuntimeError: `A` is not square, or n is negative and `A` is singular.

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
    """Return the matrix exponentials of square matrices.

    Raises:
        RuntimeError: `A` is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matrix_exp(jnp.array([[0.0, 1.0], [0.0, 0.0]])))
        [[1. 1.]
         [0. 1.]]

    Torch: `torch.linalg.matrix_exp`.

    Differs from jax in:
        1. The gradient at NaN is NaN (`jax.scipy.linalg.expm`: 0 in forward mode).
        2. A 1 x 1 matrix is exponentiated as a number (`jax.scipy.linalg.expm`: NaN below -350000).
    """
    A = square("linalg.matrix_exp", A)
    return in_opmath(_scalar_exp if A.shape[-1] == 1 else _exp, A)


# For the derivative torch exponentiates a matrix of twice the size, giving NaN at infinite `x`.
@derivative(lambda t, y, x: t * jnp.where(jnp.isfinite(x), y, jnp.nan))
def _scalar_exp(x: Array) -> Array:
    return jnp.exp(x)


def _exp(x: Array) -> Array:
    y = jax.scipy.linalg.expm(x)
    # expm returns a constant NaN if it fails; the product with x makes the derivative NaN too.
    failed = jnp.any(jnp.isnan(y), (-2, -1), keepdims=True)
    return jnp.where(failed, x * jnp.where(failed, jnp.nan, 0), y)


def vander(x: Array, *, N: int | None = None) -> Array:
    """Return the powers 0 to N - 1 of each element (a 0-d array is a vector) along a new last dim.

    Raises:
        RuntimeError: `N` is less than 2.

    Example:
        >>> import jax.numpy as jnp
        >>> print(vander(jnp.array([2.0, 3.0]), N=3))
        [[1. 2. 4.]
         [1. 3. 9.]]

    Torch: `torch.linalg.vander`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient at 0 is finite (`jnp.vander`: NaN).
    """
    reject("linalg.vander", "bool", x)
    x = jnp.atleast_1d(array(x, "x"))
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"N must be greater than 1, it is {count}")
    x = jnp.broadcast_to(x[..., None], (*x.shape, count - 1))
    return jnp.concatenate([jnp.ones_like(x[..., :1]), cumprod(x, -1)], -1)
