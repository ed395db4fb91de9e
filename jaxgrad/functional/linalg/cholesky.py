"""Cholesky factors, inverses and solvers that read torch's triangle and have its gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg._matrices import (
    broadcast_batches,
    conj_transpose,
    hermitian_from_lower,
    matrix,
    square,
)


def cholesky(A: Array, *, upper: bool = False) -> Array:
    """Return the lower-triangular L with `L @ L.mH = A`, reading only the lower triangle of `A`.

    Args:
        A: `(*, n, n)`, positive-definite.
        upper: Whether to read the upper triangle instead and return the conjugate transpose of L.

    Raises:
        RuntimeError: `A` is not square or (checked only outside `jit`) not positive-definite.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky(jnp.array([[4.0, 9.0], [2.0, 5.0]])))
        [[2. 0.]
         [1. 2.]]

    Torch: `torch.linalg.cholesky`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Only the lower triangle is read (`jnp.linalg.cholesky`: the mean of both triangles).
        2. A matrix that is not positive-definite raises an error (`jnp.linalg.cholesky`: NaN).
    """
    A = square("linalg.cholesky", A)
    L = in_opmath(_cholesky, conj_transpose(A) if upper else A)
    require(
        jnp.all(jnp.isfinite(jax.lax.stop_gradient(L))),
        RuntimeError(
            "linalg.cholesky: The factorization could not be completed because the input is not "
            "positive-definite"
        ),
    )
    return conj_transpose(L) if upper else L


def _cholesky_derivative(t: Any, L: Any, _: Any) -> Any:
    # Transposes torch's formula for the gradient, and covers tangents with a complex diagonal.
    inner = conj_transpose(_left_solve(L, conj_transpose(_left_solve(L, t))))
    return jnp.matmul(L, (jnp.tril(inner) + jnp.tril(conj_transpose(inner), -1)) / 2)


@derivative(_cholesky_derivative)
def _cholesky(x: Array) -> Array:
    return jax.lax.linalg.cholesky(hermitian_from_lower(x), symmetrize_input=False)


def cholesky_inverse(L: Array, upper: bool = False, *, torch_gradient: bool = False) -> Array:
    """Invert `L @ L.mH` given its triangular factor L; the other triangle is not read.

    Args:
        L: `(*, n, n)`.
        upper: Whether L is upper-triangular; the inverse is then that of `L.mH @ L`.
        torch_gradient: torch's gradient is nonzero in the other triangle, on which the result
            does not depend. True reproduces that; False gives zeros there.

    Raises:
        RuntimeError: `L` is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky_inverse(jnp.eye(2) * 2))
        [[0.25 0.  ]
         [0.   0.25]]

    Torch: `torch.cholesky_inverse`.
    """
    L = square("cholesky_inverse", L)
    L = conj_transpose(L) if upper else L
    return in_opmath(_inverse, L, torch_gradient=torch_gradient)


def cholesky_solve(
    B: Array, L: Array, upper: bool = False, *, torch_gradient: bool = False
) -> Array:
    """Solve `L @ L.mH @ X = B` for X given the triangular factor L; the other triangle is not read.

    Args:
        B: `(*, n, k)`.
        L: `(*, n, n)`.
        upper: Whether L is upper-triangular; the system is then `L.mH @ L @ X = B`.
        torch_gradient: torch's gradient is nonzero in the other triangle, on which the result
            does not depend. True reproduces that; False gives zeros there.

    Raises:
        RuntimeError: `L` is not square, or the shapes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky_solve(jnp.ones((2, 1)), jnp.eye(2) * 2))
        [[0.25]
         [0.25]]

    Torch: `torch.cholesky_solve`.
    """
    require_same_dtype("cholesky_solve", B=B, L=L)
    B, L = matrix("cholesky_solve", B), square("cholesky_solve", L)
    if B.shape[-2] != L.shape[-1]:
        raise RuntimeError(
            "Incompatible matrix sizes for cholesky_solve: each A matrix is "
            f"{L.shape[-1]} by {L.shape[-1]} but each b matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    L = conj_transpose(L) if upper else L
    return in_opmath(_solve, B, L, torch_gradient=torch_gradient)


def _solve(B: Array, L: Array, *, torch_gradient: bool) -> Array:
    B, L = broadcast_batches(B, L)
    B, L = broadcast_batches(B, L)
    product, fixed = _product(L, torch_gradient), jax.lax.stop_gradient(L)

    def solve(_: Any, b: Array) -> Array:
        return _left_solve(fixed, _left_solve(fixed, b), adjoint=True)

    return jax.lax.custom_linear_solve(
        lambda x: jnp.matmul(product, x), B, solve, lambda _, b: jnp.conj(solve(_, jnp.conj(b)))
    )


def _product(L: Array, torch_gradient: bool) -> Array:
    """Return `L @ L.mH` of the lower triangle, optionally with the full matrix's gradient."""
    lower = jnp.tril(L)
    product = jnp.matmul(lower, conj_transpose(lower))
    if not torch_gradient:
        return product
    full = jnp.matmul(L, conj_transpose(L))
    return jax.lax.stop_gradient(product - full) + full


def _inverse_derivative(t: Any, X: Any, L: Any, *, torch_gradient: bool) -> Any:
    t, L = (t, L) if torch_gradient else (jnp.tril(t), jnp.tril(L))
    half = jnp.matmul(t, conj_transpose(L))
    return -jnp.matmul(jnp.matmul(X, half + conj_transpose(half)), X)


@derivative(_inverse_derivative)
def _inverse(L: Array, *, torch_gradient: bool) -> Array:
    del torch_gradient
    one = jnp.broadcast_to(jnp.eye(L.shape[-1], dtype=L.dtype), L.shape)
    return _left_solve(L, _left_solve(L, one), adjoint=True)


def _left_solve(L: Array, B: Array, *, adjoint: bool = False) -> Array:
    return jax.lax.linalg.triangular_solve(
        L, B, left_side=True, lower=True, transpose_a=adjoint, conjugate_a=adjoint
    )
