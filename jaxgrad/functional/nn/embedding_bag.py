"""Sums, means and maxima over bags of embeddings, with torch's gradient options."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, require
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.nn.embedding import _clip_row_norms, _indices, _lookup


def embedding_bag(
    input: Array,
    weight: Array,
    offsets: Array | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    per_sample_weights: Array | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Array:
    """Look up the rows of each bag of indices and take their sum, mean or maximum.

    Args:
        input: Indices, `(bags, length)`, or `(N,)` with offsets.
        weight: `(rows, D)`.
        offsets: `(bags,)`, the position at which each bag starts; the first must be 0.
        max_norm: As in `embedding`.
        norm_type: As in `embedding`.
        scale_grad_by_freq: Whether to divide each row's gradient by its number of lookups.
        mode: "sum", "mean" or "max". Among equal maxima the first gets the gradient.
        per_sample_weights: A factor for each index, allowed only with mode "sum".
        include_last_offset: Whether the last offset is the end of the last bag.
        padding_idx: Index of a row to leave out of the result, including the mean's divisor.

    Returns:
        `(bags, D)`, with zeros for an empty bag.

    Raises:
        RuntimeError: An index, an offset or `padding_idx` is out of range.
        ValueError: A shape or the mode is not one of those above.
        NotImplementedError: `per_sample_weights` is passed with a mode other than "sum".

    Example:
        >>> import jax.numpy as jnp
        >>> print(embedding_bag(jnp.array([[0, 1]]), jnp.array([[1.0], [3.0]])))
        [[2.]]

    Torch: `torch.nn.functional.embedding_bag`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Among equal maxima the first gets the whole gradient (`jnp.max`: they share it).
    """
    reject("embedding_bag", "bool integer complex", weight, per_sample_weights)
    require_same_dtype("embedding_bag", weight=weight, per_sample_weights=per_sample_weights)
    input, weight = _indices(input, "embedding_bag"), array(weight, "weight")
    factors = per_sample_weights
    if factors is not None and factors.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(factors.shape)}) is not None, then it "
            f"must have the same shape as the input ({list(input.shape)})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, not {mode!r}")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if factors is not None and mode != "sum":
        raise NotImplementedError(
            f"per_sample_weights is only supported for mode='sum' (got mode={mode!r})"
        )
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, "
            f"but got {padding_idx}"
        )
    bag, bags = _bags(input, offsets, include_last_offset)
    index = input.reshape(-1)
    require(
        jnp.all((index >= 0) & (index < rows)),
        RuntimeError(
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but an index is out of "
            f"range; the table has the rows 0 to {rows - 1}"
        ),
    )
    if max_norm is not None:
        weight = _clip_row_norms(weight, max_norm, norm_type)
    counted = jnp.ones(index.shape, bool)
    if padding_idx is not None:
        counted = index != padding_idx % rows
    scales = [] if factors is None else [factors.reshape(-1)]

    def reduced(w: Array, *rest: Array) -> Array:
        values = _lookup(w, index=index, padding=None, by_frequency=scale_grad_by_freq)
        if mode == "max":
            return _first_maximum(values, bag, bags, counted)
        values = jnp.where(counted[:, None], values, 0)
        if rest:
            values = values * jnp.where(counted, rest[0], 0)[:, None]
        total = jnp.zeros((bags, w.shape[1]), w.dtype).at[bag].add(values)
        if mode == "sum":
            return total
        count = jnp.zeros(bags, w.dtype).at[bag].add(jnp.where(counted, 1, 0))
        return total / jnp.maximum(count, 1)[:, None]

    return in_opmath(reduced, weight, *scales)


def _bags(input: Array, offsets: Array | None, include_last: bool) -> tuple[Array, int]:
    """Return the bag to which each index belongs, and the number of bags."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences"
            )
        return jnp.repeat(jnp.arange(input.shape[0]), input.shape[1]), input.shape[0]
    if input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets is None or offsets.ndim != 1:
        actual = "None" if offsets is None else f"the shape {list(offsets.shape)}"
        raise ValueError(f"offsets has to be a 1D Tensor but got {actual}")
    if offsets.size:
        require(
            offsets[0] == 0,
            RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                "from position 0"
            ),
        )
        require(
            offsets[-1] <= input.size,
            RuntimeError(
                f"offsets[-1] can not be greater than input's length {input.size}; remove the "
                "larger offsets"
            ),
        )
    starts = offsets[:-1] if include_last else offsets
    bag = jnp.searchsorted(starts, jnp.arange(input.size), side="right") - 1
    return bag, starts.size


def _first_maximum(values: Array, bag: Array, bags: int, counted: Array) -> Array:
    """Return the maximum over each bag, read from its first occurrence, which gets the gradient.

    As in torch only a larger value replaces the current maximum, so only a leading NaN is kept.
    """
    size, width = values.shape
    if not size:
        return jnp.zeros((bags, width), values.dtype)

    def step(best: Array, at: Array) -> tuple[Array, None]:
        old = best[bag[at]]
        old_value = jnp.take_along_axis(frozen, jnp.maximum(old, 0)[None], 0)[0]
        better = (old < 0) | (frozen[at] > old_value)
        return best.at[bag[at]].set(jnp.where(better & counted[at], at, old)), None

    frozen = jax.lax.stop_gradient(values)
    best, _ = jax.lax.scan(step, jnp.full((bags, width), -1), jnp.arange(size))
    maxima = jnp.take_along_axis(values, jnp.maximum(best, 0), 0)
    return jnp.where(best < 0, 0, maxima)
