"""Linear algebra under torch's older names, with their own order of arguments."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg import vector_products
from jaxgrad.functional.linalg._matrices import matrix
from jaxgrad.functional.linalg.inv_pinv import pinv as _pinv
from jaxgrad.functional.linalg.lu import LUResult, _permutation, _triangles
from jaxgrad.functional.linalg.lu import lu_solve as _lu_solve
from jaxgrad.functional.linalg.matmul import multi_dot as _multi_dot
from jaxgrad.functional.linalg.qr_svd import QRResult
from jaxgrad.functional.linalg.qr_svd import qr as _qr
from jaxgrad.functional.linalg.qr_svd import svd as _svd
from jaxgrad.functional.linalg.qr_svd import svdvals as _svdvals
from jaxgrad.functional.linalg.solve import solve_triangular as _solve_triangular


class SVD(NamedTuple):
    """What `svd` returns: V and not its adjoint."""

    U: Array
    S: Array
    V: Array


class TriangularSolve(NamedTuple):
    """What `triangular_solve` returns."""

    solution: Array
    cloned_coefficient: Array


def svd(input: Array, some: bool = True, compute_uv: bool = True) -> SVD:
    """Singular values, and V where `linalg.svd` has its adjoint.

    Args:
        input: `(*, m, n)`.
        some: U and V without the columns that no singular value has.
        compute_uv: False: zeros for U and V.

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


def qr(input: Array, some: bool = True) -> QRResult:
    """`linalg.qr`, reduced or complete.

    Args:
        input: `(*, m, n)`.
        some: Reduced.

    Raises:
        RuntimeError: It is differentiated where torch does not.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.abs(qr(jnp.array([[3.0], [4.0]])).R).round(4))
        [[5.]]

    Torch: `torch.qr`.
    """
    return _qr(input, "reduced" if some else "complete")


def lu_solve(b: Array, LU_data: Array, LU_pivots: Array) -> Array:
    """The X of `A @ X = b` from the factors of A.

    Raises:
        RuntimeError: The shapes do not fit.

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
    """P, L and U of what `linalg.lu_factor` returns.

    Args:
        LU_data: `(*, m, n)`.
        LU_pivots: `(*, min(m, n))`, counted from 1.
        unpack_data: False: L and U are empty.
        unpack_pivots: False: P is empty.

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
    """The X of `A @ X = b` for triangular A, and A.

    Args:
        b: `(*, n, k)`.
        A: `(*, n, n)`.
        upper: Which triangle is read.
        transpose: Of `A.T @ X = b`.
        unitriangular: The diagonal is ones.

    Raises:
        RuntimeError: A is not square, or the shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(triangular_solve(jnp.ones((2, 1)), jnp.eye(2) * 2).solution.ravel())
        [0.5 0.5]

    Torch: `torch.triangular_solve`.
    """
    require_same_dtype("triangular_solve", b=b, A=A)
    A = array(A, "A")
    turned, upper = (jnp.swapaxes(A, -1, -2), not upper) if transpose else (A, upper)
    x = _solve_triangular(turned, b, upper=upper, unitriangular=unitriangular)
    return TriangularSolve(x, A)


def pinverse(input: Array, rcond: float = 1e-15) -> Array:
    """`linalg.pinv`, with a bound on singular values of its own.

    Raises:
        RuntimeError: There are less than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(pinverse(jnp.array([[2.0], [0.0]])).round(4))
        [[0.5 0. ]]

    Torch: `torch.pinverse`.
    """
    return _pinv(input, rcond)


def chain_matmul(*matrices: Array) -> Array:
    """The product of matrices, in the order that costs least.

    Raises:
        RuntimeError: There are none.

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
    """The cross product along a dim of 3, without one along the first.

    Raises:
        RuntimeError: There is no dim of 3.

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
