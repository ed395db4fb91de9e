"""Losses of distances: torch's margins and swaps, and its gradients at equal points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, in_opmath, reduce, together
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.loss._reduce import EPSILON
from jaxgrad.functional.pointwise.clamp import clamp_min_kernel, minimum_kernel
from jaxgrad.functional.reduction.distance import pairwise, pairwise_distance


def cosine_embedding_loss(
    input1: jax.Array,
    input2: jax.Array,
    target: jax.Array,
    margin: float = 0,
    *,
    reduction: str = "mean",
) -> jax.Array:
    """1 minus the cosine where the target is 1; by how much it exceeds the margin where it is -1.

    Args:
        input1: `(N, D)` or `(D,)`.
        input2: Of the same shape.
        target: 1 and -1, `(N,)` or `()`.
        margin: The margin.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        RuntimeError: The dims of the target do not fit those of the inputs.
        ValueError: The reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x, y = jnp.array([[1.0, 0.0]]), jnp.array([[0.0, 1.0]])
        >>> print(jax.grad(cosine_embedding_loss)(x, y, jnp.array([-1])))
        [[0. 1.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.cosine_embedding_loss`.

    Differs from jax in:
        1. At the margin the gradient is whole (`jnp.maximum(0, cosine - margin)`: half).
        2. 1e-12 is added to each squared norm.
    """
    reject("cosine_embedding_loss", "complex", input1, input2)
    x1, x2 = array(input1, "input1"), array(input2, "input2")
    target = array(target, "target")
    if target.ndim > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported; it has "
            f"{target.ndim} dims"
        )
    if {x1.ndim, x2.ndim} != {target.ndim + 1}:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with sizes {list(x1.shape)} and {list(x2.shape)}."
        )

    def loss(x: jax.Array, y: jax.Array) -> jax.Array:
        squares = [jnp.sum(z * z, -1) + EPSILON for z in (x, y)]
        cosine = jnp.sum(x * y, -1) / jnp.sqrt(squares[0] * squares[1])
        above = clamp_min_kernel(cosine - margin, jnp.asarray(0, cosine.dtype))
        value = jnp.where(target == 1, 1 - cosine, 0) + jnp.where(target == -1, above, 0)
        return reduce(value, reduction)

    return in_opmath(loss, x1, x2)


def triplet_margin_loss(
    anchor: jax.Array,
    positive: jax.Array,
    negative: jax.Array,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> jax.Array:
    """By how much the positive is not nearer to the anchor than the negative, by a margin.

    Args:
        anchor: `(N, D)` or `(D,)`.
        positive: Broadcasting with it.
        negative: Broadcasting with it.
        margin: The margin.
        p: The norm.
        eps: Added to each difference.
        swap: Whether the distance from the positive to the negative counts, where it is less.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: The margin is not positive, or the reduction is none of the three.
        RuntimeError: The numbers of dims differ.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> print(triplet_margin_loss(one, one, 1.5 * one).round(4))
        0.5

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.triplet_margin_loss`.

    Differs from jax in:
        1. Of equal points the gradient is that at eps (`optax.losses.triplet_margin_loss`: adds
           eps to the distance; with `jnp.linalg.norm`: NaN).
        2. At the margin it is whole (`jnp.maximum(0, ...)`: half).
    """
    reject_each("triplet_margin_loss", "bool", anchor, positive, negative)

    def distance(x: jax.Array, y: jax.Array) -> jax.Array:
        return pairwise(x, y, p=p, eps=eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: jax.Array,
    positive: jax.Array,
    negative: jax.Array,
    *,
    distance_function: Callable[[jax.Array, jax.Array], jax.Array] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> jax.Array:
    """`triplet_margin_loss` with any distance; None is `pairwise_distance`.

    Raises:
        ValueError: The margin is not positive, or the reduction is none of the three.
        RuntimeError: The numbers of dims differ.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> print(triplet_margin_with_distance_loss(one, one, 1.5 * one).round(4))
        0.5

    Torch: `torch.nn.functional.triplet_margin_with_distance_loss`.
    """
    reject_each("triplet_margin_with_distance_loss", "bool", anchor, positive, negative)
    chosen = distance_function or pairwise_distance
    return _triplet(anchor, positive, negative, chosen, margin, swap, reduction)


def _triplet(
    anchor: Any,
    positive: Any,
    negative: Any,
    distance: Callable[..., jax.Array],
    margin: float,
    swap: bool,
    reduction: str,
) -> jax.Array:
    a, b, c = array(anchor, "anchor"), array(positive, "positive"), array(negative, "negative")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if len({a.ndim, b.ndim, c.ndim}) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {a.ndim}D, positive {b.ndim}D, and negative {c.ndim}D "
            "inputs"
        )

    def loss(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        near, far = distance(a, b), distance(a, c)
        if swap:
            far = minimum_kernel(far, distance(b, c))
        return reduce(clamp_min_kernel(margin + near - far, jnp.asarray(0, near.dtype)), reduction)

    return in_opmath(loss, *together(a, b, c))
