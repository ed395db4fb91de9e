"""Embedding lookups with torch's gradient options, and one-hot vectors."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.compat import is_traced
from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating, require
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def embedding(
    input: Array,
    weight: Array,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Array:
    """Look up rows of a table.

    Args:
        input: Indices, of any shape.
        weight: `(rows, D)`.
        padding_idx: Index of a row whose gradient is 0.
        max_norm: Norm to which larger rows are scaled down; the gradient ignores the scaling.
        norm_type: Order p of that norm.
        scale_grad_by_freq: Whether to divide each row's gradient by its number of lookups.

    Returns:
        `(*, D)`. torch also writes the scaled rows into `weight`; here the table is unchanged.

    Raises:
        IndexError: An index is out of range (under `jit` the row is NaN, or `checkify` reports it).
        AssertionError: `padding_idx` is out of range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> total = lambda w: embedding(jnp.array([0, 0, 1]), w, padding_idx=0).sum()
        >>> print(jax.grad(total)(jnp.ones((2, 1)))[:, 0])
        [0. 1.]

    Torch: `torch.nn.functional.embedding`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. An index out of range raises an error (`w[i]`: clamped, negative ones wrap).
        2. The gradient of the row `padding_idx` is 0, and with `scale_grad_by_freq` that of a row
           looked up twice is 1 (`w[i]`: 2).
        3. With `max_norm` the gradient is that of a lookup without scaling.
    """
    input, weight = _indices(input, "embedding"), array(weight, "weight")
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, its shape is {list(weight.shape)}")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError(
            f"Padding_idx must be within num_embeddings: {padding_idx} is not one of {rows} rows"
        )
    require(
        jnp.all((input >= 0) & (input < rows)),
        IndexError(f"index out of range in self: the table has the rows 0 to {rows - 1}"),
    )
    if max_norm is not None:
        weight = _clip_row_norms(weight, max_norm, norm_type)
    if padding_idx is not None:
        padding_idx %= rows
    return _lookup(weight, index=input, padding=padding_idx, by_frequency=scale_grad_by_freq)


def _lookup_tangent(
    t: Array, _: Array, weight: Array, *, index: Array, padding: int | None, by_frequency: bool
) -> Array:
    rows = _take(t, index)
    if padding is not None:
        rows = jnp.where((index == padding)[..., None], 0, rows)
    if by_frequency:
        count = jnp.zeros(weight.shape[0], t.dtype).at[index].add(1)
        rows = rows / count[index][..., None]
    return rows


@derivative(_lookup_tangent)
def _lookup(weight: Array, *, index: Array, **_: Any) -> Array:
    return _take(weight, index)


def _take(weight: Array, index: Array) -> Array:
    missing = jnp.nan if is_floating(weight) else None
    return weight.at[index].get(mode="fill", fill_value=missing)


def _clip_row_norms(weight: Array, max_norm: float, norm_type: float) -> Array:
    """Scale rows down to `max_norm`; the gradient with respect to `weight` is the identity."""
    reject("max_norm", "bool integer", weight)

    def scaled(w: Array) -> Array:
        w = jax.lax.stop_gradient(w)
        norm = jnp.linalg.norm(w, norm_type, axis=1, keepdims=True)
        return jnp.where(norm > max_norm, w * (max_norm / (norm + 1e-7)), w)

    return _value_of(weight, in_opmath(scaled, weight))


@derivative(lambda t, *_: t, None)
def _value_of(_: Array, value: Array) -> Array:
    return value


def one_hot(input: Array, num_classes: int = -1) -> Array:
    """Encode each index as a vector of integers with a 1 at the index and 0 elsewhere.

    Args:
        input: Indices of any shape, int64 or (without 64-bit JAX) int32.
        num_classes: Length of the vectors. -1: the largest index plus one (not under `jit`).

    Raises:
        RuntimeError: An index is negative or too large, or an empty input needs `num_classes`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(one_hot(jnp.array([0, 2])))
        [[1 0 0]
         [0 0 1]]

    Torch: `torch.nn.functional.one_hot`.

    Differs from jax in:
        1. The result has an integer dtype (`jax.nn.one_hot`: float), and an index out of range
           raises an error (`jax.nn.one_hot`: zeros).
    """
    input = array(input)
    if not jnp.issubdtype(input.dtype, jnp.integer):
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, not {input.dtype}"
        )
    if num_classes == -1:
        if not input.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        if is_traced(input):
            raise ValueError(
                "one_hot: the number of classes is unknown under jit; pass num_classes"
            )
        num_classes = int(input.max()) + 1
    if input.size:
        require(jnp.all(input >= 0), RuntimeError("Class values must be non-negative."))
        require(
            jnp.all(input < num_classes),
            RuntimeError(f"Class values must be smaller than num_classes, which is {num_classes}."),
        )
    return jax.nn.one_hot(input, num_classes, dtype=input.dtype)


def _indices(x: Any, name: str) -> Array:
    x = array(x)
    if x.dtype not in (np.dtype("i4"), np.dtype("i8")):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' of {name} to have one of the following "
            f"scalar types: Long, Int; but got {x.dtype} instead"
        )
    return x
