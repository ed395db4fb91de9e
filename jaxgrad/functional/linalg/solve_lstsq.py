"""Linear systems, with torch's errors and its layouts of the right-hand side."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.compat import is_traced
from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative, is_zero
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg._matrices import broadcast_batches, matrix, require_regular, square
from jaxgrad.functional.linalg.inv_pinv_rank import matrix_rank, pinv
from jaxgrad.functional.linalg.qr_svd import svdvals


class LstsqResult(NamedTuple):
    """The result of `lstsq`."""

    solution: Array
    residuals: Array
    rank: Array
    singular_values: Array


def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """Solve `A @ X = B`, or with `left=False` `X @ A = B`, for X.

    Args:
        A: `(*, n, n)`.
        B: `(*, n)` or `(*, n, k)`; with `left=False` `(*, k, n)`.
        left: Whether A is to the left of X.

    Raises:
        RuntimeError: `A` is not square or (outside `jit`) singular, or the shapes do not match.

    Example:
        >>> import jax.numpy as jnp
        >>> print(solve(jnp.eye(2) * 2, jnp.ones(2)))
        [0.5 0.5]

    Torch: `torch.linalg.solve`.

    Differs from jax in:
        1. A singular matrix raises an error (`jnp.linalg.solve`: NaN and inf).
    """
    require_same_dtype("linalg.solve", A=A, B=B)
    X = _solve("linalg.solve", A, B, left)
    require_regular("torch.linalg.solve: The solver failed", jnp.asarray(A), X)
    return X


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
    """Solve `A @ X = B` or `X @ A = B` for a triangular A; the other triangle is not read.

    Raises:
        RuntimeError: `A` is not square, or the shapes are incompatible.

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
    # Both tangents are combined before a single solve, so that NaN spreads as it does in torch.
    (dA, dB), (A, _) = t, system
    if not is_zero(dA):
        dA = jnp.triu(dA, int(unit)) if upper else jnp.tril(dA, -int(unit))
        product = jnp.matmul(dA, X) if left else jnp.matmul(X, dA)
        dB = -product if is_zero(dB) else dB - product
    return _triangular((A, dB), upper=upper, left=left, unit=unit)


@derivative(_triangular_derivative)
def _triangular(system: tuple[Array, Array], *, upper: bool, left: bool, unit: bool) -> Array:
    return jax.lax.linalg.triangular_solve(
        *system, left_side=left, lower=not upper, unit_diagonal=unit
    )


def lstsq(
    A: Array, B: Array, rcond: float | None = None, *, driver: str | None = None
) -> LstsqResult:
    """Return the minimum-norm X that minimizes `|A @ X - B|`, with the results of torch's driver.

    Args:
        A: `(*, m, n)`.
        B: `(*, m, k)`, or `(*, m)` for one right-hand side.
        rcond: Cutoff relative to the largest singular value, at or below which values count as 0.
        driver: The results besides X that are not empty: `"gelsy"` (or None): the rank; `"gelsd"`
            and `"gelss"`: the rank, the singular values and the residuals; `"gels"`: the residuals.
            X is the same for all; torch's `"gels"` requires that A has full rank.

    Returns:
        `(solution, residuals, rank, singular_values)`. The residuals are the squared norms of the
        columns of `A @ X - B`. They too are empty if A has no more rows than columns or (checked
        only outside `jit`) not full rank. Rank and singular values have no gradient.

    Raises:
        RuntimeError: The shapes are incompatible, the dtypes differ, or the driver is unknown.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lstsq(jnp.ones((2, 1)), jnp.array([[1.0], [3.0]])).solution.round(4))
        [[2.]]

    Torch: `torch.linalg.lstsq`.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), "
            f"not {driver!r}"
        )
    require_same_dtype("linalg.lstsq", A=A, B=B)
    A, B = matrix("linalg.lstsq", A), array(B, "B")
    if B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]:
        solution, *others = lstsq(A, B[..., None], rcond, driver=driver)
        return LstsqResult(solution[..., 0], *others)
    B = matrix("linalg.lstsq", B)
    m, n = A.shape[-2:]
    if B.shape[-2] != m:
        raise RuntimeError(
            "torch.linalg.lstsq: input.size(-2) should match other.size(-2): they are "
            f"{m} and {B.shape[-2]}"
        )
    rtol = max(m, n) * float(jnp.finfo(A.dtype).eps) if rcond is None else rcond
    # LAPACK scales by the largest value of B, so an infinity makes the whole solution NaN.
    poison = jnp.where(jnp.any(jnp.isinf(B), (-2, -1), keepdims=True), jnp.nan, 0)
    solution = jnp.matmul(pinv(A, rtol=rtol), B) + poison.astype(B.dtype)
    residuals = values = jnp.zeros((0,), solution.real.dtype)
    rank = jnp.zeros((0,), int) if driver == "gels" else matrix_rank(A, rtol=rtol)
    if driver in ("gelsd", "gelss"):
        values = jax.lax.stop_gradient(svdvals(A))
    full_rank = is_traced(rank) or bool(jnp.all(rank == n))
    if driver in ("gels", "gelsd", "gelss") and m > n and full_rank:
        error = jnp.matmul(A, solution) - B
        residuals = jnp.sum(jnp.real(error * jnp.conj(error)), -2)
    return LstsqResult(solution, residuals, rank, values)
