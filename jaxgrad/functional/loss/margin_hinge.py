"""Hinge losses, with torch's reductions and its gradients at the margin."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST
from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import (
    array,
    in_opmath,
    promoted,
    reduce,
    require,
    require_floating,
)
from jaxgrad.functional._core.dtypes import reject_each
from jaxgrad.functional.loss._reduce import constant, loss_arguments
from jaxgrad.functional.pointwise.clamp_maximum import hinge


def hinge_embedding_loss(
    input: Array,
    target: Array,
    margin: float = 1.0,
    *,
    reduction: str = "mean",
    torch: str = NEWEST,
) -> Array:
    """Hinge embedding loss: the distance for target 1, `max(0, margin - distance)` for target -1.

    Args:
        input: Distances, of any shape.
        target: 1 or -1 for each distance; broadcasts with the input.
        margin: Margin of the hinge.
        reduction: `"none"`, `"mean"` or `"sum"`.
        torch: Version whose gradient is computed; it changed in 2.14 at the margin.

    Raises:
        ValueError: `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(hinge_embedding_loss)(jnp.array([0.5]), jnp.array([-1])))
        [-1.]

    Torch: `torch.nn.functional.hinge_embedding_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient at the margin is 0, and was -1 before torch 2.14
           (`jnp.maximum(0, margin - x)`: -0.5).
    """
    target = array(target, "target")

    def loss(x: Array) -> Array:
        lack = hinge(margin - x, 0, torch)
        value = jnp.where(target != 1, lack, 0) + jnp.where(target != -1, x, 0)
        return reduce(value, reduction)

    return in_opmath(loss, *loss_arguments("hinge_embedding_loss", input))


def margin_ranking_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    *,
    reduction: str = "mean",
    torch: str = NEWEST,
) -> Array:
    """Ranking loss, `max(0, -target * (input1 - input2) + margin)`.

    Raises:
        RuntimeError: The inputs and the target differ in their number of dims.
        ValueError: `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> one = jnp.ones(1)
        >>> print(jax.grad(margin_ranking_loss)(one, 2 * one, one))
        [-1.]

    Torch: `torch.nn.functional.margin_ranking_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient at the margin is 0, and was the full one before torch 2.14
           (`jnp.maximum(0, ...)`: half of it).
    """
    reject_each("margin_ranking_loss", "bool complex", input1, input2, target)
    arrays = [array(input1, "input1"), array(input2, "input2"), array(target, "target")]
    if len({x.ndim for x in arrays}) > 1:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"{', '.join(str(list(x.shape)) for x in arrays)}"
        )

    def loss(a: Array, b: Array, y: Array) -> Array:
        return reduce(hinge(-y * (a - b) + margin, 0, torch), reduction)

    return in_opmath(loss, *promoted(*arrays))


def multi_margin_loss(
    input: Array,
    target: Array,
    p: int = 1,
    margin: float = 1.0,
    weight: Array | None = None,
    *,
    reduction: str = "mean",
) -> Array:
    """Multi-class hinge loss, `max(0, margin - input[target] + input[i])**p` averaged over classes.

    Args:
        input: Scores, `(C,)` or `(N, C)`.
        target: Labels, `()` or `(N,)`.
        p: Exponent, 1 or 2.
        margin: Margin of the hinge.
        weight: Weight of each class, `(C,)`; not differentiable.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: `p` is neither 1 nor 2, `weight` is not one-dimensional, or `reduction` is not
            one of the three.
        RuntimeError: A shape does not fit, or a label is out of range (under `jit` only with
            `checkify`).

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(multi_margin_loss)(jnp.array([1.0, 0.5, -1.0, -2.0]), jnp.array(0)))
        [-0.25  0.25  0.    0.  ]

    Torch: `torch.nn.functional.multi_margin_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient at the margin is 0 (`jnp.maximum(0, ...)`: half of the full one).
    """
    input, target = require_floating(input, "multi_margin_loss"), array(target, "target")
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, but got p={p}")
    if weight is not None and jnp.ndim(weight) != 1:
        raise ValueError(f"weight must be one-dimensional, but it has {jnp.ndim(weight)} dims")
    _check_scores(input)
    rows, classes = input.shape if input.ndim == 2 else (1, input.size)
    if target.size != rows or target.ndim > 1:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{rows}], but got {list(target.shape)}. "
            f"Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.size != classes:
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got {list(weight.shape)}"
        )
    require(
        jnp.all((target >= 0) & (target < classes)),
        RuntimeError(f"target out of range: labels are from 0 to {classes - 1}"),
    )
    label = target.reshape(rows, 1)

    def loss(x: Array, *w: Array) -> Array:
        x = x.reshape(rows, classes)
        z = margin - jnp.take_along_axis(x, label, 1) + x
        off = (z > 0) & (jnp.arange(classes) != label)
        value = jnp.where(off, z, 0) ** p
        value = value * w[0][label] if w else value
        total = jnp.sum(value, 1) / classes
        return reduce(total.reshape(target.shape), reduction)

    weights = [] if weight is None else [constant(weight, "weight")]
    return in_opmath(loss, input, *weights)


def multilabel_margin_loss(input: Array, target: Array, *, reduction: str = "mean") -> Array:
    """Multi-label hinge loss, `max(0, 1 - input[label] + input[i])` summed and divided by C.

    Args:
        input: Scores, `(C,)` or `(N, C)`.
        target: Labels, of the same shape; the first -1 ends the list of labels.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: `reduction` is not one of the three.
        RuntimeError: A shape does not fit, or a label is out of range (under `jit` only with
            `checkify`).

    Example:
        >>> import jax, jax.numpy as jnp
        >>> labels = jnp.array([0, -1, 1, 1])
        >>> print(jax.grad(multilabel_margin_loss)(jnp.array([1.0, 0.5, -1.0, -2.0]), labels))
        [-0.25  0.25  0.    0.  ]

    Torch: `torch.nn.functional.multilabel_margin_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient at the margin is 0 (`jnp.maximum(0, ...)`: half of the full one).
    """
    input, target = require_floating(input, "multilabel_margin_loss"), array(target, "target")
    _check_scores(input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    classes = input.shape[-1] if input.ndim else 1
    require(
        jnp.all((target >= -1) & (target < classes)),
        RuntimeError(f"argument #2 'target' is out of range: labels are from -1 to {classes - 1}"),
    )
    labels = target.reshape(-1, classes)
    listed = jnp.cumsum(labels == -1, -1) == 0
    label = jnp.where(listed, labels, 0)
    chosen = jnp.any(listed[:, :, None] & (label[:, :, None] == jnp.arange(classes)), 1)

    def loss(x: Array) -> Array:
        x = x.reshape(labels.shape)
        z = 1 - jnp.take_along_axis(x, label, 1)[:, :, None] + x[:, None, :]
        off = (z > 0) & listed[:, :, None] & ~chosen[:, None, :]
        total = jnp.sum(jnp.where(off, z, 0), (1, 2)) / classes
        return reduce(total if input.ndim == 2 else total[0], reduction)

    return in_opmath(loss, input)


def _check_scores(input: Array) -> None:
    if input.ndim > 2 or 0 in input.shape[1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
