"""Lookups and linear maps: embeddings with torch's gradient options, `linear`, `bilinear`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._compat import is_traced

from ._arguments import array, in_opmath, require
from ._rule import derivative


Array = jax.Array


def embedding(
    input: Array,
    weight: Array,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Array:
    """The rows of a table.

    Args:
        input: Indices, of any shape.
        weight: `(rows, D)`.
        padding_idx: A row without a gradient.
        max_norm: Scale rows whose norm is larger, as a constant: the gradient passes unscaled.
        norm_type: The p of that norm.
        scale_grad_by_freq: Divide each row's gradient by how often it is looked up.

    Returns:
        `(*, D)`. torch also writes the scaled rows into `weight`; here the table stays as it is.

    Raises:
        IndexError: An index is out of range (under `jit`: NaN, or an error of `checkify`).
        AssertionError: `padding_idx` is out of range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> total = lambda w: embedding(jnp.array([0, 0, 1]), w, padding_idx=0).sum()
        >>> print(jax.grad(total)(jnp.ones((2, 1)))[:, 0])
        [0. 1.]

    Torch: `torch.nn.functional.embedding`.

    Differs from jax in:
        1. Indexing clamps an index that is out of range, and counts a negative one from the end.
        2. The gradient of the row `padding_idx` is 0; with `scale_grad_by_freq` a row looked up
           twice has gradient 1 (`w[i]`: 2).
        3. With `max_norm` the gradient is that of the plain lookup.
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
        weight = _renormed(weight, max_norm, norm_type)
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
    return weight.at[index].get(mode="fill", fill_value=jnp.nan)


def _renormed(weight: Array, max_norm: float, norm_type: float) -> Array:
    """The rows at most so long; where one is scaled, by a constant that is added."""

    def scaled(w: Array) -> Array:
        w = jax.lax.stop_gradient(w)
        norm = jnp.linalg.norm(w, norm_type, axis=1, keepdims=True)
        return jnp.where(norm > max_norm, w * (max_norm / (norm + 1e-7)), w)

    return _replaced(weight, in_opmath(scaled, weight))


@derivative(lambda t, *_: t, None)
def _replaced(_: Array, by: Array) -> Array:
    return by


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

    Torch: `torch.nn.functional.embedding_bag`.

    Differs from jax in:
        1. The maximum of several equal rows passes the gradient to the first (`jnp.max`: splits).
    """
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
        if rest:
            found = found * rest[0][:, None]
        total = jnp.zeros((bags, w.shape[1]), w.dtype)
        total = total.at[bag].add(jnp.where(counted[:, None], found, 0))
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


def one_hot(input: Array, num_classes: int = -1) -> Array:
    """An integer 1 at each index, 0 elsewhere.

    Args:
        input: int64 indices (int32 where JAX has no 64 bits), of any shape.
        num_classes: How many. -1: one more than the largest index, which `jit` cannot know.

    Raises:
        RuntimeError: An index is negative or too large, or there are none to count.

    Example:
        >>> import jax.numpy as jnp
        >>> print(one_hot(jnp.array([0, 2])))
        [[1 0 0]
         [0 0 1]]

    Torch: `torch.nn.functional.one_hot`.

    Differs from jax in:
        1. The result is of integers (`jax.nn.one_hot`: floats), and an index that is out of range
           an error (`jax.nn.one_hot`: zeros).
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


def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """`input @ weight.T + bias`.

    Args:
        input: `(*, in)`.
        weight: `(out, in)` or `(in,)`.
        bias: `(out,)` or `()`.

    Raises:
        RuntimeError: The shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(linear(jnp.array([1.0, 2.0]), jnp.array([[3.0, 4.0]]), jnp.array([5.0])))
        [16.]

    Torch: `torch.nn.functional.linear`.
    """
    input, weight = array(input), array(weight, "weight")
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and "
            f"{weight.ndim}D"
        )
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {input.dtype} != {weight.dtype}"
        )
    if weight.ndim > 2 or input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied: input is {list(input.shape)} and weight "
            f"{list(weight.shape)}, which is to be (out, in)"
        )
    shape = input.shape[:-1] + weight.shape[:-1]
    if bias is not None:
        try:
            fits = jnp.broadcast_shapes(bias.shape, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"The expanded size of the output {list(shape)} must match the existing size "
                f"{list(bias.shape)} of the bias"
            )

    def product(x: Array, w: Array, *rest: Array) -> Array:
        y = jnp.matmul(x, w.T)
        return y + rest[0] if rest else y

    given = [] if bias is None else [bias]
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        return product(input, weight, *given)
    return in_opmath(product, input, weight, *given).astype(input.dtype)


def bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    """`input1[i] * weight[:, i, j] * input2[j] + bias`, summed over i and j.

    Args:
        input1: `(*, in1)`.
        input2: `(*, in2)`.
        weight: `(out, in1, in2)`.
        bias: `(out,)`.

    Raises:
        RuntimeError: The shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(bilinear(jnp.ones(2), jnp.ones(3), jnp.ones((1, 2, 3))))
        [6.]

    Torch: `torch.nn.functional.bilinear`.
    """
    input1, input2 = array(input1, "input1"), array(input2, "input2")
    weight = array(weight, "weight")
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and "
            f"{list(input2.shape)}"
        )
    if (input1.shape[-1], input2.shape[-1]) != weight.shape[1:]:
        raise RuntimeError(
            f"bilinear(): input size does not match weight size: the inputs are "
            f"{list(input1.shape)} and {list(input2.shape)}, the weight {list(weight.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size} but expected "
            f"{weight.shape[0]}"
        )

    def product(a: Array, b: Array, w: Array, *rest: Array) -> Array:
        y = jnp.einsum("...i,oij,...j->...o", a, w, b)
        return y + rest[0] if rest else y

    given = [] if bias is None else [bias]
    return in_opmath(product, input1, input2, weight, *given)


def _indices(x: Any, name: str) -> Array:
    x = array(x)
    if x.dtype not in (np.dtype("i4"), np.dtype("i8")):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' of {name} to have one of the following "
            f"scalar types: Long, Int; but got {x.dtype} instead"
        )
    return x
