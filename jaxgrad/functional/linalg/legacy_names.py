"""Linear algebra under torch's older names, such as `torch.svd`, with the old argument order."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST, REMOVED_QR
from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg import dot_outer_cross as vector_products
from jaxgrad.functional.linalg._matrices import matrix
from jaxgrad.functional.linalg.inv_pinv_rank import pinv as _pinv
from jaxgrad.functional.linalg.lu import LUResult, _permutation, _triangles
from jaxgrad.functional.linalg.lu import lu_solve as _lu_solve
from jaxgrad.functional.linalg.matmul_einsum import multi_dot as _multi_dot
from jaxgrad.functional.linalg.qr_svd import QRResult
from jaxgrad.functional.linalg.qr_svd import qr as _qr
from jaxgrad.functional.linalg.qr_svd import svd as _svd
from jaxgrad.functional.linalg.qr_svd import svdvals as _svdvals
from jaxgrad.functional.linalg.solve_lstsq import solve_triangular as _solve_triangular


class SVD(NamedTuple):
    """The result of `svd`, with V rather than its conjugate transpose."""

    U: Array
    S: Array
    V: Array


class TriangularSolve(NamedTuple):
    """The result of `triangular_solve`."""

    solution: Array
    cloned_coefficient: Array


def svd(input: Array, some: bool = True, compute_uv: bool = True) -> SVD:
    """Return the singular value decomposition with V rather than the `V.mH` of `linalg.svd`.

    Args:
        input: `(*, m, n)`.
        some: Whether to return only the first `min(m, n)` columns of U and V.
        compute_uv: Whether to compute U and V; if False they are zeros.

    Example:
        >>> import jax.numpy as jnp
        >>> print(svd(jnp.diag(jnp.array([2.0, 3.0]))).S)
        [3. 2.]

    Torch: `torch.svd`.
    """
    x = matrix("linalg.svd", input)
    if not compute_uv:
        U, V = (jnp.zeros((*x.shape[:-2], n, n), x.dtype) for n in x.shape[-2:])
        return SVD(U, _svdvals(x), V)
    U, S, Vh = _svd(x, full_matrices=not some)
    return SVD(U, S, jnp.conj(jnp.swapaxes(Vh, -1, -2)))


def qr(input: Array, some: bool = True, *, torch: str = NEWEST) -> QRResult:
    """Return the QR decomposition, as torch did before 2.14 removed `torch.qr`.

    Args:
        input: `(*, m, n)`.
        some: Whether to reduce Q to `min(m, n)` columns.
        torch: Version that is followed, one before 2.14.

    Raises:
        RuntimeError: torch has no `qr` since 2.14, or the result is differentiated with
            `some=False` and `m > n`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.abs(qr(jnp.array([[3.0], [4.0]]), torch="2.13").R).round(4))
        [[5.]]

    Torch: `torch.qr`, removed in torch 2.14.
    """
    if REMOVED_QR.holds(torch):
        mode = "reduced" if some else "complete"
        raise RuntimeError(
            f"torch.qr was removed in torch {REMOVED_QR.since}; use linalg.qr(A, {mode!r}), or "
            "functional.at('2.13').qr for a port of older code"
        )
    return _qr(input, "reduced" if some else "complete")


def lu_solve(b: Array, LU_data: Array, LU_pivots: Array) -> Array:
    """Solve `A @ X = b` given the packed LU factors of A.

    Raises:
        RuntimeError: The shapes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu_solve(jnp.ones((2, 1)), jnp.eye(2) * 2, jnp.array([1, 2], "i4")).ravel())
        [0.5 0.5]

    Torch: `torch.lu_solve`.
    """
    return _lu_solve(LU_data, LU_pivots, b)


def lu_unpack(
    LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> LUResult:
    """Unpack the result of `linalg.lu_factor` into P, L and U.

    Args:
        LU_data: `(*, m, n)`.
        LU_pivots: `(*, min(m, n))`, counted from 1.
        unpack_data: Whether to compute L and U; if False they are empty.
        unpack_pivots: Whether to compute P; if False it is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lu_unpack(jnp.array([[2.0, 3.0], [0.5, 4.0]]), jnp.array([2, 2])).L)
        [[1.  0. ]
         [0.5 1. ]]

    Torch: `torch.lu_unpack`.
    """
    x, pivots = array(LU_data, "LU_data"), array(LU_pivots, "LU_pivots")
    P = L = U = jnp.zeros(0, x.dtype)
    if unpack_data:
        L, U = _triangles(x)
    if unpack_pivots:
        swaps = pivots.astype(jnp.int32) - 1
        rows = jax.lax.linalg.lu_pivots_to_permutation(swaps, x.shape[-2])
        P = _permutation(rows, x.dtype)
    return LUResult(P, L, U)


def triangular_solve(
    b: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolve:
    """Solve `A @ X = b` for triangular A; return X and A.

    Args:
        b: `(*, n, k)`.
        A: `(*, n, n)`.
        upper: Whether A is upper-triangular; the other triangle is not read.
        transpose: Whether to solve `A.T @ X = b` instead.
        unitriangular: Whether to take the diagonal as ones without reading it.

    Raises:
        RuntimeError: `A` is not square, or the shapes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(triangular_solve(jnp.ones((2, 1)), jnp.eye(2) * 2).solution.ravel())
        [0.5 0.5]

    Torch: `torch.triangular_solve`.
    """
    require_same_dtype("triangular_solve", b=b, A=A)
    A = array(A, "A")
    system, upper = (jnp.swapaxes(A, -1, -2), not upper) if transpose else (A, upper)
    x = _solve_triangular(system, b, upper=upper, unitriangular=unitriangular)
    return TriangularSolve(x, A)


def pinverse(input: Array, rcond: float = 1e-15) -> Array:
    """Return the pseudo-inverse, as `linalg.pinv` with a default relative cutoff of 1e-15.

    Raises:
        RuntimeError: The input has fewer than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(pinverse(jnp.array([[2.0], [0.0]])).round(4))
        [[0.5 0. ]]

    Torch: `torch.pinverse`.
    """
    return _pinv(input, rcond)


def chain_matmul(*matrices: Array) -> Array:
    """Multiply several matrices in the cheapest order.

    Raises:
        RuntimeError: No matrix is passed.

    Example:
        >>> import jax.numpy as jnp
        >>> print(chain_matmul(jnp.ones((2, 3)), jnp.ones((3, 1))).ravel())
        [3. 3.]

    Torch: `torch.chain_matmul`.
    """
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    return array(matrices[0]) if len(matrices) == 1 else _multi_dot(matrices)


def cross(input: Array, other: Array, dim: int | None = None) -> Array:
    """Return the cross product along a dim of size 3, by default the first such dim.

    Raises:
        RuntimeError: No dim has size 3.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cross(jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0])))
        [0. 0. 1.]

    Torch: `torch.cross`.
    """
    input = array(input)
    if dim is None:
        if 3 not in input.shape:
            raise RuntimeError(f"no dimension of size 3 in input: {list(input.shape)}")
        dim = input.shape.index(3)
    return vector_products.cross(input, other, dim=dim)
