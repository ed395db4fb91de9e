"""Reading and writing at indices: torch's gradients for what is written twice, its errors.

An index that is out of range raises; under `jit` it cannot, and is what JAX makes of it, unless
the function is under `checkify`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._arguments import array, canonical_dim, in_opmath, is_array, require
from ._rule import derivative


Array = jax.Array
Places = tuple[Any, ...]


def gather(input: Array, dim: int, index: Array) -> Array:
    """The elements at indices along a dim: `out[i][j] = input[i][index[i][j]]` for dim 1.

    Args:
        input: Of any shape.
        dim: The dim of the indices.
        index: With as many dims; no other dim is larger than the input's.

    Raises:
        RuntimeError: An index is out of range or negative, or the shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(gather(jnp.array([[1.0, 2.0]]), 1, jnp.array([[1, 1]])))
        [[2. 2.]]

    Torch: `torch.gather`.

    Differs from jax in:
        1. An index that is out of range is an error (`jnp.take_along_axis`: NaN or clamped).
    """
    input, index = array(input), array(index, "index")
    dim = canonical_dim(dim, input.ndim)
    x, at = jnp.atleast_1d(input), jnp.atleast_1d(index)
    _check_shape("self", x, at, dim)
    _in_range(at, x.shape[dim], RuntimeError, dim)
    found = x[_mesh(at, dim)]
    return found.reshape(index.shape)


def take(input: Array, index: Array) -> Array:
    """The elements at indices into the flattened input; a negative one counts from the end.

    Raises:
        IndexError: An index is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(take(jnp.array([[1.0, 2.0]]), jnp.array([-1])))
        [2.]

    Torch: `torch.take`.
    """
    input, index = array(input), array(index, "index")
    _from_either_end(index, input.size, IndexError)
    return input.reshape(-1)[index]


def take_along_dim(input: Array, indices: Array, dim: int | None = None) -> Array:
    """As `gather`, broadcast; without a dim of the flattened input.

    Raises:
        RuntimeError: An index is out of range, or the dims do not fit.

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
    _from_either_end(indices, input.shape[dim], RuntimeError)
    return jnp.take_along_axis(input, indices, dim)


def index_select(input: Array, dim: int, index: Array) -> Array:
    """The slices at indices along a dim.

    Raises:
        RuntimeError: An index is out of range or negative.
        IndexError: The index has several dims.

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
    if not input.ndim:
        if index.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
            )
        return index_select(input[None], 0, index)[0]
    _in_range(index, input.shape[dim], RuntimeError, dim)
    return jnp.take(input, index.reshape(-1), dim)


def index_add(input: Array, dim: int, index: Array, source: Array, *, alpha: float = 1) -> Array:
    """The input with slices added at indices, each as often as it is named.

    Raises:
        RuntimeError: An index is out of range or negative (IndexError for a vector), or shapes or
            dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(index_add(jnp.zeros(2), 0, jnp.array([1, 1]), jnp.array([2.0, 3.0])))
        [0. 5.]

    Torch: `torch.index_add`.
    """
    input, source = array(input), array(source, "source")
    at, dim = _slices("index_add_", input, dim, index, source, RuntimeError)
    _in_range(at, input.shape[dim], RuntimeError if input.ndim > 1 else IndexError, dim)
    return in_opmath(lambda x, y: x.at[_mesh(at, dim)].add(y * alpha), input, source)


def index_copy(input: Array, dim: int, index: Array, source: Array) -> Array:
    """The input with slices written at indices; of several for one the last is written.

    Raises:
        IndexError: An index is out of range or negative, or there are more or less of them.
        RuntimeError: The dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(index_copy(jnp.zeros(2), 0, jnp.array([1]), jnp.array([2.0])))
        [0. 2.]

    Torch: `torch.index_copy`.

    Differs from jax in:
        1. Each of several slices for one index has the gradient (`.at[].set`: the last alone).
    """
    input, source = array(input), array(source, "source")
    at, dim = _slices("index_copy_", input, dim, index, source, IndexError)
    _in_range(at, input.shape[dim], IndexError, dim)
    return _written(input, source, places=_mesh(at, dim))


def index_fill(input: Array, dim: int, index: Array, value: Array | float) -> Array:
    """The input with one value in the slices at indices.

    Raises:
        IndexError: An index is out of range.
        RuntimeError: The value has dims.

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
    dim = canonical_dim(dim, input.ndim)
    n = input.shape[dim]
    _from_either_end(index, n, IndexError)
    chosen = jnp.zeros(n, bool).at[index.reshape(-1)].set(True)
    chosen = chosen.reshape(-1, *[1] * (input.ndim - dim - 1))
    return jnp.where(chosen, jnp.asarray(value, input.dtype), input)


