"""Losses with a margin between classes."""

from __future__ import annotations

from jaxgrad import functional
from jaxgrad._core.torch_versions import NEWEST, supported
from jaxgrad.nnx.module import Array, Layer, value


class MultiMarginLoss(Layer):
    """The margin between the target class and each other class.

    Args:
        p: Exponent of the margin, 1 or 2.
        margin: The margin that costs nothing.
        weight: `(C,)`, a weight of each class; it is part of the state dict.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `p` or the number of dims of `weight` is not 1 (or 2, for `p`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(MultiMarginLoss()(jnp.array([[2.0, 1.5]]), jnp.array([0])))
        0.25

    Torch: `torch.nn.MultiMarginLoss`.
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Array | None = None,
        *,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, "
                f"got {weight.ndim}D instead"
            )
        self.buffer("weight", weight)
        self.p, self.margin, self.reduction = p, margin, reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=value(self.weight),
            reduction=self.reduction,
        )


class MultiLabelMarginLoss(Layer):
    """The margin between every target class and every other class.

    Args:
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> print(MultiLabelMarginLoss()(jnp.array([[2.0, 1.5]]), jnp.array([[0, -1]])))
        0.25

    Torch: `torch.nn.MultiLabelMarginLoss`.
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(Layer):
    """The binary cross-entropy of the sigmoid of the input, averaged over classes.

    Args:
        weight: `(C,)`, a weight of each class; it is part of the state dict.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> loss = MultiLabelSoftMarginLoss()(jnp.zeros((1, 2)), jnp.ones((1, 2)))
        >>> print(f"{loss:.4f}")
        0.6931

    Torch: `torch.nn.MultiLabelSoftMarginLoss`.
    """

    def __init__(self, weight: Array | None = None, *, reduction: str = "mean") -> None:
        super().__init__()
        self.buffer("weight", weight)
        self.reduction = reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.multilabel_soft_margin_loss(
            input, target, weight=value(self.weight), reduction=self.reduction
        )


class SoftMarginLoss(Layer):
    """The logistic loss, for targets of -1 and 1.

    Args:
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{SoftMarginLoss()(jnp.zeros(1), jnp.ones(1)):.4f}")
        0.6931

    Torch: `torch.nn.SoftMarginLoss`.
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(Layer):
    """The input where the target is 1, and its hinge where the target is -1.

    Args:
        margin: The input that costs nothing if the target is -1.
        reduction: "mean", "sum" or "none".
        torch: Version whose gradient is computed; it changed in 2.14 at the margin.

    Example:
        >>> import jax.numpy as jnp
        >>> print(HingeEmbeddingLoss()(jnp.array([0.25]), -jnp.ones(1)))
        0.75

    Torch: `torch.nn.HingeEmbeddingLoss`.
    """

    def __init__(
        self, margin: float = 1.0, *, reduction: str = "mean", torch: str = NEWEST
    ) -> None:
        super().__init__()
        self.margin, self.reduction, self.torch = margin, reduction, supported(torch)

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.hinge_embedding_loss(
            input, target, margin=self.margin, reduction=self.reduction, torch=self.torch
        )
