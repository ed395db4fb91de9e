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
    _check_source("index_add_", input, source)
    x, y, at, dim = _slice_indices("index_add_", input, dim, index, source, RuntimeError)
    _check_range(at, x.shape[dim], RuntimeError if x.ndim > 1 else IndexError, dim)

    def added(x: Array, y: Array) -> Array:
        y = y if alpha == 1 else y * jnp.asarray(alpha, y.dtype)
        return _add_at(x, y, positions=_full_index(at, dim))

    return exact(added, x, y).reshape(input.shape)


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
    if source.ndim != input.ndim and source.ndim and input.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match: the source is {list(source.shape)}, the input {list(input.shape)}"
        )
    x, y, at, dim = _slice_indices("index_copy_", input, dim, index, source, IndexError)
    _check_range(at, x.shape[dim], IndexError, dim)
    return _set_at(x, y, positions=_full_index(at, dim)).reshape(input.shape)


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
    x = jnp.atleast_1d(input)
    n = x.shape[dim]
    _check_wrapping_range(index, n, IndexError)
    chosen = jnp.zeros(n, bool).at[index.reshape(-1)].set(True)
    chosen = chosen.reshape(-1, *[1] * (x.ndim - dim - 1))
    return jnp.where(chosen, jnp.asarray(value, x.dtype), x).reshape(input.shape)


def _check_source(name: str, input: Array, source: Array) -> None:
    if input.ndim != source.ndim and not (input.ndim and source.ndim):
        raise RuntimeError(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )


def _slice_indices(
    name: str, input: Array, dim: int, index: Array, source: Array, error: type[Exception]
) -> tuple[Array, Array, Array, int]:
    """Return the input and the source with at least one dim, an index per element, and the dim."""
    index = array(index, "index").reshape(-1)
    require_same_dtype(name, input=input, source=source)
    dim = canonical_dim(dim, input.ndim)
    input, source = jnp.atleast_1d(input), jnp.atleast_1d(source)
    if index.size != source.shape[dim]:
        raise error(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[dim]}), for dim: {dim}"
        )
    index = index.reshape(-1, *[1] * (source.ndim - dim - 1))
    return input, source, jnp.broadcast_to(index, source.shape), dim
