"""The `_ex` functions of `torch.linalg`: they return a failure code instead of raising."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg._matrices import conj_transpose, square
from jaxgrad.functional.linalg.cholesky import _cholesky
from jaxgrad.functional.linalg.inv_pinv_rank import _inv
from jaxgrad.functional.linalg.lu import _lu_factor, _pivoted
from jaxgrad.functional.linalg.solve_lstsq import _solve


class InvExResult(NamedTuple):
    """The result of `inv_ex`."""

    inverse: Array
    info: Array


class SolveExResult(NamedTuple):
    """The result of `solve_ex`."""

    result: Array
    info: Array


class CholeskyExResult(NamedTuple):
    """The result of `cholesky_ex`."""

    L: Array
    info: Array


class LUFactorExResult(NamedTuple):
    """The result of `lu_factor_ex`."""

    LU: Array
    pivots: Array
    info: Array


def inv_ex(A: Array, *, check_errors: bool = False) -> InvExResult:
    """Invert square matrices; also return the 1-based index of a zero pivot, or 0.

    Args:
        A: `(*, n, n)`. The inverse of a singular matrix is meaningless. Where elimination rounds,
            it depends on the LAPACK whether a singular matrix has a pivot that is exactly zero.
        check_errors: Whether to raise if a matrix fails (not under `jit`).

    Raises:
        RuntimeError: `A` is not square or, with `check_errors`, singular.

    Example:
        >>> import jax.numpy as jnp
        >>> print(inv_ex(jnp.zeros((2, 2))).info)
        1

    Torch: `torch.linalg.inv_ex`.
    """
    A = square("linalg.inv_ex", A)
    info = _zero_pivot(A)
    _check("linalg.inv_ex: The inversion could not be completed", info, check_errors)
    return InvExResult(in_opmath(_inv, A), info)


def solve_ex(A: Array, B: Array, *, left: bool = True, check_errors: bool = False) -> SolveExResult:
    """Solve `A @ X = B` or `X @ A = B`; also return the 1-based index of a zero pivot, or 0.

    Args:
        A: `(*, n, n)`. The solution of a singular system is meaningless. As in `inv_ex`, rounding
            may hide a zero pivot.
        B: `(*, n)` or `(*, n, k)`; with `left=False` `(*, k, n)`.
        left: Whether A is to the left of X.
        check_errors: Whether to raise if a matrix fails (not under `jit`).

    Raises:
        RuntimeError: `A` is not square or (with `check_errors`) singular, or shapes do not match.

    Example:
        >>> import jax.numpy as jnp
        >>> print(solve_ex(jnp.eye(2) * 2, jnp.ones(2)).result)
        [0.5 0.5]

    Torch: `torch.linalg.solve_ex`.
    """
    require_same_dtype("linalg.solve_ex", A=A, B=B)
    solution = _solve("linalg.solve_ex", A, B, left)
    info = _zero_pivot(square("linalg.solve_ex", A))
    _check("torch.linalg.solve_ex: The solver failed", info, check_errors)
    return SolveExResult(solution, info)


def cholesky_ex(A: Array, *, upper: bool = False, check_errors: bool = False) -> CholeskyExResult:
    """Return the Cholesky factor L and the order of the first non-positive leading minor, or 0.

    Args:
        A: `(*, n, n)`. L is NaN if the matrix is not positive-definite.
        upper: Whether to read the upper triangle instead and return the conjugate transpose of L.
        check_errors: Whether to raise if a matrix fails (not under `jit`).

    Raises:
        RuntimeError: `A` is not square or, with `check_errors`, not positive-definite.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky_ex(jnp.diag(jnp.array([1.0, -1.0]))).info)
        2

    Torch: `torch.linalg.cholesky_ex`, whose L holds the factor up to the failing minor.
    """
    A = square("linalg.cholesky_ex", A)
    A = conj_transpose(A) if upper else A
    L = in_opmath(_cholesky, A)
    info = in_opmath(_not_positive, jax.lax.stop_gradient(A))
    _check(
        "linalg.cholesky_ex: The factorization could not be completed because the input is not "
        "positive-definite",
        info,
        check_errors,
    )
    return CholeskyExResult(conj_transpose(L) if upper else L, info)


def lu_factor_ex(A: Array, *, pivot: bool = True, check_errors: bool = False) -> LUFactorExResult:
    """Return the packed LU factors, the row swaps and the 1-based index of a zero pivot, or 0.

    Args:
        A: `(*, m, n)`.
        pivot: Must be True; torch supports False only on GPUs.
        check_errors: Whether to raise if a pivot is 0 (not under `jit`).

    Raises:
        RuntimeError: `A` has fewer than 2 dims, `pivot` is False, or `check_errors` finds a 0 in U.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu_factor_ex(jnp.eye(2)).info)
        0

    Torch: `torch.linalg.lu_factor_ex`.
    """
    LU, pivots = in_opmath(_lu_factor, _pivoted("linalg.lu_factor_ex", A, pivot))
    info = _first(jnp.diagonal(jax.lax.stop_gradient(LU), axis1=-2, axis2=-1) == 0)
    _check("torch.linalg.lu_factor_ex: U is singular", info, check_errors)
    return LUFactorExResult(LU, pivots, info)


def _first(failed: Array) -> Array:
    """Return the 1-based index of the first True along the last dim, or 0 if there is none."""
    if not failed.shape[-1]:
        return jnp.zeros(failed.shape[:-1], jnp.int32)
    at = jnp.argmax(failed, -1).astype(jnp.int32) + 1
    return jnp.where(jnp.any(failed, -1), at, 0)


def _zero_pivot(A: Array) -> Array:
    LU, _ = in_opmath(_lu_factor, jax.lax.stop_gradient(A))
    return _first(jnp.diagonal(LU, axis1=-2, axis2=-1) == 0)


def _not_positive(A: Array) -> Array:
    """Return the 1-based index of the first non-positive pivot in Gaussian elimination, or 0."""
    A = jnp.tril(A) + conj_transpose(jnp.tril(A, -1))

    def eliminate(k: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, pivots = state
        pivot = rest[..., k, k]
        outer = rest[..., :, k, None] * rest[..., k, None, :]
        return rest - outer / pivot[..., None, None], pivots.at[..., k].set(pivot.real)

    n = A.shape[-1]
    pivots = jax.lax.fori_loop(0, n, eliminate, (A, jnp.zeros(A.shape[:-1], A.real.dtype)))[1]
    return _first(~(pivots > 0))


def _check(text: str, info: Array, check_errors: bool) -> None:
    if check_errors:
        require(jnp.all(info == 0), RuntimeError(f"{text} (info={info})"))
