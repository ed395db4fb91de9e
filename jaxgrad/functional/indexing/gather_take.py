"""Reading elements at indices, and the index checks that the writing functions share.

An index out of range raises torch's error. Under `jit` JAX's behavior applies instead, unless the
function is transformed by `checkify`.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, require


Positions = tuple[Any, ...]  # an index for each dim, as in `x[positions]` and `x.at[positions]`


def gather(input: Array, dim: int, index: Array) -> Array:
    """Gather elements along a dim: for dim 1, `out[i][j] = input[i][index[i][j]]`.

    Args:
        input: Any shape.
        dim: Dim to index.
        index: Has as many dims as the input; dims other than `dim` must not exceed the input's. An
            empty index may have any shape.

    Raises:
        RuntimeError: An index is negative or out of range, or the shapes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(gather(jnp.array([[1.0, 2.0]]), 1, jnp.array([[1, 1]])))
        [[2. 2.]]

    Torch: `torch.gather`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. An index out of range raises an error (`jnp.take_along_axis`: NaN or clamped).
    """
    input, index = array(input), array(index, "index")
    dim = canonical_dim(dim, input.ndim)
    if not index.size:
        return jnp.zeros(index.shape, input.dtype)
    x, at = jnp.atleast_1d(input), jnp.atleast_1d(index)
    _check_shape("self", x, at, dim)
    _check_range(at, x.shape[dim], RuntimeError, dim)
    return x[_full_index(at, dim)].reshape(index.shape)


def take(input: Array, index: Array) -> Array:
    """Read elements of the flattened input; a negative index counts from the end.

    Raises:
        IndexError: An index is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(take(jnp.array([[1.0, 2.0]]), jnp.array([-1])))
        [2.]

    Torch: `torch.take`.
    """
    input, index = array(input), array(index, "index")
    _check_wrapping_range(index, input.size, IndexError)
    return input.reshape(-1)[index]


def take_along_dim(input: Array, indices: Array, dim: int | None = None) -> Array:
    """Gather elements along a dim, or from the flattened input; input and indices broadcast.

    Raises:
        RuntimeError: An index is out of range, or the inputs differ in number of dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(take_along_dim(jnp.array([[3.0, 1.0]]), jnp.array([[1, 0]]), 1))
        [[1. 3.]]

    Torch: `torch.take_along_dim`.
    """
    input, indices = array(input), array(indices, "indices")
    if dim is None:
        input, indices, dim = input.reshape(-1), indices.reshape(-1), 0
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    dim = canonical_dim(dim, input.ndim)
    _check_wrapping_range(indices, input.shape[dim], RuntimeError)
    return jnp.take_along_axis(input, indices, dim)


def index_select(input: Array, dim: int, index: Array) -> Array:
    """Select slices along a dim by index.

    Raises:
        RuntimeError: The index is not of an integer dtype, or is out of range for dim 1.
        IndexError: The index has more than one dim, or is out of range for another dim. A
            negative index is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(index_select(jnp.array([[1.0, 2.0]]), 1, jnp.array([1, 1])))
        [[2. 2.]]

    Torch: `torch.index_select`.
    """
    input, index = array(input), array(index, "index")
    if index.ndim > 1:
        raise IndexError(
            f"index_select(): Index is supposed to be a vector, its shape is {list(index.shape)}"
        )
    dim = canonical_dim(dim, input.ndim)
    if index.dtype not in (jnp.int32, jnp.int64):
        raise RuntimeError(
            f"index_select(): Expected dtype int32 or int64 for index, got {index.dtype}"
        )
    if not input.ndim:
        if index.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
            )
        return index_select(input[None], 0, index)[0]
    _check_range(index, input.shape[dim], RuntimeError if dim == 1 else IndexError, dim)
    return jnp.take(input, index.reshape(-1), dim)


def _full_index(index: Array, dim: int) -> Positions:
    """Return an index per dim: `index` for `dim`, the element's own position for the others."""
    return tuple(
        index if d == dim else np.arange(n).reshape(-1, *[1] * (index.ndim - d - 1))
        for d, n in enumerate(index.shape)
    )


def _check_shape(name: str, x: Array, at: Array, dim: int) -> None:
    if not jnp.issubdtype(at.dtype, jnp.integer):
        raise RuntimeError(f"Expected dtype int32/int64 for index, but got {at.dtype}")
    if at.ndim != x.ndim:
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor (self tensor): "
            f"{at.ndim} and {x.ndim}"
        )
    for d, (a, b) in enumerate(zip(at.shape, x.shape, strict=True)):
        if d != dim and a > b:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(at.shape)} to be no "
                f"larger than {name} {list(x.shape)} apart from dimension {dim}"
            )


def _check_range(index: Array, n: int, error: type[Exception], dim: int) -> None:
    require(
        jnp.all((index >= 0) & (index < n)),
        error(f"an index is out of bounds for dimension {dim} with size {n}"),
    )


def _check_wrapping_range(index: Array, n: int, error: type[Exception]) -> None:
    require(
        jnp.all((index >= -n) & (index < n)),
        error(f"an index is out of range: out of bounds for {n} elements"),
    )