def masked_select(input: Array, mask: Array) -> Array:
    """The elements where the mask is set, as a vector; not under `jit`, which needs its length.

    Raises:
        RuntimeError: The mask is not boolean.

    Example:
        >>> import jax.numpy as jnp
        >>> print(masked_select(jnp.array([1.0, 2.0]), jnp.array([False, True])))
        [2.]

    Torch: `torch.masked_select`.
    """
    input, mask = array(input), array(mask, "mask")
    if mask.dtype != jnp.bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}")
    input, mask = jnp.broadcast_arrays(input, mask)
    return input[mask]


def masked_scatter(input: Array, mask: Array, source: Array) -> Array:
    """The input with the source's elements, in turn, where the mask is set.

    Raises:
        RuntimeError: There are less elements than places, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(masked_scatter(jnp.zeros(2), jnp.array([False, True]), jnp.array([5.0, 6.0])))
        [0. 5.]

    Torch: `torch.masked_scatter`.
    """
    input, mask, source = array(input), array(mask, "mask"), array(source, "source")
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} "
            f"and {source.dtype}"
        )
    if mask.dtype != jnp.bool_:
        raise RuntimeError(f"masked_scatter only supports boolean masks, but got {mask.dtype}")
    input, mask = jnp.broadcast_arrays(input, mask)
    require(
        mask.sum() <= source.size,
        RuntimeError(
            f"masked_scatter: Number of elements of source < number of ones in mask: {source.size}"
        ),
    )
    if not source.size:
        return input
    order = jnp.cumsum(mask.reshape(-1)).reshape(mask.shape) - 1
    return jnp.where(mask, source.reshape(-1)[jnp.maximum(order, 0)], input)


def scatter(input: Array, dim: int, index: Array, src: Array | float) -> Array:
    """The input with elements written at indices along a dim; of several for one the last.

    Args:
        input: Of any shape.
        dim: The dim of the indices.
        index: With as many dims; no larger than `src`, and than the input in the other dims.
        src: Elements, or one number.

    Raises:
        RuntimeError: An index is out of range or negative, or shapes or dtypes do not fit.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> i = jnp.array([1, 1])
        >>> print(jax.grad(lambda y: scatter(jnp.zeros(2), 0, i, y).sum())(jnp.array([5.0, 6.0])))
        [1. 1.]

    Torch: `torch.scatter`.

    Differs from jax in:
        1. Each of several elements for one index has the gradient (`.at[].set`: the last alone).
        2. An index that is out of range is an error (`.at[].set`: dropped).
    """
    input, index = array(input), array(index, "index")
    if not is_array(src):
        src = jnp.full(index.shape, src, input.dtype)
    x, y, places = _scattered("scatter", input, dim, index, jnp.asarray(src))
    return _written(x, y, places=places).reshape(input.shape)


def scatter_add(input: Array, dim: int, index: Array, src: Array) -> Array:
    """The input with elements added at indices along a dim; arguments as those of `scatter`.

    Raises:
        RuntimeError: An index is out of range or negative, or shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(scatter_add(jnp.zeros(2), 0, jnp.array([1, 1]), jnp.array([5.0, 6.0])))
        [ 0. 11.]

    Torch: `torch.scatter_add`.
    """
    input = array(input)
    x, y, places = _scattered("scatter_add", input, dim, index, array(src, "src"))
    return in_opmath(lambda x, y: x.at[places].add(y), x, y).reshape(input.shape)


def put(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """The input with elements written, or added, at indices into its flattened form.

    Raises:
        IndexError: An index is out of range, or there are more or less of them than elements.
        RuntimeError: The dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(put(jnp.zeros((1, 2)), jnp.array([-1]), jnp.array([5.0])))
        [[0. 5.]]

    Torch: `torch.put`.

    Differs from jax in:
        1. Each of several elements for one index has the gradient (`.at[].set`: the last alone).
    """
    input, index, source = array(input), array(index, "index"), array(source, "source")
    if input.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{input.dtype} and source.dtype = {source.dtype}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    _from_either_end(index, input.size, IndexError)
    flat, at = input.reshape(-1), index.reshape(-1) % max(input.size, 1)
    source = source.reshape(-1)
    if accumulate:
        return in_opmath(lambda x, y: x.at[at].add(y), flat, source).reshape(input.shape)
    return _written(flat, source, places=(at,)).reshape(input.shape)


def _kept(x: Array, places: Places) -> Array:
    return jnp.ones(x.shape, bool).at[places].set(False)


@derivative(
    lambda t, _, x, __, places: jnp.where(_kept(x, places), t, 0),
    lambda t, out, *_, places: jnp.zeros_like(out).at[places].add(t),
)
def _written(x: Array, y: Array, *, places: Places) -> Array:
    return x.at[places].set(y)


def _mesh(index: Array, dim: int) -> Places:
    """The index along its dim, and each element's own place along the others."""
    return tuple(
        index if d == dim else np.arange(n).reshape(-1, *[1] * (index.ndim - d - 1))
        for d, n in enumerate(index.shape)
    )


def _scattered(
    name: str, input: Array, dim: int, index: Array, src: Array
) -> tuple[Array, Array, Places]:
    """The input, what is written of the source, and where."""
    if input.dtype != src.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, but they are {input.dtype} "
            f"and {src.dtype}"
        )
    dim = canonical_dim(dim, input.ndim)
    x, at, y = (jnp.atleast_1d(z) for z in (input, array(index, "index"), src))
    _check_shape("self", x, at, dim)
    if y.ndim != at.ndim or any(a > b for a, b in zip(at.shape, y.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(at.shape)} to be no larger than self {list(x.shape)} apart from "
            f"dimension {dim} and to be no larger size than src {list(y.shape)}"
        )
    _in_range(at, x.shape[dim], RuntimeError, dim)
    return x, y[tuple(slice(n) for n in at.shape)], _mesh(at, dim)


def _slices(
    name: str, input: Array, dim: int, index: Array, source: Array, error: type[Exception]
) -> tuple[Array, int]:
    """The index of each element of the source, from one for each slice."""
    index = array(index, "index").reshape(-1)
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got (self) "
            f"{input.dtype} and (source) {source.dtype}: they must have the same scalar type"
        )
    dim = canonical_dim(dim, input.ndim)
    if index.size != source.shape[dim]:
        raise error(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[dim]}), for dim: {dim}"
        )
    index = index.reshape(-1, *[1] * (source.ndim - dim - 1))
    return jnp.broadcast_to(index, source.shape), dim


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


def _in_range(index: Array, n: int, error: type[Exception], dim: int) -> None:
    require(
        jnp.all((index >= 0) & (index < n)),
        error(f"an index is out of bounds for dimension {dim} with size {n}"),
    )


def _from_either_end(index: Array, n: int, error: type[Exception]) -> None:
    require(
        jnp.all((index >= -n) & (index < n)),
        error(f"an index is out of range: out of bounds for {n} elements"),
    )
