"""Losses of classifiers: cross-entropies and their kin."""

from __future__ import annotations

from typing import Any

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, value


class CrossEntropyLoss(Layer):
    """The negative log-likelihood of the log-softmax of the input.

    Args:
        weight: `(C,)`, a weight of each class; it is part of the state dict.
        ignore_index: Targets with this value do not contribute.
        reduction: "mean", "sum" or "none".
        label_smoothing: Share of the target distribution that is spread over all classes.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{CrossEntropyLoss()(jnp.zeros((1, 2)), jnp.array([0])):.4f}")
        0.6931

    Torch: `torch.nn.CrossEntropyLoss`.
    """

    def __init__(
        self,
        weight: Array | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.buffer("weight", weight)
        self.ignore_index, self.reduction, self.label_smoothing = (
            ignore_index,
            reduction,
            label_smoothing,
        )

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.cross_entropy(
            input,
            target,
            weight=value(self.weight),
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(Layer):
    """The negative log-likelihood of log-probabilities; see `CrossEntropyLoss`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(NLLLoss()(jnp.array([[-0.5, -2.0]]), jnp.array([0])))
        0.5

    Torch: `torch.nn.NLLLoss`.
    """

    def __init__(
        self, weight: Array | None = None, *, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.buffer("weight", weight)
        self.ignore_index, self.reduction = ignore_index, reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.nll_loss(
            input,
            target,
            weight=value(self.weight),
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class BCELoss(Layer):
    """The binary cross-entropy of probabilities.

    Args:
        weight: A weight of each element, which is part of the state dict.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{BCELoss()(jnp.array([0.5]), jnp.array([1.0])):.4f}")
        0.6931

    Torch: `torch.nn.BCELoss`.
    """

    def __init__(self, weight: Array | None = None, *, reduction: str = "mean") -> None:
        super().__init__()
        self.buffer("weight", weight)
        self.reduction = reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.binary_cross_entropy(
            input, target, weight=value(self.weight), reduction=self.reduction
        )


class BCEWithLogitsLoss(Layer):
    """The binary cross-entropy of the sigmoid of the input.

    Args:
        weight: A weight of each element, which is part of the state dict.
        reduction: "mean", "sum" or "none".
        pos_weight: A weight of the positive examples of each class, also in the state dict.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{BCEWithLogitsLoss()(jnp.array([0.0]), jnp.array([1.0])):.4f}")
        0.6931

    Torch: `torch.nn.BCEWithLogitsLoss`.
    """

    pos_weight: Any

    def __init__(
        self,
        weight: Array | None = None,
        *,
        reduction: str = "mean",
        pos_weight: Array | None = None,
    ) -> None:
        super().__init__()
        self.buffer("weight", weight)
        self.buffer("pos_weight", pos_weight)
        self.reduction = reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.binary_cross_entropy_with_logits(
            input,
            target,
            weight=value(self.weight),
            reduction=self.reduction,
            pos_weight=value(self.pos_weight),
        )


class CTCLoss(Layer):
    """The connectionist temporal classification loss of log-probabilities `(T, N, C)`.

    Args:
        blank: Index of the blank label.
        reduction: "mean", "sum" or "none".
        zero_infinity: Whether to replace infinite losses by zeros.
        torch_gradient: Whether to return torch's gradient; see `functional.ctc_loss`.

    Example:
        >>> import jax.numpy as jnp
        >>> log_probs = jnp.log(jnp.full((2, 1, 2), 0.5))
        >>> print(f"{CTCLoss()(log_probs, jnp.array([[1]]), (2,), (1,)):.4f}")
        0.2877

    Torch: `torch.nn.CTCLoss`.
    """

    def __init__(
        self,
        blank: int = 0,
        reduction: str = "mean",
        zero_infinity: bool = False,
        *,
        torch_gradient: bool = False,
    ) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity
        self.torch_gradient = torch_gradient

    def __call__(
        self,
        log_probs: Array,
        targets: Array,
        input_lengths: Array | tuple[int, ...],
        target_lengths: Array | tuple[int, ...],
    ) -> Array:
        return functional.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            blank=self.blank,
            reduction=self.reduction,
            zero_infinity=self.zero_infinity,
            torch_gradient=self.torch_gradient,
        )
