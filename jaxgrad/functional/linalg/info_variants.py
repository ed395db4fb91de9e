"""Factors and inverses that say where they failed and do not raise: the `_ex` of torch.linalg."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg._matrices import conj_transpose, square
from jaxgrad.functional.linalg.cholesky import _cholesky
from jaxgrad.functional.linalg.inv_pinv import _inv
from jaxgrad.functional.linalg.lu import _lu_factor, _pivoted
from jaxgrad.functional.linalg.solve import _solve


class InvExResult(NamedTuple):
    """What `inv_ex` returns."""

    inverse: Array
    info: Array


class SolveExResult(NamedTuple):
    """What `solve_ex` returns."""

    result: Array
    info: Array


class CholeskyExResult(NamedTuple):
    """What `cholesky_ex` returns."""

    L: Array
    info: Array


class LUFactorExResult(NamedTuple):
    """What `lu_factor_ex` returns."""

    LU: Array
    pivots: Array
    info: Array


def inv_ex(A: Array, *, check_errors: bool = False) -> InvExResult:
    """The inverse of square matrices, and which pivot was 0: counted from 1, 0 for none.

    Args:
        A: `(*, n, n)`. Where it is singular the inverse means nothing.
        check_errors: Raise there (not under `jit`).

    Raises:
        RuntimeError: They are not square; with `check_errors` one is singular.

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
    """The X of `A @ X = B`, or of `X @ A = B`, and which pivot was 0: from 1, 0 for none.

    Args:
        A: `(*, n, n)`. Where it is singular the solution means nothing.
        B: `(*, n)` or `(*, n, k)`; for the right side `(*, k, n)`.
        left: Which side A is on.
        check_errors: Raise there (not under `jit`).

    Raises:
        RuntimeError: A is not square, the shapes do not fit; with `check_errors` one is singular.

    Example:
        >>> import jax.numpy as jnp
        >>> print(solve_ex(jnp.eye(2) * 2, jnp.ones(2)).result)
        [0.5 0.5]

    Torch: `torch.linalg.solve_ex`.
    """
    require_same_dtype("linalg.solve_ex", A=A, B=B)
    found = _solve("linalg.solve_ex", A, B, left)
    info = _zero_pivot(square("linalg.solve_ex", A))
    _check("torch.linalg.solve_ex: The solver failed", info, check_errors)
    return SolveExResult(found, info)


def cholesky_ex(A: Array, *, upper: bool = False, check_errors: bool = False) -> CholeskyExResult:
    """The triangular L with `L @ L.mH = A`, and the first leading minor that is not positive.

    Args:
        A: `(*, n, n)`. Where it is not positive-definite L is NaN.
        upper: The conjugate transpose of L, from the upper triangle.
        check_errors: Raise there (not under `jit`).

    Raises:
        RuntimeError: A is not square; with `check_errors` one is not positive-definite.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky_ex(jnp.diag(jnp.array([1.0, -1.0]))).info)
        2

    Torch: `torch.linalg.cholesky_ex`, whose L is the part before that minor.
    """
    A = square("linalg.cholesky_ex", A)
    A = conj_transpose(A) if upper else A
    found = in_opmath(_cholesky, A)
    info = in_opmath(_not_positive, jax.lax.stop_gradient(A))
    _check(
        "linalg.cholesky_ex: The factorization could not be completed because the input is not "
        "positive-definite",
        info,
        check_errors,
    )
    return CholeskyExResult(conj_transpose(found) if upper else found, info)


def lu_factor_ex(A: Array, *, pivot: bool = True, check_errors: bool = False) -> LUFactorExResult:
    """`lu_factor`, and which pivot was 0: counted from 1, 0 for none.

    Args:
        A: `(*, m, n)`.
        pivot: False is for GPUs alone, as in torch.
        check_errors: Raise where a pivot is 0 (not under `jit`).

    Raises:
        RuntimeError: There are less than two dims, or `pivot=False`; with `check_errors` a pivot
            is 0.

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
    """The first along the last dim, counted from 1; 0 where there is none."""
    if not failed.shape[-1]:
        return jnp.zeros(failed.shape[:-1], jnp.int32)
    at = jnp.argmax(failed, -1).astype(jnp.int32) + 1
    return jnp.where(jnp.any(failed, -1), at, 0)


def _zero_pivot(A: Array) -> Array:
    LU, _ = in_opmath(_lu_factor, jax.lax.stop_gradient(A))
    return _first(jnp.diagonal(LU, axis1=-2, axis2=-1) == 0)


def _not_positive(A: Array) -> Array:
    """Where the elimination meets a pivot that is not positive."""
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
