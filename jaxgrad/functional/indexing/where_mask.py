"""Selecting, filling and replacing elements with a condition or a mask."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, broadcasting, promoted, require
from jaxgrad.functional._core.dtypes import require_same_dtype


def where(condition: Array, input: ArrayLike, other: ArrayLike) -> Array:
    """Take elements of `input` where the condition holds and of `other` elsewhere.

    Example:
        >>> import jax.numpy as jnp
        >>> print(where(jnp.array([True, False]), 1.0, 2.0))
        [1. 2.]

    Torch: `torch.where`.
    """
    condition = array(condition, "condition")
    if condition.dtype not in (jnp.bool_, jnp.uint8):
        raise RuntimeError(
            f"expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype}"
        )
    with broadcasting(condition, input, other):
        return jnp.where(condition != 0, *promoted(input, other))


def masked_fill(input: Array, mask: Array, value: ArrayLike) -> Array:
    """Replace the elements where the mask is True with one value.

    Raises:
        RuntimeError: The mask is not boolean, or the value is not 0-d.

    Example:
        >>> import jax.numpy as jnp
        >>> print(masked_fill(jnp.array([1.0, 2.0]), jnp.array([True, False]), 0.0))
        [0. 2.]

    Torch: `torch.Tensor.masked_fill`.
    """
    input, mask = array(input), array(mask, "mask")
    if mask.dtype != jnp.bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if jnp.ndim(value):
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{jnp.ndim(value)} dimension(s)."
        )
    with broadcasting(input, mask):
        return jnp.where(mask, jnp.asarray(value, input.dtype), input)


def masked_select(input: Array, mask: Array) -> Array:
    """Return a vector of the elements where the mask is True (not supported under `jit`).

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
    with broadcasting(input, mask):
        input, mask = jnp.broadcast_arrays(input, mask)
    return input[mask]


def masked_scatter(input: Array, mask: Array, source: Array) -> Array:
    """Replace the elements where the mask is True with successive elements of the source.

    Raises:
        RuntimeError: The source has too few elements, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(masked_scatter(jnp.zeros(2), jnp.array([False, True]), jnp.array([5.0, 6.0])))
        [0. 5.]

    Torch: `torch.masked_scatter`.
    """
    input, mask, source = array(input), array(mask, "mask"), array(source, "source")
    require_same_dtype("masked_scatter", input=input, source=source)
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
