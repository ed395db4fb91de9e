"""Classification losses, with torch's weighted means, ignored labels and label smoothing.

Labels are integers. Eagerly, a label out of range raises; under `jit` it is only checked inside
`checkify.checkify`, and otherwise selects some other class.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import (
    array,
    in_opmath,
    is_complex,
    is_floating,
    reduce,
    require,
    require_floating,
)
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.activation.softmax import log_softmax_kernel
from jaxgrad.functional.loss._reduce import constant


def nll_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Array:
    """Negative log-likelihood of labels; the mean divides by the summed weights of the labels.

    Args:
        input: Log-probabilities, `(C,)` or `(N, C, ...)`.
        target: Labels, `()` or `(N, ...)`.
        weight: Weight of each class, `(C,)`; not differentiable.
        ignore_index: Label that contributes neither to the loss nor to the mean.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        IndexError: A label is out of range (under `jit` only with `checkify`).
        ValueError: The batches differ in size, or `reduction` is not one of the three.
        RuntimeError: A shape or dtype does not fit.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(nll_loss)(jnp.zeros((2, 2)), jnp.array([1, -100])))
        [[ 0. -1.]
         [ 0.  0.]]

    Torch: `torch.nn.functional.nll_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The mean skips ignored labels and divides by the sum of the weights (`jnp.mean`: by the
           number of labels). If all labels are ignored it is NaN, with gradient 0.
    """
    input, target = require_floating(input, "nll_loss"), array(target, "target")
    _check_labels(input, target, ignore_index)
    weights = _class_weights(weight, input)
    return in_opmath(
        lambda x, *w: _negative_log_likelihood(
            x, target, *w, ignored=ignore_index, reduction=reduction
        ),
        input,
        *weights,
    )


def _negative_log_likelihood(
    x: Array, target: Array, *w: Array, ignored: int, reduction: str
) -> Array:
    label = jnp.where(target != ignored, target, 0)
    picked = _pick(x, label=label)
    return _weighted(picked, label, target, *w, ignored=ignored, reduction=reduction)


def _pick(x: Array, *, label: Array) -> Array:
    """Return the entry of each label along the class dim."""
    axis = 1 if x.ndim > 1 else 0
    return jnp.squeeze(jnp.take_along_axis(x, jnp.expand_dims(label, axis), axis), axis)


def _picked_tangent(t: Array, _: Array, x: Array, label: Array) -> Array:
    picked = _pick(t, label=label)
    if not x.size:
        return picked
    # The softmax `z / sum(z)` is divided after the sum, which is one operation per row.
    axis = 1 if x.ndim > 1 else 0
    z = jnp.exp(x - jax.lax.stop_gradient(jnp.max(x, axis, keepdims=True)))
    return picked - jnp.sum(z * t, axis) / jnp.sum(z, axis)


@derivative(_picked_tangent)
def _pick_log_softmax(x: Array, *, label: Array) -> Array:
    """Return the log-probability of each label, without saving those of the other labels."""
    return _pick(log_softmax_kernel(x, axis=1 if x.ndim > 1 else 0), label=label)


def _weighted(
    picked: Array, label: Array, target: Array, *w: Array, ignored: int, reduction: str
) -> Array:
    counts = target != ignored
    share = jnp.where(counts, w[0][label] if w else 1, 0).astype(picked.dtype)
    # Weighting before the mask keeps ignored labels out of the gradient even if the mean is 0 / 0.
    loss = jnp.where(counts, -picked * share, 0)
    return jnp.sum(loss) / jnp.sum(share) if reduction == "mean" else reduce(loss, reduction)


def cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """Cross entropy between logits and labels, or probabilities of the logits' shape.

    Args:
        input: Logits, `(C,)` or `(N, C, ...)`.
        target: Labels, `()` or `(N, ...)`, or probabilities of the input's shape.
        weight: Weight of each class, `(C,)`; not differentiable if the targets are labels.
        ignore_index: Label that contributes neither to the loss nor to the mean.
        reduction: `"none"`, `"mean"` or `"sum"`.
        label_smoothing: Fraction of each target that is spread evenly over all classes.

    Raises:
        IndexError: A label is out of range (under `jit` only with `checkify`).
        ValueError: The batches differ in size, or `reduction` is not one of the three.
        RuntimeError: A shape or dtype does not fit, or `label_smoothing` is not in [0, 1].

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(cross_entropy)(jnp.zeros((2, 2)), jnp.array([1, -100])))
        [[ 0.5 -0.5]
         [ 0.   0. ]]

    Torch: `torch.nn.functional.cross_entropy`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. For labels the mean divides by the summed weights of the labels that are not ignored
           (`optax.losses.softmax_cross_entropy_with_integer_labels` has neither weights nor an
           ignored label); for probabilities it divides by the number of rows.
        2. The smoothed part of the loss is weighted class by class.
    """
    input, target = require_floating(input, "cross_entropy"), array(target, "target")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 1 if input.ndim > 1 else 0
    if input.shape == target.shape:
        return _with_probabilities(
            input, target, weight, axis, ignore_index, reduction, label_smoothing
        )
    _check_labels(input, target, ignore_index)
    options = {"ignored": ignore_index, "reduction": reduction}

    def loss(x: Array, *w: Array) -> Array:
        if not label_smoothing:
            label = jnp.where(target != ignore_index, target, 0)
            return _weighted(_pick_log_softmax(x, label=label), label, target, *w, **options)
        y = log_softmax_kernel(x, axis=axis)
        exact = _negative_log_likelihood(y, target, *w, **options)
        spread = -jnp.sum(y * _on_class_dim(w[0], y.ndim) if w else y, axis)
        counts = target != ignore_index
        spread = jnp.where(counts, spread, 0)
        share = jnp.where(counts, w[0][jnp.where(counts, target, 0)] if w else 1, 0)
        smooth = (
            jnp.sum(spread) / jnp.sum(share.astype(x.dtype))
            if reduction == "mean"
            else reduce(spread, reduction)
        )
        return (1 - label_smoothing) * exact + smooth * (label_smoothing / x.shape[axis])

    return in_opmath(loss, input, *_class_weights(weight, input))


def _with_probabilities(
    input: Array,
    target: Array,
    weight: Any,
    axis: int,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Array:
    reject("cross_entropy", "complex", weight)
    if not is_floating(target) or is_complex(target):
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}"
        )
    if ignore_index >= 0:
        raise RuntimeError(
            f"ignore_index is not supported for floating point target, but got {ignore_index}"
        )

    def loss(x: Array, p: Array, *w: Array) -> Array:
        y = log_softmax_kernel(x, axis=axis)
        if label_smoothing:
            p = p * (1 - label_smoothing) + label_smoothing / x.shape[axis]
        value = y * p * _on_class_dim(w[0], y.ndim) if w else y * p
        if reduction == "mean":
            rows = x.size // x.shape[axis] if x.shape[axis] else 0
            return -jnp.sum(value) / rows if rows else -jnp.sum(value) + jnp.nan
        return reduce(-jnp.sum(value, axis), reduction)

    weights = [] if weight is None else [_checked_size(array(weight, "weight"), input)]
    return in_opmath(loss, input, target, *weights)


def _on_class_dim(w: Array, ndim: int) -> Array:
    """Reshape class weights so that they broadcast along the class dim."""
    return w.reshape(-1, *(1 for _ in range(ndim - 2)))


def _class_weights(weight: Any, input: Array) -> list[Array]:
    if weight is None:
        return []
    return [_checked_size(constant(weight, "weight"), input)]


def _checked_size(weight: Array, input: Array) -> Array:
    classes = input.shape[1 if input.ndim > 1 else 0]
    if weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.shape)}"
        )
    return weight


def _check_labels(input: Array, target: Array, ignore_index: int) -> None:
    if not input.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if is_floating(target):
        raise RuntimeError(
            f"expected target dtype to be an integer, but got {target.dtype}; probabilities must "
            f"have the input's shape {list(input.shape)}, but have {list(target.shape)}"
        )
    if input.ndim > 1:
        if target.ndim > 1 and input.ndim == 2:
            raise RuntimeError(
                f"0D or 1D target tensor expected, multi-target not supported; the target has "
                f"{target.ndim} dims"
            )
        if target.shape[:1] != input.shape[:1]:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                f"({target.shape[0] if target.ndim else 1})."
            )
    expected = input.shape[:1] + input.shape[2:] if input.ndim > 1 else ()
    if target.shape != expected:
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")
    classes = input.shape[1 if input.ndim > 1 else 0]
    bad = (target != ignore_index) & ((target < 0) | (target >= classes))
    require(
        ~jnp.any(bad), IndexError(f"a target is out of bounds: labels are from 0 to {classes - 1}")
    )
