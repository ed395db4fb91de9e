"""Bags of embeddings: sums, means and maxima with torch's gradient options."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, require
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.nn.embedding import _indices, _lookup, _renormed


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
    """The sum, the mean or the maximum of the rows of each bag of indices.

    Args:
        input: Indices: `(bags, length)`, or `(N,)` with offsets.
        weight: `(rows, D)`.
        offsets: `(bags,)`: where each bag begins; it is to begin at 0.
        max_norm: As in `embedding`.
        norm_type: As in `embedding`.
        scale_grad_by_freq: Divide each row's gradient by how often it is looked up.
        mode: "sum", "mean" or "max". The maximum's gradient goes to the first of several.
        per_sample_weights: A factor for each index, for "sum" alone.
        include_last_offset: The last offset is the end of the last bag.
        padding_idx: A row that counts nowhere, not in the mean's divisor either.

    Returns:
        `(bags, D)`; zeros for an empty bag.

    Raises:
        RuntimeError: An index, an offset or `padding_idx` is out of range.
        ValueError: The shapes or the mode are not as above.
        NotImplementedError: `per_sample_weights` with another mode.

    Example:
        >>> import jax.numpy as jnp
        >>> print(embedding_bag(jnp.array([[0, 1]]), jnp.array([[1.0], [3.0]])))
        [[2.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.embedding_bag`.

    Differs from jax in:
        1. The maximum of several equal rows passes the gradient to the first (`jnp.max`: splits).
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
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found another one; the "
            f"table has the rows 0 to {rows - 1}"
        ),
    )
    if max_norm is not None:
        weight = _renormed(weight, max_norm, norm_type)
    counted = jnp.ones(index.shape, bool)
    if padding_idx is not None:
        counted = index != padding_idx % rows
    given = [] if factors is None else [factors.reshape(-1)]

    def reduced(w: Array, *rest: Array) -> Array:
        found = _lookup(w, index=index, padding=None, by_frequency=scale_grad_by_freq)
        if mode == "max":
            return _first_maximum(found, bag, bags, counted)
        found = jnp.where(counted[:, None], found, 0)
        if rest:
            found = found * jnp.where(counted, rest[0], 0)[:, None]
        total = jnp.zeros((bags, w.shape[1]), w.dtype).at[bag].add(found)
        if mode == "sum":
            return total
        count = jnp.zeros(bags, w.dtype).at[bag].add(jnp.where(counted, 1, 0))
        return total / jnp.maximum(count, 1)[:, None]

    return in_opmath(reduced, weight, *given)


def _bags(input: Array, offsets: Array | None, include_last: bool) -> tuple[Array, int]:
    """The bag of each index, and how many bags there are."""
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
        have = "None" if offsets is None else f"the shape {list(offsets.shape)}"
        raise ValueError(f"offsets has to be a 1D Tensor but got {have}")
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
                f"offsets[-1] can not be greater than input's length {input.size}; remove what is "
                "after it"
            ),
        )
    begins = offsets[:-1] if include_last else offsets
    bag = jnp.searchsorted(begins, jnp.arange(input.size), side="right") - 1
    return bag, begins.size


def _first_maximum(found: Array, bag: Array, bags: int, counted: Array) -> Array:
    """The largest row of each bag, taken at its first place: there its gradient goes.

    torch replaces what it has by what is larger, so a NaN is passed over unless it comes first.
    """
    size, width = found.shape
    if not size:
        return jnp.zeros((bags, width), found.dtype)

    def step(best: Array, at: Array) -> tuple[Array, None]:
        have = best[bag[at]]
        better = (have < 0) | (
            frozen[at] > jnp.take_along_axis(frozen, jnp.maximum(have, 0)[None], 0)[0]
        )
        return best.at[bag[at]].set(jnp.where(better & counted[at], at, have)), None

    frozen = jax.lax.stop_gradient(found)
    none = jnp.full((bags, width), -1)
    best, _ = jax.lax.scan(step, none, jnp.arange(size))
    taken = jnp.take_along_axis(found, jnp.maximum(best, 0), 0)
    return jnp.where(best < 0, 0, taken)
