"""Distance-based losses, with torch's margins, swaps and gradients at coinciding points."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST
from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, reduce, together
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.loss._reduce import EPSILON
from jaxgrad.functional.pointwise.clamp_maximum import hinge, minimum_kernel
from jaxgrad.functional.reduction.distance import pairwise, pairwise_distance


def cosine_embedding_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    *,
    reduction: str = "mean",
    torch: str = NEWEST,
) -> Array:
    """Cosine loss: `1 - cosine` for target 1, `max(0, cosine - margin)` for target -1.

    Args:
        input1: Vectors, `(N, D)` or `(D,)`.
        input2: Vectors, of the same shape.
        target: 1 or -1 for each pair, `(N,)` or `()`.
        margin: Margin of the hinge.
        reduction: `"none"`, `"mean"` or `"sum"`.
        torch: Version whose gradient is computed; it changed in 2.14 at the margin.

    Raises:
        RuntimeError: The target has more than one dim, or not one dim less than the inputs.
        ValueError: `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x, y = jnp.array([[1.0, 0.0]]), jnp.array([[0.0, 1.0]])
        >>> print(jax.grad(cosine_embedding_loss)(x, y, jnp.array([-1])))
        [[0. 0.]]
        >>> print(jax.grad(cosine_embedding_loss)(x, y, jnp.array([-1]), torch="2.13"))
        [[0. 1.]]

    Torch: `torch.nn.functional.cosine_embedding_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient at the margin is 0, and was the full one before torch 2.14
           (`jnp.maximum(0, ...)`: half of it).
        2. 1e-12 is added to each squared norm.
    """
    reject("cosine_embedding_loss", "complex", input1, input2)
    x1, x2 = array(input1, "input1"), array(input2, "input2")
    target = array(target, "target")
    if target.ndim > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported; the target has "
            f"{target.ndim} dims"
        )
    if {x1.ndim, x2.ndim} != {target.ndim + 1}:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with sizes {list(x1.shape)} and {list(x2.shape)}."
        )

    def loss(x: Array, y: Array) -> Array:
        squares = [jnp.sum(z * z, -1) + EPSILON for z in (x, y)]
        cosine = jnp.sum(x * y, -1) / jnp.sqrt(squares[0] * squares[1])
        above = hinge(cosine - margin, 0, torch)
        value = jnp.where(target == 1, 1 - cosine, 0) + jnp.where(target == -1, above, 0)
        return reduce(value, reduction)

    return in_opmath(loss, x1, x2)


def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
    torch: str = NEWEST,
) -> Array:
    """Triplet loss, `max(0, d(anchor, positive) - d(anchor, negative) + margin)`.

    Args:
        anchor: Vectors, `(N, D)` or `(D,)`.
        positive: Vectors that should be near; broadcast with the anchor.
        negative: Vectors that should be far; broadcast with the anchor.
        margin: Margin of the hinge.
        p: Order of the norm.
        eps: Added to each difference of coordinates.
        swap: Whether to use d(positive, negative) where it is less than d(anchor, negative).
        reduction: `"none"`, `"mean"` or `"sum"`.
        torch: Version whose gradient is computed; it changed in 2.14 at the margin.

    Raises:
        ValueError: The margin is not positive, or `reduction` is not one of the three.
        RuntimeError: The three inputs differ in their number of dims.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> print(triplet_margin_loss(one, one, 1.5 * one).round(4))
        0.5

    Torch: `torch.nn.functional.triplet_margin_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. For coinciding points the gradient is finite, since eps is added to the difference
           (`optax.losses.triplet_margin_loss` adds it to the distance; `jnp.linalg.norm`: NaN).
        2. The gradient at the margin is 0, and was the full one before torch 2.14
           (`jnp.maximum(0, ...)`: half of it).
    """
    reject_each("triplet_margin_loss", "bool", anchor, positive, negative)

    def distance(x: Array, y: Array) -> Array:
        return pairwise(x, y, p=p, eps=eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction, torch)


def triplet_margin_with_distance_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    *,
    distance_function: Callable[[Array, Array], Array] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    torch: str = NEWEST,
) -> Array:
    """Triplet loss with any distance (default `pairwise_distance`); see `triplet_margin_loss`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> print(triplet_margin_with_distance_loss(one, one, 1.5 * one).round(4))
        0.5

    Torch: `torch.nn.functional.triplet_margin_with_distance_loss`.
    """
    reject_each("triplet_margin_with_distance_loss", "bool", anchor, positive, negative)
    distance = distance_function or pairwise_distance
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction, torch)


def _triplet(
    anchor: Array,
    positive: Array,
    negative: Array,
    distance: Callable[[Array, Array], Array],
    margin: float,
    swap: bool,
    reduction: str,
    torch: str,
) -> Array:
    a, b, c = array(anchor, "anchor"), array(positive, "positive"), array(negative, "negative")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if len({a.ndim, b.ndim, c.ndim}) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {a.ndim}D, positive {b.ndim}D, and negative {c.ndim}D "
            "inputs"
        )

    def loss(a: Array, b: Array, c: Array) -> Array:
        near, far = distance(a, b), distance(a, c)
        if swap:
            far = minimum_kernel(far, distance(b, c))
        return reduce(hinge(margin + near - far, 0, torch), reduction)

    return in_opmath(loss, *together(a, b, c))
