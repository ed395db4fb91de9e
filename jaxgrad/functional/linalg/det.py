"""Determinants, with torch's gradients or, for singular matrices, the correct ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional.linalg._matrices import square


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Array
    logabsdet: Array


def det(A: Array, *, torch_gradient: bool = False) -> Array:
    """Return the determinants of square matrices.

    Args:
        A: `(*, n, n)`.
        torch_gradient: Whether an exactly singular matrix has gradient 0, as in torch without
            `create_graph=True`. False gives the correct gradient, the cofactor matrix.

    Raises:
        RuntimeError: `A` is not square.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(det)(jnp.array([[1.0, 2.0], [2.0, 4.0]])))
        [[ 4. -2.]
         [-2.  1.]]

    Torch: `torch.linalg.det`.

    Differs from jax in:
        1. The second derivative at a singular matrix is finite (`jnp.linalg.det`: NaN).
    """
    A = square("linalg.det", A)
    if not A.shape[-1]:
        return jnp.ones(A.shape[:-2], A.dtype)
    if A.shape[-1] == 1:
        return A[..., 0, 0]
    if torch_gradient:
        return in_opmath(_torch_det, A)
    return in_opmath(_small_det if A.shape[-1] < 4 else _det, A)


def _cofactors(x: Array) -> Array:
    """Return the cofactor matrices of 2 x 2 or 3 x 3 matrices."""
    if x.shape[-1] == 2:
        (a, b), (c, d) = jnp.moveaxis(x, (-2, -1), (0, 1))
        return jnp.stack([jnp.stack([d, -c], -1), jnp.stack([-b, a], -1)], -2)
    first, second, third = jnp.moveaxis(x, -2, 0)
    pairs = (second, third), (third, first), (first, second)
    return jnp.stack([jnp.cross(*pair) for pair in pairs], -2)


# The cofactors are polynomials, so derivatives of every order are finite even at a zero pivot.
@derivative(lambda t, _, x: jnp.sum(t * _cofactors(x), (-2, -1)))
def _small_det(x: Array) -> Array:
    return jnp.linalg.det(x)


def _regular_derivative(t: Any, out: Any, x: Any) -> Any:
    return out * _log_slope(t, x)


def _log_slope(t: Any, x: Any) -> Array:
    """Return the directional derivative of the log-determinant at `x` along `t`."""
    return jnp.trace(jnp.linalg.solve(x, t), axis1=-2, axis2=-1)


@derivative(_regular_derivative)
def _regular_det(x: Array) -> Array:
    return jnp.linalg.det(x)


def _det_derivative(t: Any, out: Any, x: Any) -> Any:
    singular, one = (out == 0)[..., None, None], jnp.eye(x.shape[-1], dtype=x.dtype)

    def singular_slope() -> Array:
        _, slope = jax.jvp(_bordered_det, (jnp.where(singular, x, one),), (t,))
        return jnp.where(out == 0, slope, _regular_derivative(t, out, jnp.where(singular, one, x)))

    return lax.cond(jnp.any(singular), singular_slope, lambda: _regular_derivative(t, out, x))


@derivative(_det_derivative)
def _det(x: Array) -> Array:
    return jnp.linalg.det(x)


def _bordered_det(x: Array) -> Array:
    """Compute the determinant of `x` from that of the invertible matrix `x + left @ right`.

    A correction of rank two makes the first two derivatives correct. If `x` has rank n - 3 or
    less, both are 0.
    """
    u, s, vh = jnp.linalg.svd(lax.stop_gradient(x))
    left, right = u[..., -2:] * s[..., :1, None], vh[..., -2:, :]
    deficient = s[..., -3] <= x.shape[-1] * jnp.finfo(x.dtype).eps * s[..., 0]
    deficient_matrix = deficient[..., None, None]
    filled = jnp.where(deficient_matrix, jnp.eye(x.shape[-1], dtype=x.dtype), x + left @ right)
    rest = jnp.eye(2, dtype=x.dtype) - right @ jnp.linalg.solve(filled, left)
    return jnp.where(deficient, 0, _regular_det(filled) * _small_det(rest))


def _torch_det_derivative(t: Any, out: Any, x: Any) -> Any:
    singular = out == 0
    safe = jnp.where(singular[..., None, None], jnp.eye(x.shape[-1], dtype=x.dtype), x)
    return _regular_derivative(t, jnp.where(singular, 0, out), safe)


@derivative(_torch_det_derivative)
def _torch_det(x: Array) -> Array:
    # jnp.linalg.det does not use LU for 2 or 3 rows, so it may be nonzero for a singular matrix.
    diagonal, parity = _pivots(x)
    return jnp.prod(diagonal, -1) * parity


def _pivots(x: Array) -> tuple[Array, Array]:
    """Return the diagonal of U in `x = P @ L @ U` and the determinant of P."""
    # torch passes real matrices to LAPACK row by row, so LAPACK factors the transpose.
    LU, pivots, _ = lax.linalg.lu(x if jnp.iscomplexobj(x) else jnp.swapaxes(x, -1, -2))
    swaps = jnp.sum(pivots != jnp.arange(x.shape[-1]), -1)
    parity = jnp.where(swaps % 2, -1, 1).astype(x.dtype)
    return jnp.diagonal(LU, axis1=-2, axis2=-1), parity


def slogdet(A: Array) -> SlogdetResult:
    """Return the sign of the determinant and the logarithm of its absolute value.

    Raises:
        RuntimeError: The input is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{slogdet(jnp.eye(2) * 2).logabsdet:.4f}")
        1.3863

    Torch: `torch.linalg.slogdet`. `jnp.linalg.slogdet` is the same except at singular matrices.
    """
    return SlogdetResult(*in_opmath(_slogdet, square("linalg.slogdet", A)))


def _slogdet_derivative(t: Any, out: Any, x: Any) -> Any:
    slope = _log_slope(t, x)
    sign, _ = out
    sign_tangent = 1j * slope.imag * sign if jnp.iscomplexobj(x) else jnp.zeros_like(sign)
    return sign_tangent, slope.real


@derivative(_slogdet_derivative)
def _slogdet(x: Array) -> tuple[Array, Array]:
    diagonal, parity = _pivots(x)
    signs = jnp.sign(diagonal)
    if not jnp.iscomplexobj(x):
        signs = jnp.where(jnp.isnan(diagonal), 0, signs)  # sgn(NaN) is 0 in torch
    return jnp.prod(signs, -1) * parity, jnp.sum(jnp.log(jnp.abs(diagonal)), -1)


def logdet(input: Array) -> Array:
    """Return the log-determinant; for a negative determinant it is NaN and its gradient 0.

    Raises:
        RuntimeError: The input is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{logdet(jnp.eye(2) * 2):.4f}")
        1.3863

    Torch: `torch.logdet`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient is 0 where the determinant is negative
           (`jnp.log(jnp.linalg.det(x))`: NaN or a number).
    """

    def logarithm(x: Array) -> Array:
        sign, size = _slogdet(x)
        if jnp.iscomplexobj(x):
            return jnp.log(sign) + size
        return jnp.where(sign == -1, jnp.nan, size)

    return in_opmath(logarithm, square("linalg.logdet", input))
