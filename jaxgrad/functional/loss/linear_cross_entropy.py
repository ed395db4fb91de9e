"""Cross entropy of the logits of a linear layer."""

from __future__ import annotations

from typing import Any

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional.loss.cross_entropy_nll import cross_entropy
from jaxgrad.functional.nn.linear import linear


def linear_cross_entropy(
    input: Array,
    linear_weight: Array,
    target: Array,
    *,
    linear_bias: Array | None = None,
    weight: Array | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Array:
    """Return `cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    Args:
        input: Features, `(N, in)` or `(in,)`.
        linear_weight: Weight of the linear layer, `(C, in)` or `(C, ..., in)`.
        target: Labels, `(N, ...)`, or probabilities, `(N, C, ...)`.
        linear_bias: Bias of the linear layer, `(C,)` or `(C, ...)`.
        weight: Weight of each class, `(C,)`.
        reduction: `"none"`, `"mean"` or `"sum"`.
        ignore_index: Label that contributes neither to the loss nor to the mean; None means -100.
        label_smoothing: Fraction of each target that is spread evenly over all classes.
        options: Ignored: torch's `LinearCrossEntropyOptions` only save memory.

    Raises:
        IndexError: A label is out of range (under `jit` only with `checkify`).
        RuntimeError: A shape or dtype does not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> loss = linear_cross_entropy(jnp.ones((1, 3)), jnp.zeros((2, 3)), jnp.array([1]))
        >>> print(f"{loss:.4f}")
        0.6931

    Torch: `torch.nn.functional.linear_cross_entropy`.
    """
    del options
    x, w = array(input), array(linear_weight, "linear_weight")
    if not x.ndim or not w.ndim or x.shape[-1] != w.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{list(x.shape)} and {list(w.shape)}"
        )
    bias = None if linear_bias is None else array(linear_bias, "linear_bias").reshape(-1)
    logits = linear(x, w.reshape(-1, w.shape[-1]), bias).reshape(*x.shape[:-1], *w.shape[:-1])
    if array(target, "target").shape == logits.shape and ignore_index is not None:
        raise RuntimeError(
            "ignore_index cannot be specified when target contains probabilities; leave "
            f"ignore_index={ignore_index} out"
        )
    return cross_entropy(
        logits,
        target,
        weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )
