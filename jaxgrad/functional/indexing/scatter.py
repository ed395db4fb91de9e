"""Writing elements at indices: torch's gradients for what is written twice.

An index that is out of range raises, as `indexing` says.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, exact, is_array
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.indexing.gather import (
    _check_range,
    _check_shape,
    _check_wrapping_range,
    _full_index,
)


Places = tuple[Any, ...]


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

    Gradient conventions: docs/operators.md.
    Torch: `torch.scatter`.

    Differs from jax in:
        1. Each of several elements for one index has the gradient (`.at[].set`: the last alone).
        2. An index that is out of range is an error (`.at[].set`: dropped).
    """
    input, index = array(input), array(index, "index")
    if not is_array(src):
        src = jnp.full(index.shape, src, input.dtype)
    x, y, places = _scatter_arguments("scatter", input, dim, index, jnp.asarray(src))
    return _set_at(x, y, places=places).reshape(input.shape)


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
    x, y, places = _scatter_arguments("scatter_add", input, dim, index, array(src, "src"))
    return exact(_add_at, x, y, places=places).reshape(input.shape)


def put(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """The input with elements written, or added, at indices into its flattened form.

    Raises:
        IndexError: An index is out of range, or there are more or less of them than elements.
        RuntimeError: The dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(put(jnp.zeros((1, 2)), jnp.array([-1]), jnp.array([5.0])))
        [[0. 5.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.put`.

    Differs from jax in:
        1. Each of several elements for one index has the gradient (`.at[].set`: the last alone).
    """
    input, index, source = array(input), array(index, "index"), array(source, "source")
    require_same_dtype("put", input=input, source=source)
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    _check_wrapping_range(index, input.size, IndexError)
    flat, at = input.reshape(-1), index.reshape(-1) % max(input.size, 1)
    source = source.reshape(-1)
    if accumulate:
        return exact(_add_at, flat, source, places=(at,)).reshape(input.shape)
    return _set_at(flat, source, places=(at,)).reshape(input.shape)


def _kept(x: Array, places: Places) -> Array:
    return jnp.ones(x.shape, bool).at[places].set(False)


@derivative(
    lambda t, _, x, __, places: jnp.where(_kept(x, places), t, 0),
    lambda t, out, *_, places: jnp.zeros_like(out).at[places].add(t),
)
def _set_at(x: Array, y: Array, *, places: Places) -> Array:
    return x.at[places].set(y)


def _scatter_arguments(
    name: str, input: Array, dim: int, index: Array, src: Array
) -> tuple[Array, Array, Places]:
    """The input, what is written of the source, and where."""
    require_same_dtype(name, input=input, src=src)
    dim = canonical_dim(dim, input.ndim)
    x, at, y = (jnp.atleast_1d(z) for z in (input, array(index, "index"), src))
    _check_shape("self", x, at, dim)
    if y.ndim != at.ndim or any(a > b for a, b in zip(at.shape, y.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(at.shape)} to be no larger than self {list(x.shape)} apart from "
            f"dimension {dim} and to be no larger size than src {list(y.shape)}"
        )
    _check_range(at, x.shape[dim], RuntimeError, dim)
    return x, y[tuple(slice(n) for n in at.shape)], _full_index(at, dim)


def _add_at(x: Array, y: Array, *, places: Any) -> Array:
    return x.at[places].max(y) if x.dtype == jnp.bool_ else x.at[places].add(y)


def index_put(
    input: Array, indices: tuple[Array | None, ...], values: Array, accumulate: bool = False
) -> Array:
    """The input with values written, or added, at indices into its first dims.

    Args:
        input: Of any shape.
        indices: One array for each of the first dims, broadcasting with each other.
        values: Broadcasting with what the indices choose.
        accumulate: Whether they are added.

    Raises:
        IndexError: An index is out of range.
        RuntimeError: The dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> i = jnp.array([1, 1])
        >>> print(index_put(jnp.zeros(2), (i,), jnp.array([5.0, 6.0]), accumulate=True))
        [ 0. 11.]

    Gradient conventions: docs/operators.md.
    Torch: `torch.index_put`.

    Differs from jax in:
        1. Each of several values for one index has the gradient (`.at[].set`: the last alone).
    """
    input, values = array(input), array(values, "values")
    require_same_dtype("index_put", input=input, values=values)
    for dim, index in enumerate(indices):
        if index is not None and index.dtype != jnp.bool_:
            _in_either_range(index, input.shape[dim], dim)
    places = tuple(slice(None) if i is None else array(i, "indices") for i in indices)
    values = jnp.broadcast_to(values, jax.eval_shape(lambda x: x[places], input).shape)
    if accumulate:
        return exact(_add_at, input, values, places=places)
    return _set_at(input, values, places=places)


def _in_either_range(index: Array, n: int, dim: int) -> None:
    _check_range(jnp.where(index < 0, index + n, index), n, IndexError, dim)
