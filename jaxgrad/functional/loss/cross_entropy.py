"""Losses of classes: torch's denominators with weights, ignored labels and smoothing.

Labels are integers. One that is out of range raises eagerly; under `jit` nothing is checked unless
the function is under `checkify.checkify`, and such a label then reads some other class.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import (
    array,
    in_opmath,
    is_complex,
    is_floating,
    reduce,
    require,
    require_floating,
)
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.activation.softmax import log_softmax_kernel
from jaxgrad.functional.loss._reduce import constant


def nll_loss(
    input: jax.Array,
    target: jax.Array,
    weight: jax.Array | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> jax.Array:
    """The negative log-likelihood of labels; the mean is over the weights of those that count.

    Args:
        input: Log-probabilities, `(C,)` or `(N, C, ...)`.
        target: Labels, `()` or `(N, ...)`.
        weight: A weight for each class, `(C,)`; it has no gradient.
        ignore_index: The label that does not count.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        IndexError: A label is out of range. Under `jit` only with `checkify`.
        ValueError: The batches differ in size, or the reduction is none of the three.
        RuntimeError: Shapes or dtypes do not fit.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(nll_loss)(jnp.zeros((2, 2)), jnp.array([1, -100])))
        [[ 0. -1.]
         [ 0.  0.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.nll_loss`.

    Differs from jax in:
        1. The mean leaves ignored labels out and divides by the sum of the weights (`jnp.mean`:
           by their number). Where all are ignored it is NaN, and its gradient 0.
    """
    input, target = require_floating(input, "nll_loss"), array(target, "target")
    _check_labels(input, target, ignore_index)
    weights = _class_weights(weight, input)
    return in_opmath(
        lambda x, *w: _negative_log_likelihood(x, target, *w, ignored=ignore_index, how=reduction),
        input,
        *weights,
    )


def _negative_log_likelihood(
    x: jax.Array, target: jax.Array, *w: jax.Array, ignored: int, how: str
) -> jax.Array:
    counts = target != ignored
    label = jnp.where(counts, target, 0)
    axis = 1 if x.ndim > 1 else 0
    picked = jnp.take_along_axis(x, jnp.expand_dims(label, axis), axis)
    share = jnp.where(counts, w[0][label] if w else 1, 0).astype(x.dtype)
    # The weight first: an ignored label has no part in the gradient, also where 0 / 0 divides.
    loss = jnp.where(counts, -jnp.squeeze(picked, axis) * share, 0)
    return jnp.sum(loss) / jnp.sum(share) if how == "mean" else reduce(loss, how)


def cross_entropy(
    input: jax.Array,
    target: jax.Array,
    weight: jax.Array | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> jax.Array:
    """The cross entropy of logits with labels, or with probabilities of the logits' shape.

    Args:
        input: Logits, `(C,)` or `(N, C, ...)`.
        target: Labels, `()` or `(N, ...)`, or probabilities of the input's shape.
        weight: A weight for each class, `(C,)`; it has no gradient where the targets are labels.
        ignore_index: The label that does not count.
        reduction: `"none"`, `"mean"` or `"sum"`.
        label_smoothing: How much of each target is spread over all classes.

    Raises:
        IndexError: A label is out of range. Under `jit` only with `checkify`.
        ValueError: The batches differ in size, or the reduction is none of the three.
        RuntimeError: Shapes or dtypes do not fit, or the smoothing is not in [0, 1].

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(cross_entropy)(jnp.zeros((2, 2)), jnp.array([1, -100])))
        [[ 0.5 -0.5]
         [ 0.   0. ]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.cross_entropy`.

    Differs from jax in:
        1. With labels the mean divides by the weights of those that count, with probabilities by
           their number (`optax.losses.softmax_cross_entropy_with_integer_labels`: no weights, and
           -100 is no label).
        2. Weights weigh the smoothed part class by class.
    """
    input, target = require_floating(input, "cross_entropy"), array(target, "target")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 1 if input.ndim > 1 else 0
    if input.shape == target.shape:
        return _of_probabilities(
            input, target, weight, axis, ignore_index, reduction, label_smoothing
        )
    _check_labels(input, target, ignore_index)
    options = {"ignored": ignore_index, "how": reduction}

    def loss(x: jax.Array, *w: jax.Array) -> jax.Array:
        y = log_softmax_kernel(x, axis=axis)
        exact = _negative_log_likelihood(y, target, *w, **options)
        if not label_smoothing:
            return exact
        spread = -jnp.sum(y * _along(w[0], y.ndim) if w else y, axis)
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


def _of_probabilities(
    input: jax.Array,
    target: jax.Array,
    weight: Any,
    axis: int,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> jax.Array:
    reject("cross_entropy", "complex", weight)
    if not is_floating(target) or is_complex(target):
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}"
        )
    if ignore_index >= 0:
        raise RuntimeError(
            f"ignore_index is not supported for floating point target, but it is {ignore_index}"
        )

    def loss(x: jax.Array, p: jax.Array, *w: jax.Array) -> jax.Array:
        y = log_softmax_kernel(x, axis=axis)
        if label_smoothing:
            p = p * (1 - label_smoothing) + label_smoothing / x.shape[axis]
        value = y * p * _along(w[0], y.ndim) if w else y * p
        if reduction == "mean":
            rows = x.size // x.shape[axis] if x.shape[axis] else 0
            return -jnp.sum(value) / rows if rows else -jnp.sum(value) + jnp.nan
        return reduce(-jnp.sum(value, axis), reduction)

    weights = [] if weight is None else [_sized(array(weight, "weight"), input)]
    return in_opmath(loss, input, target, *weights)


def _along(w: jax.Array, ndim: int) -> jax.Array:
    """Class weights, in the place of the class dim."""
    return w.reshape(-1, *(1 for _ in range(ndim - 2)))


def _class_weights(weight: Any, input: jax.Array) -> list[jax.Array]:
    if weight is None:
        return []
    return [_sized(constant(weight, "weight"), input)]


def _sized(weight: jax.Array, input: jax.Array) -> jax.Array:
    classes = input.shape[1 if input.ndim > 1 else 0]
    if weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.shape)}"
        )
    return weight


def _check_labels(input: jax.Array, target: jax.Array, ignore_index: int) -> None:
    if not input.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if is_floating(target):
        raise RuntimeError(
            f"expected target dtype to be an integer, but got {target.dtype}; probabilities must "
            f"have the input's shape {list(input.shape)}, and have {list(target.shape)}"
        )
    if input.ndim > 1:
        if target.ndim > 1 and input.ndim == 2:
            raise RuntimeError(
                f"0D or 1D target tensor expected, multi-target not supported; it has "
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
        ~jnp.any(bad),
        IndexError(f"a target is out of bounds: labels are from 0 to {classes - 1}"),
    )
