"""Systems of linear equations: torch's layouts of the right-hand side, and its errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative, is_zero
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg._matrices import require_regular, broadcast_batches, matrix, square
from jaxgrad.functional.linalg.inv_pinv import matrix_rank, pinv


class LstsqResult(NamedTuple):
    """What `lstsq` returns."""

    solution: Array
    residuals: Array
    rank: Array
    singular_values: Array


def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """The X of `A @ X = B`, or of `X @ A = B`.

    Args:
        A: `(*, n, n)`.
        B: `(*, n)` or `(*, n, k)`; for the right side `(*, k, n)`.
        left: Which side A is on.

    Raises:
        RuntimeError: A is not square or singular (not under `jit`), or the shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(solve(jnp.eye(2) * 2, jnp.ones(2)))
        [0.5 0.5]

    Torch: `torch.linalg.solve`.

    Differs from jax in:
        1. A singular matrix is an error (`jnp.linalg.solve`: NaN and inf).
    """
    require_same_dtype("linalg.solve", A=A, B=B)
    found = _solve("linalg.solve", A, B, left)
    require_regular("torch.linalg.solve: The solver failed", jnp.asarray(A), found)
    return found


def _solve(name: str, A: Array, B: Array, left: bool) -> Array:
    A, B = square(name, A), array(B, "B")
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    rows = B.shape[-1] if vector or not left else B.shape[-2]
    if rows != A.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'}: {list(A.shape)} and {list(B.shape)}"
        )

    def solution(a: Array, b: Array) -> Array:
        b = b[..., None] if vector else b
        if not left and not vector:
            a, b = jnp.swapaxes(a, -1, -2), jnp.swapaxes(b, -1, -2)
        x = jnp.linalg.solve(*broadcast_batches(a, b))
        if vector:
            return x[..., 0]
        return x if left else jnp.swapaxes(x, -1, -2)

    return in_opmath(solution, A, B)


def solve_triangular(
    A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """The X of `A @ X = B`, or of `X @ A = B`, for triangular A; the other triangle is not read.

    Raises:
        RuntimeError: A is not square, or the shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(solve_triangular(jnp.eye(2) * 2, jnp.ones((2, 1)), upper=True))
        [[0.5]
         [0.5]]

    Torch: `torch.linalg.solve_triangular`.
    """
    A, B = square("linalg.solve_triangular", A), matrix("linalg.solve_triangular", B)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'}: {list(A.shape)} and {list(B.shape)}"
        )

    def solution(a: Array, b: Array) -> Array:
        return _triangular(broadcast_batches(a, b), upper=upper, left=left, unit=unitriangular)

    return in_opmath(solution, A, B)


def _triangular_derivative(
    t: Any, X: Any, system: Any, *, upper: bool, left: bool, unit: bool
) -> Array:
    # One solution for both tangents, after torch's products: what is not finite spreads as there.
    (by_a, by_b), (a, _) = t, system
    if not is_zero(by_a):
        moved = jnp.triu(by_a, int(unit)) if upper else jnp.tril(by_a, -int(unit))
        moved = jnp.matmul(moved, X) if left else jnp.matmul(X, moved)
        by_b = -moved if is_zero(by_b) else by_b - moved
    return _triangular((a, by_b), upper=upper, left=left, unit=unit)


@derivative(_triangular_derivative)
def _triangular(system: tuple[Array, Array], *, upper: bool, left: bool, unit: bool) -> Array:
    return jax.lax.linalg.triangular_solve(
        *system, left_side=left, lower=not upper, unit_diagonal=unit
    )


def lstsq(A: Array, B: Array, rcond: float | None = None) -> LstsqResult:
    """The X with the least `|A @ X - B|`, of several the smallest; the rest has no gradient.

    Args:
        A: `(*, m, n)`.
        B: `(*, m, k)`.
        rcond: Singular values that are not above it, times the largest, are 0.

    Raises:
        RuntimeError: The shapes do not fit.

    Returns:
        `(solution, residuals, rank, singular_values)`; residuals and singular values are empty, as
        torch's default driver leaves them.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lstsq(jnp.ones((2, 1)), jnp.array([[1.0], [3.0]])).solution.round(4))
        [[2.]]

    Torch: `torch.linalg.lstsq`.
    """
    require_same_dtype("linalg.lstsq", A=A, B=B)
    A, B = matrix("linalg.lstsq", A), matrix("linalg.lstsq", B)
    m, n = A.shape[-2:]
    if B.shape[-2] != m:
        raise RuntimeError(
            "torch.linalg.lstsq: input.size(-2) should match other.size(-2): they are "
            f"{m} and {B.shape[-2]}"
        )
    rtol = max(m, n) * float(jnp.finfo(A.dtype).eps) if rcond is None else rcond
    # LAPACK divides by the largest number of B.
    scaled = jnp.where(jnp.any(jnp.isinf(B), (-2, -1), keepdims=True), jnp.nan, 0)
    solution = jnp.matmul(pinv(A, rtol=rtol), B) + scaled.astype(B.dtype)
    none = jnp.zeros((0,), solution.real.dtype)
    return LstsqResult(solution, none, matrix_rank(A, rtol=rtol), none)
