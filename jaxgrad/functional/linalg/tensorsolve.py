"""Systems whose matrix is a tensor with its dims in two groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dims
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.linalg.inv_pinv import inv
from jaxgrad.functional.linalg.solve import solve


def tensorsolve(A: Array, B: Array, dims: Sequence[int] | None = None) -> Array:
    """The X of `tensordot(A, X, X.ndim) = B`.

    Args:
        A: B's shape, then the result's, of as many elements.
        B: Any shape.
        dims: Dims of A that are moved to its end first.

    Raises:
        RuntimeError: The shapes do not fit, or the matrix is singular (not under `jit`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(tensorsolve(2 * jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2))))
        [0.5 0.5 0.5 0.5]

    Torch: `torch.linalg.tensorsolve`.
    """
    require_same_dtype("linalg.tensorsolve", A=A, B=B)
    A, B = array(A, "A"), array(B, "B")
    if dims is not None:
        moved = canonical_dims(dims, A.ndim, empty_is_all=False)
        A = jnp.moveaxis(A, moved, range(A.ndim - len(moved), A.ndim))
    shape = A.shape[B.ndim :]
    _check(A, B.ndim, B.size, "other.ndim")
    return solve(A.reshape(B.size, math.prod(shape)), B.ravel()).reshape(shape)


def tensorinv(A: Array, ind: int = 2) -> Array:
    """The inverse of `X -> tensordot(A, X, X.ndim)`.

    Args:
        A: Of as many elements in the first `ind` dims as in the others.
        ind: How many dims are the rows.

    Raises:
        RuntimeError: The shape does not fit, `ind` is not positive, or the matrix is singular
            (not under `jit`).

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
