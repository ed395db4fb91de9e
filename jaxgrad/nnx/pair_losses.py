"""Losses of pairs and triplets of vectors."""

from __future__ import annotations

from collections.abc import Callable

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer


class MarginRankingLoss(Layer):
    """The margin by which one input should exceed the other.

    Args:
        margin: The margin that costs nothing.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> print(MarginRankingLoss()(jnp.zeros(1), jnp.ones(1), jnp.ones(1)))
        1.0

    Torch: `torch.nn.MarginRankingLoss`.
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__()
        self.margin, self.reduction = margin, reduction

    def __call__(self, input1: Array, input2: Array, target: Array) -> Array:
        return functional.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(Layer):
    """One minus the cosine where the target is 1, and its hinge where the target is -1.

    Args:
        margin: The cosine that costs nothing if the target is -1.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> x, y = jnp.array([[1.0, 0.0]]), jnp.array([[0.0, 1.0]])
        >>> print(CosineEmbeddingLoss()(x, y, jnp.ones(1)))
        1.0

    Torch: `torch.nn.CosineEmbeddingLoss`.
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__()
        self.margin, self.reduction = margin, reduction

    def __call__(self, input1: Array, input2: Array, target: Array) -> Array:
        return functional.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class TripletMarginLoss(Layer):
    """The margin by which the negative should be farther from the anchor than the positive.

    Args:
        margin: The margin that costs nothing.
        p: Exponent of the norm.
        eps: Is added to the difference.
        swap: Whether to use the distance of the positive to the negative if it is smaller.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `margin` is not positive.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.zeros((1, 2))
        >>> print(TripletMarginLoss()(x, x, x))
        1.0

    Torch: `torch.nn.TripletMarginLoss`.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-06,
        swap: bool = False,
        *,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if margin <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.margin, self.p, self.eps, self.swap, self.reduction = margin, p, eps, swap, reduction

    def __call__(self, anchor: Array, positive: Array, negative: Array) -> Array:
        return functional.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(Layer):
    """`TripletMarginLoss` with a distance function.

    Args:
        distance_function: Distances of two arrays; None means `PairwiseDistance()`.
        margin: The margin that costs nothing.
        swap: Whether to use the distance of the positive to the negative if it is smaller.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `margin` is not positive.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.zeros((1, 2))
        >>> print(TripletMarginWithDistanceLoss()(x, x, x))
        1.0

    Torch: `torch.nn.TripletMarginWithDistanceLoss`.
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Array, Array], Array] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, "
                f"got {margin} instead"
            )
        self.distance_function, self.margin, self.swap, self.reduction = (
            distance_function,
            margin,
            swap,
            reduction,
        )

    def __call__(self, anchor: Array, positive: Array, negative: Array) -> Array:
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
