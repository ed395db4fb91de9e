"""Determinants: torch's gradients, and the right ones of singular matrices."""

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
    """What `slogdet` returns."""

    sign: Array
    logabsdet: Array


def det(A: Array, *, torch_gradient: bool = False) -> Array:
    """The determinant of square matrices.

    Args:
        A: `(*, n, n)`.
        torch_gradient: Of an exactly singular matrix torch's gradient is 0, where it is the
            matrix of cofactors (torch's too if one asks for a graph of it). True: 0.

    Raises:
        RuntimeError: They are not square.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(det)(jnp.array([[1.0, 2.0], [2.0, 4.0]])))
        [[ 4. -2.]
         [-2.  1.]]

    Torch: `torch.linalg.det`.

    Differs from jax in:
        1. Singular matrices have a second derivative (`jnp.linalg.det`: NaN).
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
    """Of matrices of two or three rows."""
    if x.shape[-1] == 2:
        (a, b), (c, d) = jnp.moveaxis(x, (-2, -1), (0, 1))
        return jnp.stack([jnp.stack([d, -c], -1), jnp.stack([-b, a], -1)], -2)
    first, second, third = jnp.moveaxis(x, -2, 0)
    pairs = (second, third), (third, first), (first, second)
    return jnp.stack([jnp.cross(*pair) for pair in pairs], -2)


# A polynomial: right at every order, also where JAX's own rule divides by a pivot of 0.
@derivative(lambda t, _, x: jnp.sum(t * _cofactors(x), (-2, -1)))
def _small_det(x: Array) -> Array:
    return jnp.linalg.det(x)


def _regular_derivative(t: Any, out: Any, x: Any) -> Any:
    return out * _log_slope(t, x)


def _log_slope(t: Any, x: Any) -> Array:
    """Of the logarithm of the determinant."""
    return jnp.trace(jnp.linalg.solve(x, t), axis1=-2, axis2=-1)


@derivative(_regular_derivative)
def _regular_det(x: Array) -> Array:
    return jnp.linalg.det(x)


def _det_derivative(t: Any, out: Any, x: Any) -> Any:
    singular, one = (out == 0)[..., None, None], jnp.eye(x.shape[-1], dtype=x.dtype)

    def by_another() -> Array:
        _, slope = jax.jvp(_bordered_det, (jnp.where(singular, x, one),), (t,))
        return jnp.where(out == 0, slope, _regular_derivative(t, out, jnp.where(singular, one, x)))

    return lax.cond(jnp.any(singular), by_another, lambda: _regular_derivative(t, out, x))


@derivative(_det_derivative)
def _det(x: Array) -> Array:
    return jnp.linalg.det(x)


def _bordered_det(x: Array) -> Array:
    """The determinant, by that of a matrix `x + left @ right` which may be divided by.

    Two directions in which x vanishes are filled: there are two derivatives. If it vanishes in
    more, both are 0.
    """
    u, s, vh = jnp.linalg.svd(lax.stop_gradient(x))
    left, right = u[..., -2:] * s[..., :1, None], vh[..., -2:, :]
    hollow = s[..., -3] <= x.shape[-1] * jnp.finfo(x.dtype).eps * s[..., 0]
    each = hollow[..., None, None]
    filled = jnp.where(each, jnp.eye(x.shape[-1], dtype=x.dtype), x + left @ right)
    rest = jnp.eye(2, dtype=x.dtype) - right @ jnp.linalg.solve(filled, left)
    return jnp.where(hollow, 0, _regular_det(filled) * _small_det(rest))


def _torch_det_derivative(t: Any, out: Any, x: Any) -> Any:
    singular = out == 0
    safe = jnp.where(singular[..., None, None], jnp.eye(x.shape[-1], dtype=x.dtype), x)
    return _regular_derivative(t, jnp.where(singular, 0, out), safe)


@derivative(_torch_det_derivative)
def _torch_det(x: Array) -> Array:
    # jnp.linalg.det of 2 or 3 rows has no factors: of a singular matrix it is not always 0.
    diagonal, parity = _pivots(x)
    return jnp.prod(diagonal, -1) * parity


def _pivots(x: Array) -> tuple[Array, Array]:
    """The diagonal of U in `P @ L @ U`, and the determinant of P."""
    # torch factors the transpose of real matrices, which is how LAPACK reads them.
    LU, pivots, _ = lax.linalg.lu(x if jnp.iscomplexobj(x) else jnp.swapaxes(x, -1, -2))
    swaps = jnp.sum(pivots != jnp.arange(x.shape[-1]), -1)
    parity = jnp.where(swaps % 2, -1, 1).astype(x.dtype)
    return jnp.diagonal(LU, axis1=-2, axis2=-1), parity


def slogdet(A: Array) -> SlogdetResult:
    """The determinant's sign and the logarithm of its magnitude.

    Raises:
        RuntimeError: The matrices are not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{slogdet(jnp.eye(2) * 2).logabsdet:.4f}")
        1.3863

    Torch: `torch.linalg.slogdet`. `jnp.linalg.slogdet` is the same, but of singular matrices.
    """
    return SlogdetResult(*in_opmath(_slogdet, square("linalg.slogdet", A)))


def _slogdet_derivative(t: Any, out: Any, x: Any) -> Any:
    slope = _log_slope(t, x)
    sign, _ = out
    turned = 1j * slope.imag * sign if jnp.iscomplexobj(x) else jnp.zeros_like(sign)
    return turned, slope.real


@derivative(_slogdet_derivative)
def _slogdet(x: Array) -> tuple[Array, Array]:
    diagonal, parity = _pivots(x)
    signs = jnp.sign(diagonal)
    if not jnp.iscomplexobj(x):
        signs = jnp.where(jnp.isnan(diagonal), 0, signs)  # as torch's sgn
    return jnp.prod(signs, -1) * parity, jnp.sum(jnp.log(jnp.abs(diagonal)), -1)


def logdet(input: Array) -> Array:
    """The logarithm of the determinant, NaN where it is negative, with gradient 0 there.

    Raises:
        RuntimeError: The matrices are not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{logdet(jnp.eye(2) * 2):.4f}")
        1.3863

    Gradient conventions: docs/operators.md.
    Torch: `torch.logdet`.

    Differs from jax in:
        1. Where the determinant is negative the gradient is 0
           (`jnp.log(jnp.linalg.det(x))`: NaN or a number).
    """

    def logarithm(x: Array) -> Array:
        sign, size = _slogdet(x)
        if jnp.iscomplexobj(x):
            return jnp.log(sign) + size
        return jnp.where(sign == -1, jnp.nan, size)

    return in_opmath(logarithm, square("linalg.logdet", input))
