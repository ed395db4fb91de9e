"""Linear systems whose matrix is a tensor with its dims split into rows and columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dims
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg.inv_pinv_rank import inv
from jaxgrad.functional.linalg.solve_lstsq import solve


def tensorsolve(A: Array, B: Array, dims: Sequence[int] | None = None) -> Array:
    """Solve `tensordot(A, X, X.ndim) = B` for X.

    Args:
        A: Has B's shape followed by X's; X has as many elements as B.
        B: Any shape.
        dims: Dims of A to move to its end before solving.

    Raises:
        RuntimeError: The shapes do not match, or (outside `jit`) the matrix is singular.

    Example:
        >>> import jax.numpy as jnp
        >>> print(tensorsolve(2 * jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2))))
        [0.5 0.5 0.5 0.5]

    Torch: `torch.linalg.tensorsolve`.
    """
    require_same_dtype("linalg.tensorsolve", A=A, B=B)
    A, B = array(A, "A"), array(B, "B")
    if dims is not None:
        columns = canonical_dims(dims, A.ndim, empty_is_all=False)
        A = jnp.moveaxis(A, columns, range(A.ndim - len(columns), A.ndim))
    shape = A.shape[B.ndim :]
    _check(A, B.ndim, B.size, "other.ndim")
    return solve(A.reshape(B.size, math.prod(shape)), B.ravel()).reshape(shape)


def tensorinv(A: Array, ind: int = 2) -> Array:
    """Return the inverse of the linear map `X -> tensordot(A, X, X.ndim)`.

    Args:
        A: Has as many elements in its first `ind` dims as in the others.
        ind: Number of leading dims that form the rows.

    Raises:
        RuntimeError: The matrix is not square or (outside `jit`) singular, or `ind` is below 1.

    Example:
        >>> import jax.numpy as jnp
        >>> print(tensorinv(2 * jnp.eye(4).reshape(2, 2, 4)).shape)
        (4, 2, 2)

    Torch: `torch.linalg.tensorinv`.
    """
    A = array(A, "A")
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows = math.prod(A.shape[:ind])
    _check(A, ind, rows, "ind")
    return inv(A.reshape(rows, rows)).reshape(A.shape[ind:] + A.shape[:ind])


def _check(A: Array, split: int, rows: int, name: str) -> None:
    columns = math.prod(A.shape[split:])
    if math.prod(A.shape[:split]) != rows or rows != columns:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[{name}:]) == "
            f"prod(self.shape[:{name}]), but got {columns} != {rows}; self has shape "
            f"{list(A.shape)}"
        )
