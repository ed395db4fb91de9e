"""Cholesky factors, and what is solved with them: which triangle is read, torch's gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg._matrices import conj_transpose, hermitian_from_lower, broadcast_batches, matrix, square


def cholesky(A: Array, *, upper: bool = False) -> Array:
    """The triangular L with `L @ L.mH = A`; only A's lower triangle is read.

    Args:
        A: `(*, n, n)`, positive-definite.
        upper: The conjugate transpose of L, from the upper triangle.

    Raises:
        RuntimeError: A is not square, or not positive-definite (not under `jit`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky(jnp.array([[4.0, 9.0], [2.0, 5.0]])))
        [[2. 0.]
         [1. 2.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.linalg.cholesky`.

    Differs from jax in:
        1. The lower triangle is read (`jnp.linalg.cholesky`: the mean of both).
        2. A matrix that is not positive-definite is an error (`jnp.linalg.cholesky`: NaN).
    """
    A = square("linalg.cholesky", A)
    found = in_opmath(_cholesky, conj_transpose(A) if upper else A)
    require(
        jnp.all(jnp.isfinite(jax.lax.stop_gradient(found))),
        RuntimeError(
            "linalg.cholesky: The factorization could not be completed because the input is not "
            "positive-definite"
        ),
    )
    return conj_transpose(found) if upper else found


def _cholesky_derivative(t: Any, L: Any, _: Any) -> Any:
    # The transpose of torch's, also by a diagonal that is not real.
    inside = conj_transpose(_left_solve(L, conj_transpose(_left_solve(L, t))))
    return jnp.matmul(L, (jnp.tril(inside) + jnp.tril(conj_transpose(inside), -1)) / 2)


@derivative(_cholesky_derivative)
def _cholesky(x: Array) -> Array:
    return jax.lax.linalg.cholesky(hermitian_from_lower(x), symmetrize_input=False)


def cholesky_inverse(L: Array, upper: bool = False, *, torch_gradient: bool = False) -> Array:
    """The inverse of `L @ L.mH`; the other triangle is not read.

    Args:
        L: `(*, n, n)`.
        upper: L is the upper triangle: the inverse of `L.mH @ L`.
        torch_gradient: torch's gradient fills the other triangle, by which there is none. True: so
            does this one.

    Raises:
        RuntimeError: L is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky_inverse(jnp.eye(2) * 2))
        [[0.25 0.  ]
         [0.   0.25]]

    Torch: `torch.cholesky_inverse`.
    """
    L = square("cholesky_inverse", L)
    L = conj_transpose(L) if upper else L
    return in_opmath(_inverse, L, filled=torch_gradient)


def cholesky_solve(
    B: Array, L: Array, upper: bool = False, *, torch_gradient: bool = False
) -> Array:
    """The X of `L @ L.mH @ X = B`; the other triangle is not read.

    Args:
        B: `(*, n, k)`.
        L: `(*, n, n)`.
        upper: L is the upper triangle, of `L.mH @ L @ X = B`.
        torch_gradient: torch's gradient fills the other triangle, by which there is none. True: so
            does this one.

    Raises:
        RuntimeError: L is not square, or the shapes do not fit.

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

    return in_opmath(lambda B, L: _solved(*broadcast_batches(B, L), filled=torch_gradient), B, L)


def _solved(B: Array, L: Array, *, filled: bool) -> Array:
    product, fixed = _product(L, filled), jax.lax.stop_gradient(L)

    def solve(_: Any, b: Array) -> Array:
        return _left_solve(fixed, _left_solve(fixed, b), adjoint=True)

    return jax.lax.custom_linear_solve(
        lambda x: jnp.matmul(product, x), B, solve, lambda _, b: jnp.conj(solve(_, jnp.conj(b)))
    )


def _product(L: Array, filled: bool) -> Array:
    """`L @ L.mH` of the lower triangle; where torch fills the other one, with the gradient so."""
    lower = jnp.tril(L)
    product = jnp.matmul(lower, conj_transpose(lower))
    if not filled:
        return product
    whole = jnp.matmul(L, conj_transpose(L))
    return jax.lax.stop_gradient(product - whole) + whole


def _inverse_derivative(t: Any, X: Any, L: Any, *, filled: bool) -> Any:
    t, L = (t, L) if filled else (jnp.tril(t), jnp.tril(L))
    half = jnp.matmul(t, conj_transpose(L))
    return -jnp.matmul(jnp.matmul(X, half + conj_transpose(half)), X)


@derivative(_inverse_derivative)
def _inverse(L: Array, *, filled: bool) -> Array:
    del filled
    one = jnp.broadcast_to(jnp.eye(L.shape[-1], dtype=L.dtype), L.shape)
    return _left_solve(L, _left_solve(L, one), adjoint=True)


def _left_solve(L: Array, B: Array, *, adjoint: bool = False) -> Array:
    return jax.lax.linalg.triangular_solve(
        L, B, left_side=True, lower=True, transpose_a=adjoint, conjugate_a=adjoint
    )
