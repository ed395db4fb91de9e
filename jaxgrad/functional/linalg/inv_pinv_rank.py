"""Inverses, ranks and condition numbers of matrices, with torch's cutoffs and errors."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.lapack import nan_if_infinite
from jaxgrad.functional.linalg._matrices import (
    conj_transpose,
    hermitian_from_lower,
    matrix,
    require_regular,
    square,
)
from jaxgrad.functional.reduction.norm_matrix_norm import matrix_norm


def inv(A: Array) -> Array:
    """Return the inverses of square matrices.

    Raises:
        RuntimeError: `A` is not square or (checked only outside `jit`) singular.

    Example:
        >>> import jax.numpy as jnp
        >>> print(inv(jnp.eye(2) * 2))
        [[0.5 0. ]
         [0.  0.5]]

    Torch: `torch.linalg.inv`.

    Differs from jax in:
        1. A singular matrix raises an error (`jnp.linalg.inv`: NaN and inf).
    """
    A = square("linalg.inv", A)
    inverse = in_opmath(_inv, A)
    require_regular("linalg.inv: The inversion could not be completed", A, inverse)
    return inverse


@derivative(lambda t, y, _: -jnp.matmul(jnp.matmul(y, t), y))
def _inv(x: Array) -> Array:
    return jnp.linalg.inv(x)


def pinv(
    A: Array,
    rcond: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Array:
    """Return the pseudo-inverse; it is differentiable where the rank is locally constant.

    Args:
        A: `(*, m, n)`.
        rcond: Alias of `rtol`.
        hermitian: Whether to read only the lower triangle; the gradient is full, as in torch.
        atol: Absolute cutoff; singular values at or below it count as 0.
        rtol: Relative cutoff. None: `max(m, n) * eps`, or 0 if `atol` is set.

    Raises:
        RuntimeError: `A` has fewer than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(pinv(jnp.array([[2.0], [0.0]])).round(4))
        [[0.5 0. ]]

    Torch: `torch.linalg.pinv`.
    """
    A = matrix("linalg.pinv", A)
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * float(jnp.finfo(A.dtype).eps)

    def inverse(x: Array) -> Array:
        bound = rtol
        if atol:
            largest = jnp.linalg.norm(_read(jax.lax.stop_gradient(x), hermitian), 2, (-2, -1))
            bound = jnp.maximum(rtol, atol / largest)
        return (
            _pinv_of_lower(x, bound)
            if hermitian
            else jnp.linalg.pinv(nan_if_infinite(x), rtol=bound)
        )

    return in_opmath(inverse, A)


def _read(x: Array, hermitian: bool) -> Array:
    """Return the matrix that LAPACK reads: `x`, or the Hermitian one with its lower triangle."""
    return nan_if_infinite(hermitian_from_lower(x) if hermitian else x)


def _pinv_derivative(t: Any, P: Array, x: Array, _: Any) -> Array:
    """Differentiate with respect to the full matrix, as torch does even with `hermitian=True`."""
    th, Ph = conj_transpose(t), conj_transpose(P)
    one = jnp.eye(x.shape[-1], dtype=x.dtype)
    return -P @ t @ P + P @ Ph @ th @ (one - x @ P) + (one - P @ x) @ th @ Ph @ P


@derivative(_pinv_derivative, None)
def _pinv_of_lower(x: Array, bound: Any) -> Array:
    return jnp.linalg.pinv(_read(x, True), rtol=bound)


def cond(A: Array, p: float | str | None = None) -> Array:
    """Return the condition number: the norm of a matrix times the norm of its inverse.

    Args:
        A: `(*, m, n)`.
        p: The `ord` of `matrix_norm`; None: 2. Orders other than 2 and -2 need square matrices.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{cond(jnp.diag(jnp.array([4.0, 2.0]))):.4f}")
        2.0000

    Torch: `torch.linalg.cond`.
    """
    A = matrix("linalg.cond", A)
    if 0 in A.shape[-2:] and not isinstance(p, str):
        return jnp.zeros(A.shape[:-2], A.real.dtype)
    if p is None or p in (2, -2):

        def ratio(x: Array) -> Array:
            s = jnp.linalg.svd(x, compute_uv=False)
            return _ratio(s, top=-1 if p == -2 else 0)

        return in_opmath(lambda x: ratio(nan_if_infinite(x)), A)
    return matrix_norm(A, p) * matrix_norm(inv(square("linalg.cond", A)), p)


@derivative(lambda t, r, s, *, top: (t[..., top] - t[..., -1 - top] * r) / s[..., -1 - top])
def _ratio(s: Array, *, top: int) -> Array:
    """Divide the first singular value by the last, or with `top=-1` the last by the first."""
    return s[..., top] / s[..., -1 - top]


def matrix_rank(
    A: Array,
    tol: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Array:
    """Return the number of nonzero singular values; it has no gradient.

    Args:
        A: `(*, m, n)`.
        tol: Alias of `atol`.
        hermitian: Whether to read only the lower triangle.
        atol: Absolute cutoff; singular values at or below it count as 0.
        rtol: Relative cutoff. None: `max(m, n) * eps`, or 0 if `atol` is set.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]])))
        1

    Torch: `torch.linalg.matrix_rank`.
    """
    A = jax.lax.stop_gradient(matrix("linalg.matrix_rank", A))
    atol = tol if atol is None else atol
    s = jnp.linalg.svd(_read(A, hermitian), compute_uv=False)
    if not s.shape[-1]:
        return jnp.zeros(s.shape[:-1], int)
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * float(jnp.finfo(A.dtype).eps)
    bound = jnp.maximum(atol or 0.0, rtol * s[..., :1])
    return jnp.sum(s > bound, -1)
