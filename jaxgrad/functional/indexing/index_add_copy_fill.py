"""Writing slices at indices along a dim, with torch's gradients for overwritten slices.

An index out of range raises an error, as `gather_take.py` explains.
"""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, exact
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.indexing.gather_take import _check_range, _check_wrapping_range, _full_index
from jaxgrad.functional.indexing.scatter_put import _add_at, _set_at


def index_add(input: Array, dim: int, index: Array, source: Array, *, alpha: float = 1) -> Array:
    """Add slices to the input at indices along a dim; slices with the same index accumulate.

    Raises:
        RuntimeError: An index is negative or out of range (IndexError for a vector), or the shapes
            or dtypes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(index_add(jnp.zeros(2), 0, jnp.array([1, 1]), jnp.array([2.0, 3.0])))
        [0. 5.]

    Torch: `torch.index_add`.
    """
    input, source = array(input), array(source, "source")
    at, dim = _slice_indices("index_add_", input, dim, index, source, RuntimeError)
    _check_range(at, input.shape[dim], RuntimeError if input.ndim > 1 else IndexError, dim)

    def added(x: Array, y: Array) -> Array:
        y = y if alpha == 1 else y * jnp.asarray(alpha, y.dtype)
        return _add_at(x, y, positions=_full_index(at, dim))

    return exact(added, input, source)


def index_copy(input: Array, dim: int, index: Array, source: Array) -> Array:
    """Write slices into the input at indices along a dim; if an index repeats, the last wins.

    Raises:
        IndexError: An index is negative or out of range, or not every slice has one.
        RuntimeError: The dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(index_copy(jnp.zeros(2), 0, jnp.array([1]), jnp.array([2.0])))
        [0. 2.]

    Torch: `torch.index_copy`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. All slices for a repeated index get the gradient (`.at[].set`: only the last).
    """
    input, source = array(input), array(source, "source")
    at, dim = _slice_indices("index_copy_", input, dim, index, source, IndexError)
    _check_range(at, input.shape[dim], IndexError, dim)
    return _set_at(input, source, positions=_full_index(at, dim))


def index_fill(input: Array, dim: int, index: Array, value: Array | float) -> Array:
    """Fill the slices at indices along a dim with one value.

    Raises:
        IndexError: An index is out of range.
        RuntimeError: The value is not 0-d, or is complex although the input is real.

    Example:
        >>> import jax.numpy as jnp
        >>> print(index_fill(jnp.zeros(2), 0, jnp.array([1]), 3.0))
        [0. 3.]

    Torch: `torch.index_fill`.
    """
    input, index = array(input), array(index, "index")
    if jnp.ndim(value):
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{jnp.ndim(value)} dimension(s)."
        )
    if jnp.iscomplexobj(value) and not jnp.iscomplexobj(input):
        raise RuntimeError(
            f"index_fill_(): Converting complex Scalar to non-complex type is not supported: the "
            f"input is {input.dtype}"
        )
    dim = canonical_dim(dim, input.ndim)
    n = input.shape[dim]
    _check_wrapping_range(index, n, IndexError)
    chosen = jnp.zeros(n, bool).at[index.reshape(-1)].set(True)
    chosen = chosen.reshape(-1, *[1] * (input.ndim - dim - 1))
    return jnp.where(chosen, jnp.asarray(value, input.dtype), input)


def _slice_indices(
    name: str, input: Array, dim: int, index: Array, source: Array, error: type[Exception]
) -> tuple[Array, int]:
    """Broadcast the index of each slice to the source's shape; also return the dim."""
    index = array(index, "index").reshape(-1)
    require_same_dtype(name, input=input, source=source)
    dim = canonical_dim(dim, input.ndim)
    if index.size != source.shape[dim]:
        raise error(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[dim]}), for dim: {dim}"
        )
    index = index.reshape(-1, *[1] * (source.ndim - dim - 1))
    return jnp.broadcast_to(index, source.shape), dim
