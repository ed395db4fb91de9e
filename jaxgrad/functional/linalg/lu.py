"""LU factorizations with row swaps, and linear systems solved with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.lax.linalg import lu_pivots_to_permutation, triangular_solve

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, promoted, require
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg._matrices import broadcast_batches, conj_transpose, matrix, square


class LUResult(NamedTuple):
    """The result of `lu`."""

    P: Array
    L: Array
    U: Array


class LUFactorResult(NamedTuple):
    """The result of `lu_factor`."""

    LU: Array
    pivots: Array


def lu(A: Array, *, pivot: bool = True) -> LUResult:
    """Factor `A = P @ L @ U` into a permutation, a unit lower and an upper triangular matrix.

    Args:
        A: `(*, m, n)`.
        pivot: Must be True; torch supports False only on GPUs.

    Raises:
        RuntimeError: `A` has fewer than two dims, or `pivot` is False.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu(jnp.array([[0.0, 2.0], [3.0, 4.0]])).U)
        [[3. 4.]
         [0. 2.]]

    Torch: `torch.linalg.lu`. `jax.scipy.linalg.lu` is the same.
    """

    return LUResult(*in_opmath(_lu, _pivoted("linalg.lu", A, pivot)))


def _lu_derivative(t: Any, out: Any, _: Any) -> Any:
    P, L, U = out
    return None, *_triangle_tangents(jnp.matmul(jnp.swapaxes(P, -1, -2), t), L, U)


@derivative(_lu_derivative)
def _lu(x: Array) -> tuple[Array, Array, Array]:
    LU, _, rows = jax.lax.linalg.lu(x)
    return _permutation(rows, x.dtype), *_triangles(LU)


def _triangle_tangents(t: Array, L: Array, U: Array) -> tuple[Array, Array]:
    """Return the tangents of L and U given that of `L @ U`; as in torch, a NaN fills its row."""
    k = L.shape[-1]
    L1, L2, U1, U2 = L[..., :k, :], L[..., k:, :], U[..., :k], U[..., k:]
    inner = _right_solve(U1, _left_solve(L1, t[..., :k, :k]))
    lower, upper = jnp.tril(inner, -1), jnp.triu(inner)
    dL, dU = jnp.matmul(L1, lower), jnp.matmul(upper, U1)
    if L2.shape[-2]:
        below = _right_solve(U1, t[..., k:, :]) - jnp.matmul(L2, upper)
        dL = jnp.concatenate([dL, below], -2)
    if U2.shape[-1]:
        beside = _left_solve(L1, t[..., k:]) - jnp.matmul(lower, U2)
        dU = jnp.concatenate([dU, beside], -1)
    return dL, dU


def _left_solve(L: Array, b: Array) -> Array:
    return triangular_solve(L, b, left_side=True, lower=True, unit_diagonal=True)


def _right_solve(U: Array, b: Array) -> Array:
    return triangular_solve(U, b, left_side=False, lower=False)


def _triangles(LU: Array) -> tuple[Array, Array]:
    """Unpack L, with its unit diagonal, and U from the matrix that stores both."""
    m, k = LU.shape[-2], min(LU.shape[-2:])
    L = jnp.tril(LU[..., :k], -1) + jnp.eye(m, k, dtype=LU.dtype)
    return L, jnp.triu(LU[..., :k, :])


def _permutation(rows: Array, dtype: Any) -> Array:
    """Return the permutation matrix P in `A = P @ L @ U` for a given row order."""
    return jnp.swapaxes(jax.nn.one_hot(rows, rows.shape[-1], dtype=dtype), -1, -2)


def lu_factor(A: Array, *, pivot: bool = True) -> LUFactorResult:
    """Factor `A` into L and U, packed in one matrix, and the 1-based row swaps.

    Args:
        A: `(*, m, n)`.
        pivot: Must be True; torch supports False only on GPUs.

    Raises:
        RuntimeError: `A` has fewer than 2 dims, `pivot` is False, or (outside `jit`) a pivot is 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu_factor(jnp.array([[0.0, 2.0], [3.0, 4.0]])).pivots)
        [2 2]

    Torch: `torch.linalg.lu_factor`.
    """

    result = LUFactorResult(*in_opmath(_lu_factor, _pivoted("linalg.lu_factor", A, pivot)))
    require(
        jnp.all(jnp.diagonal(jax.lax.stop_gradient(result.LU), axis1=-2, axis2=-1) != 0),
        RuntimeError(
            "torch.linalg.lu_factor: a pivot of U is zero and using it on lu_solve would result in "
            "a division by zero; lu_factor_ex returns its index and does not raise"
        ),
    )
    return result


def _lu_factor_derivative(t: Any, out: Any, _: Any) -> Any:
    LU, pivots = out
    P = _permutation(lu_pivots_to_permutation(pivots - 1, LU.shape[-2]), LU.dtype)
    L, U = _triangles(LU)
    _, dL, dU = _lu_derivative(t, (P, L, U), None)
    k = L.shape[-1]
    square = dL[..., :k, :] + dU[..., :k]  # in each entry one of the terms is 0 or NaN
    tall = L.shape[-2] > k
    rest = dL[..., k:, :] if tall else dU[..., k:]
    return jnp.concatenate([square, rest], -2 if tall else -1), None


@derivative(_lu_factor_derivative)
def _lu_factor(x: Array) -> tuple[Array, Array]:
    LU, pivots, _ = jax.lax.linalg.lu(x)
    return LU, pivots + 1


def _pivoted(name: str, A: Array, pivot: bool) -> Array:
    A = matrix(name, A)
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented; leave pivot=True")
    return A


def lu_solve(
    LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False
) -> Array:
    """Solve `A @ X = B` or `X @ A = B` given the result of `lu_factor(A)`.

    Args:
        LU: `(*, n, n)`.
        pivots: `(*, n)`, int32 and 1-based.
        B: `(*, n, k)`; with `left=False` `(*, k, n)`.
        left: Whether A is to the left of X.
        adjoint: Whether to replace A by its conjugate transpose.

    Raises:
        RuntimeError: `LU` is not square, the pivots are not int32, or the shapes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu_solve(*lu_factor(jnp.eye(2) * 2), jnp.ones((2, 1))))
        [[0.5]
         [0.5]]

    Torch: `torch.linalg.lu_solve`. `jax.scipy.linalg.lu_solve` counts pivots from 0.
    """
    require_same_dtype("linalg.lu_solve", LU=LU, B=B)
    LU, B, pivots = square("linalg.lu_solve", LU), array(B, "B"), array(pivots, "pivots")
    n = LU.shape[-1]
    if pivots.dtype != jnp.int32:
        raise RuntimeError(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32, but they are "
            f"{pivots.dtype}; pass what lu_factor returns"
        )
    if pivots.shape[-1] != n:
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            f"matrix, but they are {pivots.shape[-1]} and {n}"
        )
    if B.ndim < 2 or B.shape[-2 if left else -1] != n:
        raise RuntimeError(
            "linalg.lu_solve: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'}: {list(LU.shape)} and {list(B.shape)}"
        )
    rows = lu_pivots_to_permutation(pivots - 1, n)

    def solution(LU: Array, B: Array) -> Array:
        if left:
            return _solve_packed(LU, rows, B, adjoint)
        return conj_transpose(_solve_packed(LU, rows, conj_transpose(B), not adjoint))

    return in_opmath(solution, *promoted(LU, B))


def _solve_packed(LU: Array, rows: Array, B: Array, adjoint: bool) -> Array:
    LU, B = broadcast_batches(LU, B)
    rows = jnp.broadcast_to(rows, (*LU.shape[:-2], rows.shape[-1]))
    return _solve_permuted(LU, B, rows, adjoint=adjoint)


def _packed_derivative(t: Any, X: Any, LU: Any, _: Any, rows: Any, *, adjoint: bool) -> Any:
    # The products are in torch's order, so that NaN and infinities spread as they do in torch.
    L, U = _triangles(LU)
    dL, dU = jnp.tril(t, -1), jnp.triu(t)
    if not adjoint:
        inner = jnp.matmul(_left_solve(L, dL), U) + dU
        return -jnp.matmul(triangular_solve(U, inner, left_side=True, lower=False), X)
    transposed = jnp.swapaxes(_permutation(rows, LU.dtype), -1, -2)
    inner = dL + jnp.matmul(L, _right_solve(U, dU))
    inner = triangular_solve(L, inner, left_side=False, lower=True, unit_diagonal=True)
    return -jnp.matmul(conj_transpose(jnp.matmul(inner, transposed)), jnp.matmul(transposed, X))


def _right_side_derivative(t: Any, _: Any, LU: Any, __: Any, rows: Any, *, adjoint: bool) -> Any:
    return _solve_permuted(LU, t, rows, adjoint=adjoint)


@derivative(_packed_derivative, _right_side_derivative, None)
def _solve_permuted(LU: Array, B: Array, rows: Array, *, adjoint: bool) -> Array:
    def triangle(B: Array, lower: bool) -> Array:
        return triangular_solve(
            LU, B, left_side=True, lower=lower, unit_diagonal=lower,
            transpose_a=adjoint, conjugate_a=adjoint,
        )  # fmt: skip

    rows = rows[..., None]
    if adjoint:
        inverse = jnp.argsort(rows, -2)
        return jnp.take_along_axis(triangle(triangle(B, False), True), inverse, -2)
    return triangle(triangle(jnp.take_along_axis(B, rows, -2), True), False)
