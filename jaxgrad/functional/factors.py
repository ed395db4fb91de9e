"""Matrices in factors: LU with the exchanges of rows, and products of Householder's reflections."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ._arguments import array, in_opmath, promoted
from ._matrices import matrix, square


Array = jax.Array


class LUResult(NamedTuple):
    """What `lu` returns."""

    P: Array
    L: Array
    U: Array


class LUFactorResult(NamedTuple):
    """What `lu_factor` returns."""

    LU: Array
    pivots: Array


def lu(A: Array, *, pivot: bool = True) -> LUResult:
    """A permutation P, a lower triangular L with ones and an upper U with `P @ L @ U = A`.

    Args:
        A: `(*, m, n)`.
        pivot: False is for GPUs alone, as in torch.

    Raises:
        RuntimeError: There are less than two dims, or `pivot=False`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu(jnp.array([[0.0, 2.0], [3.0, 4.0]])).U)
        [[3. 4.]
         [0. 2.]]

    Torch: `torch.linalg.lu`. `jax.scipy.linalg.lu` is the same.
    """

    def decomposed(x: Array) -> tuple[Array, Array, Array]:
        LU, _, rows = jax.lax.linalg.lu(x)
        return _permutation(rows, x.dtype), *_triangles(LU)

    return LUResult(*in_opmath(decomposed, _pivoted("linalg.lu", A, pivot)))


def _triangles(LU: Array) -> tuple[Array, Array]:
    """L, with its diagonal of ones, and U from the one matrix that holds both."""
    m, k = LU.shape[-2], min(LU.shape[-2:])
    L = jnp.tril(LU[..., :k], -1) + jnp.eye(m, k, dtype=LU.dtype)
    return L, jnp.triu(LU[..., :k, :])


def _permutation(rows: Array, dtype: Any) -> Array:
    """The matrix P of `A = P @ L @ U`."""
    return jnp.swapaxes(jax.nn.one_hot(rows, rows.shape[-1], dtype=dtype), -1, -2)


def lu_factor(A: Array, *, pivot: bool = True) -> LUFactorResult:
    """L and U in one matrix, L without its diagonal of ones, and the rows' exchanges from 1.

    Args:
        A: `(*, m, n)`.
        pivot: False is for GPUs alone, as in torch.

    Raises:
        RuntimeError: There are less than two dims, or `pivot=False`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu_factor(jnp.array([[0.0, 2.0], [3.0, 4.0]])).pivots)
        [2 2]

    Torch: `torch.linalg.lu_factor`.
    """

    def decomposed(x: Array) -> tuple[Array, Array]:
        LU, pivots, _ = jax.lax.linalg.lu(x)
        return LU, pivots + 1

    return LUFactorResult(*in_opmath(decomposed, _pivoted("linalg.lu_factor", A, pivot)))


def _pivoted(name: str, A: Array, pivot: bool) -> Array:
    A = matrix(name, A)
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented; leave pivot=True")
    return A


def lu_solve(
    LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False
) -> Array:
    """The X of `A @ X = B`, or of `X @ A = B`, from what `lu_factor` has of A.

    Args:
        LU: `(*, n, n)`.
        pivots: `(*, n)`, int32, from 1.
        B: `(*, n, k)`; for the right side `(*, k, n)`.
        left: Which side A is on.
        adjoint: The conjugate transpose of A in its place.

    Raises:
        RuntimeError: LU is not square, the pivots are no int32, or the shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu_solve(*lu_factor(jnp.eye(2) * 2), jnp.ones((2, 1))))
        [[0.5]
         [0.5]]

    Torch: `torch.linalg.lu_solve`. `jax.scipy.linalg.lu_solve` counts pivots from 0.
    """
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
    rows = jax.lax.linalg.lu_pivots_to_permutation(pivots - 1, n)

    def solution(LU: Array, B: Array) -> Array:
        if left:
            return _lu_solved(LU, rows, B, adjoint)
        return _adjoint(_lu_solved(LU, rows, _adjoint(B), not adjoint))

    return in_opmath(solution, *promoted(LU, B))


def _lu_solved(LU: Array, rows: Array, B: Array, adjoint: bool) -> Array:
    batch = jnp.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
    LU, B = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (LU, B))
    rows = jnp.broadcast_to(rows, (*batch, rows.shape[-1]))[..., None]

    def triangle(B: Array, lower: bool) -> Array:
        return jax.lax.linalg.triangular_solve(
            LU, B, left_side=True, lower=lower, unit_diagonal=lower,
            transpose_a=adjoint, conjugate_a=adjoint,
        )  # fmt: skip

    if adjoint:
        inverse = jnp.argsort(rows, -2)
        return jnp.take_along_axis(triangle(triangle(B, False), True), inverse, -2)
    return triangle(triangle(jnp.take_along_axis(B, rows, -2), True), False)


def householder_product(A: Array, tau: Array) -> Array:
    """The first columns of a product of reflections `1 - tau v v.mH`, as LAPACK stores them.

    Args:
        A: `(*, m, n)`, each v below the diagonal: 1 is above it.
        tau: `(*, k)`.

    Returns:
        `(*, m, n)`.

    Raises:
        RuntimeError: There are more columns than rows or more reflections than columns, or the
            dims do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(householder_product(jnp.array([[0.0], [1.0]]), jnp.array([1.0])))
        [[ 0.]
         [-1.]]

    Torch: `torch.linalg.householder_product`.

    Differs from jax in:
        1. It has a gradient (`jax.lax.linalg.householder_product`: NotImplementedError).
    """
    A, tau = array(A), array(tau, "tau")
    name = "torch.linalg.householder_product"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions, it has {A.ndim}.")
    (m, n), k = A.shape[-2:], tau.shape[-1] if tau.ndim else 0
    for larger, smaller, names in ((m, n, ("input.shape[-2]", "input.shape[-1]")),
                                   (n, k, ("input.shape[-1]", "tau.shape[-1]"))):  # fmt: skip
        if larger < smaller:
            raise RuntimeError(
                f"{name}: {names[0]} must be greater than or equal to {names[1]}, but they are "
                f"{larger} and {smaller}"
            )
    if A.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, and its batch, but "
            f"their shapes are {list(tau.shape)} and {list(A.shape)}"
        )

    def product(A: Array, tau: Array) -> Array:
        vectors = jnp.tril(A, -1) + jnp.eye(m, n, dtype=A.dtype)
        Q = jnp.broadcast_to(jnp.eye(m, n, dtype=A.dtype), A.shape)
        for i in reversed(range(k)):
            v = vectors[..., i : i + 1]
            Q = Q - tau[..., i, None, None] * jnp.matmul(v, jnp.matmul(_adjoint(v), Q))
        return Q

    return in_opmath(product, A, tau)


def _adjoint(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))
