"""Losses of pairs and triplets of vectors."""

from __future__ import annotations

from collections.abc import Callable

from jaxgrad import functional
from jaxgrad._core.torch_versions import NEWEST, supported
from jaxgrad.nnx.module import Array, Layer


class _PairLoss(Layer):
    """Base class of losses of two inputs and a target of 1 and -1."""

    _fun: Callable[..., Array]

    def __init__(
        self, margin: float = 0.0, *, reduction: str = "mean", torch: str = NEWEST
    ) -> None:
        super().__init__()
        self.margin, self.reduction, self.torch = margin, reduction, supported(torch)

    def __call__(self, input1: Array, input2: Array, target: Array) -> Array:
        options = {"margin": self.margin, "reduction": self.reduction, "torch": self.torch}
        return self._fun(input1, input2, target, **options)


class _TripletLoss(Layer):
    """Base class of losses of an anchor, a positive and a negative."""

    _fun: Callable[..., Array]
    _options: tuple[str, ...]  # the arguments of the function that are attributes

    def __init__(self, margin: float, swap: bool, reduction: str, torch: str) -> None:
        super().__init__()
        if margin <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected margin to be greater than 0, got {margin} instead"
            )
        self.margin, self.swap, self.reduction = margin, swap, reduction
        self.torch = supported(torch)

    def __call__(self, anchor: Array, positive: Array, negative: Array) -> Array:
        options = {name: getattr(self, name) for name in self._options}
        return self._fun(anchor, positive, negative, **options)


class MarginRankingLoss(_PairLoss):
    """The margin by which one input should exceed the other.

    Args:
        margin: The margin that costs nothing.
        reduction: "mean", "sum" or "none".
        torch: Version whose gradient is computed; it changed in 2.14 at the margin.

    Example:
        >>> import jax.numpy as jnp
        >>> print(MarginRankingLoss()(jnp.zeros(1), jnp.ones(1), jnp.ones(1)))
        1.0

    Torch: `torch.nn.MarginRankingLoss`.
    """

    _fun = staticmethod(functional.margin_ranking_loss)


class CosineEmbeddingLoss(_PairLoss):
    """One minus the cosine where the target is 1, and its hinge where the target is -1.

    Args:
        margin: The cosine that costs nothing if the target is -1.
        reduction: "mean", "sum" or "none".
        torch: Version whose gradient is computed; it changed in 2.14 at the margin.

    Example:
        >>> import jax.numpy as jnp
        >>> x, y = jnp.array([[1.0, 0.0]]), jnp.array([[0.0, 1.0]])
        >>> print(CosineEmbeddingLoss()(x, y, jnp.ones(1)))
        1.0

    Torch: `torch.nn.CosineEmbeddingLoss`.
    """

    _fun = staticmethod(functional.cosine_embedding_loss)


class TripletMarginLoss(_TripletLoss):
    """The margin by which the negative should be farther from the anchor than the positive.

    Args:
        margin: The margin that costs nothing.
        p: Exponent of the norm.
        eps: Is added to the difference.
        swap: Whether to use the distance of the positive to the negative if it is smaller.
        reduction: "mean", "sum" or "none".
        torch: Version whose gradient is computed; it changed in 2.14 at the margin.

    Raises:
        ValueError: `margin` is not positive.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.zeros((1, 2))
        >>> print(TripletMarginLoss()(x, x, x))
        1.0

    Torch: `torch.nn.TripletMarginLoss`.
    """

    _fun = staticmethod(functional.triplet_margin_loss)
    _options = ("margin", "p", "eps", "swap", "reduction", "torch")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-06,
        swap: bool = False,
        *,
        reduction: str = "mean",
        torch: str = NEWEST,
    ) -> None:
        super().__init__(margin, swap, reduction, torch)
        self.p, self.eps = p, eps


class TripletMarginWithDistanceLoss(_TripletLoss):
    """`TripletMarginLoss` with a distance function.

    Args:
        distance_function: Distances of two arrays; None means `PairwiseDistance()`.
        margin: The margin that costs nothing.
        swap: Whether to use the distance of the positive to the negative if it is smaller.
        reduction: "mean", "sum" or "none".
        torch: Version whose gradient is computed; it changed in 2.14 at the margin.

    Raises:
        ValueError: `margin` is not positive.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.zeros((1, 2))
        >>> print(TripletMarginWithDistanceLoss()(x, x, x))
        1.0

    Torch: `torch.nn.TripletMarginWithDistanceLoss`.
    """

    _fun = staticmethod(functional.triplet_margin_with_distance_loss)
    _options = ("distance_function", "margin", "swap", "reduction", "torch")

    def __init__(
        self,
        *,
        distance_function: Callable[[Array, Array], Array] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
        torch: str = NEWEST,
    ) -> None:
        super().__init__(margin, swap, reduction, torch)
        self.distance_function = distance_function
