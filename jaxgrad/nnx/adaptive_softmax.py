"""Losses with a linear layer of their own, for many classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx.containers import ModuleList, Sequential
from jaxgrad.nnx.linears import Linear
from jaxgrad.nnx.module import Array, Dtype, Layer, needed, value


class _Output(NamedTuple):
    """The log-probability of each target, and the loss."""

    output: Array
    loss: Array


class AdaptiveLogSoftmaxWithLoss(Layer):
    """A log-softmax that gives clusters of rare classes fewer features.

    Args:
        in_features: Size of the last dim of the input, `(N, in)` or `(in,)`.
        n_classes: Number of classes, ordered by frequency.
        cutoffs: The first class of each cluster of rare classes.
        div_value: Factor by which the number of features shrinks from cluster to cluster.
        head_bias: Whether the layer of the frequent classes has a bias.
        dtype: Dtype of the parameters; None means float32.
        rngs: Keys for the parameters.

    Returns:
        A call with input and target returns `output`, the log-probability of each target, and
        `loss`, minus its mean. `log_prob(input)` returns those of all classes, and
        `predict(input)` the most probable class.

    Raises:
        ValueError: `cutoffs` is empty, unsorted, or has an element outside of `1..n_classes - 1`.
        RuntimeError: The dims of input and target do not fit. A target outside of
            `0..n_classes - 1` gives NaN (torch raises).

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], 2.0, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((3, 4), "float32"), jnp.array([0, 3, 5])).output.shape)
        (3,)

    Torch: `torch.nn.AdaptiveLogSoftmaxWithLoss`.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, "AdaptiveLogSoftmaxWithLoss")
        if not isinstance(cutoffs, Sequence):
            raise TypeError(f"cutoffs must be a list of classes, but got {cutoffs!r}")
        _check_cutoffs(list(cutoffs), n_classes)
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = (*cutoffs, n_classes)
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, dtype, rngs=rngs)
        self.tail = ModuleList()
        for cluster in range(self.n_clusters):
            hidden = int(in_features // div_value ** (cluster + 1))
            classes = self.cutoffs[cluster + 1] - self.cutoffs[cluster]
            first = Linear(in_features, hidden, False, dtype, rngs=rngs)
            self.tail.append(Sequential(first, Linear(hidden, classes, False, dtype, rngs=rngs)))

    def __call__(self, input: Array, target: Array) -> Any:
        _check_dims(input, target)
        log_prob = self.log_prob(input if target.ndim else input[None])
        known = (target >= 0) & (target < self.n_classes)
        rows = jnp.atleast_1d(jnp.where(known, target, 0))
        picked = jnp.take_along_axis(log_prob, rows[:, None], 1)[:, 0]
        picked = jnp.where(jnp.atleast_1d(known), picked, jnp.nan)
        return _Output(picked if target.ndim else picked[0], -picked.mean())

    def log_prob(self, input: Array) -> Array:
        """Return the log-probability `(N, n_classes)` of every class."""
        head = functional.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for cluster, layers in enumerate(self.tail):
            own = functional.log_softmax(layers(input), 1)
            parts.append(own + head[:, self.shortlist_size + cluster, None])
        return jnp.concatenate(parts, 1)

    def predict(self, input: Array) -> Array:
        """Return the class that torch predicts: the best of the list or of all rare classes."""
        head = self.head(input)
        best = jnp.argmax(head, 1)
        return jnp.where(best < self.shortlist_size, best, jnp.argmax(self.log_prob(input), 1))


class LinearCrossEntropyLoss(Layer):
    """Cross-entropy of the output of a linear layer; see `functional.linear_cross_entropy`.

    Args:
        in_features: Size of the last dim of the input.
        num_classes: Number of classes C.
        out_features: Further dims of the output of the linear layer.
        bias: Whether the linear layer has a bias.
        dtype: Dtype of the parameters; None means float32.
        reduction: "mean", "sum" or "none".
        weight: `(C,)`, a weight of each class; it is part of the state dict.
        ignore_index: Targets with this value do not contribute.
        label_smoothing: Share of the target distribution that is spread over all classes.
        options: Passed to `functional.linear_cross_entropy`, which ignores it.
        rngs: Keys for the parameters.

    Raises:
        RuntimeError: `weight` has another shape, or `label_smoothing` is not between 0 and 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = LinearCrossEntropyLoss(3, 5, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((2, 3), "float32"), jnp.array([0, 4])).shape)
        ()

    Torch: `torch.nn.LinearCrossEntropyLoss`.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        dtype: Dtype = None,
        reduction: str = "mean",
        weight: Array | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, "LinearCrossEntropyLoss")
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        self.buffer("weight", weight)
        self.num_classes, self.out_features, self.reduction = num_classes, out_features, reduction
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias, dtype, rngs=rngs)

    def __call__(self, input: Array, target: Array) -> Array:
        shape = (self.num_classes, *self.out_features)
        bias = value(self.linear.bias)
        return functional.linear_cross_entropy(
            input,
            value(self.linear.weight).reshape(*shape, -1),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=value(self.weight),
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )


def _check_cutoffs(cutoffs: list[int], classes: int) -> None:
    """Raise torch's error unless the cutoffs increase from at least 1 to below `classes`."""
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    whole = all(int(c) == c for c in cutoffs)
    if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] >= classes or not whole:
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )


def _check_dims(input: Array, target: Array) -> None:
    """Raise torch's error unless input and target are batched or both are not."""
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.ndim and len(input) != len(target):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with size torch.Size({list(input.shape)})"
        )
