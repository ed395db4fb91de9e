"""Binary losses, with torch's reductions and its gradients where a logarithm is clamped.

Differentiating with respect to a weight raises torch's error where torch has no such derivative.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import (
    array,
    in_opmath,
    is_floating,
    reduce,
    require,
    require_floating,
)
from jaxgrad.functional._core.derivative import derivative, not_differentiable
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.activation.sigmoid_tanh_softplus import logsigmoid_kernel
from jaxgrad.functional.loss._reduce import EPSILON, constants, loss_arguments, weighted


def binary_cross_entropy(
    input: Array, target: Array, weight: Array | None = None, *, reduction: str = "mean"
) -> Array:
    """Binary cross entropy of probabilities, with each logarithm clamped to at least -100.

    Args:
        input: Probabilities, of any shape.
        target: Probabilities, of the same shape.
        weight: Weight that broadcasts to the input; not differentiable.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        RuntimeError: A probability is not in [0, 1] (under `jit` only with `checkify`).
        ValueError: The shapes differ, or `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(binary_cross_entropy)(jnp.array([0.5, 1.0]), jnp.ones(2)))
        [-1.  0.]

    Torch: `torch.nn.functional.binary_cross_entropy`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At 0 and 1 the loss is at most 100 and the gradient is finite, up to 1e12 (`-log(p)`: inf
           and NaN).
    """
    require_same_dtype("binary_cross_entropy", input=input, target=target)
    input, target = loss_arguments("binary_cross_entropy", input, target)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({list(target.shape)}) that is different to the input size "
            f"({list(input.shape)}) is deprecated. Please ensure they have the same size."
        )
    for name, x in (("input", input), ("target", target)):
        require(
            jnp.all((x >= 0) & (x <= 1)),
            RuntimeError(f"all elements of {name} should be between 0 and 1"),
        )

    def loss(x: Array, y: Array, *w: Array) -> Array:
        return reduce(weighted(_binary(x, y), *w), reduction)

    return in_opmath(loss, input, target, *constants(weight=weight))


@derivative(lambda t, _, x, y: t * _binary_slope(x, y), lambda t, _, x, __: t * -_log_odds(x))
def _binary(x: Array, y: Array) -> Array:
    floor = jnp.asarray(-100, x.dtype)
    return (y - 1) * jnp.maximum(jnp.log1p(-x), floor) - y * jnp.maximum(jnp.log(x), floor)


@derivative(
    lambda t, _, x, y: (
        t * ((x * x - 2 * x * y + y) / (jnp.square(x + 1e-12) * jnp.square(1 - x + 1e-12)))
    ),
    lambda t, _, x, __: t * -(1 / jax.lax.stop_gradient(jnp.maximum((1 - x) * x, 1e-12))),
)
def _binary_slope(x: Array, y: Array) -> Array:
    return (x - y) / jnp.maximum((1 - x) * x, EPSILON)


@derivative(lambda t, _, x: t / (x * (1 - x)))
def _log_odds(x: Array) -> Array:
    return jnp.log(x / (1 - x))


def binary_cross_entropy_with_logits(
    input: Array,
    target: Array,
    weight: Array | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Array | None = None,
) -> Array:
    """Binary cross entropy computed from logits.

    Args:
        input: Logits, of any shape.
        target: Probabilities, of the same shape.
        weight: Weight that broadcasts to the input; not differentiable.
        reduction: `"none"`, `"mean"` or `"sum"`.
        pos_weight: Weight of positive targets, which broadcasts; not differentiable.

    Returns:
        The loss, in the dtype of `target`; a scalar unless `reduction` is `"none"`.

    Raises:
        ValueError: The shapes differ, or `reduction` is not one of the three.
        RuntimeError: `target` is not floating.
        NotImplementedError: `input` is not floating.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(binary_cross_entropy_with_logits)(jnp.zeros(2), jnp.array([0.0, 1.0])))
        [ 0.25 -0.25]

    Torch: `torch.nn.functional.binary_cross_entropy_with_logits`.
    Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. `optax.sigmoid_binary_cross_entropy` takes neither weight.
        2. If the dtypes differ, optax's result has the promoted dtype, not the target's.
    """
    input = require_floating(input, "binary_cross_entropy_with_logits")
    target = array(target, "target")
    if not is_floating(target):
        raise RuntimeError(
            f"result type {input.dtype} can't be cast to the dtype of target, {target.dtype}; "
            "convert target to a float"
        )
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({list(target.shape)}) must be the same as input size "
            f"({list(input.shape)})"
        )
    weights = constants(weight=weight, pos_weight=pos_weight)

    def loss(x: Array, y: Array, *w: Array) -> Array:
        value = _logits(x, y) if pos_weight is None else _weighted_logits(x, y, w[-1])
        return reduce(weighted(value, *w[: int(weight is not None)]), reduction)

    return in_opmath(loss, input, target, *weights).astype(target.dtype)


@derivative(lambda t, _, x, y: t * (jax.lax.logistic(x) - y), lambda t, _, x, __: t * -x)
def _logits(x: Array, y: Array) -> Array:
    return (1 - y) * x - logsigmoid_kernel(x)


@derivative(
    lambda t, _, x, y, w: t * ((w * y + 1 - y) * jax.lax.logistic(x) - w * y),
    lambda t, _, x, __, w: t * (logsigmoid_kernel(-x) - logsigmoid_kernel(x) * w),
    None,
)
def _weighted_logits(x: Array, y: Array, w: Array) -> Array:
    return (1 - y) * x - logsigmoid_kernel(x) * ((w - 1) * y + 1)


def soft_margin_loss(input: Array, target: Array, *, reduction: str = "mean") -> Array:
    """Soft margin loss, `log(1 + exp(-target * input))`, which overflows as in torch.

    Raises:
        RuntimeError: The loss is differentiated with respect to the target.
        ValueError: `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(soft_margin_loss)(jnp.zeros(1), jnp.ones(1)))
        [-0.5]

    Torch: `torch.nn.functional.soft_margin_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Where `target * input` is below -709 (float32: -88) the loss is inf and its gradient NaN
           (`jax.nn.softplus(-target * input)`: both finite).
    """

    def loss(x: Array, y: Array) -> Array:
        return reduce(_soft_margin(x, y), reduction)

    return in_opmath(loss, *loss_arguments("soft_margin_loss", input, target, complex=True))


def _soft_margin_derivative(t: Any, _: Any, x: Any, y: Any) -> Any:
    z = jnp.exp(-y * x)
    return t * (-y * z / (z + 1))


@derivative(_soft_margin_derivative, not_differentiable("target"))
def _soft_margin(x: Array, y: Array) -> Array:
    return jnp.log1p(jnp.exp(-y * x))


def multilabel_soft_margin_loss(
    input: Array, target: Array, weight: Array | None = None, *, reduction: str = "mean"
) -> Array:
    """Binary cross entropy of logits, averaged over the last dim.

    Args:
        input: Logits, `(..., C)`.
        target: Zeros and ones, which broadcast with the input.
        weight: Weight of each class, or an array that broadcasts.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(multilabel_soft_margin_loss)(jnp.zeros((1, 2)), jnp.eye(1, 2)))
        [[-0.25  0.25]]

    Torch: `torch.nn.functional.multilabel_soft_margin_loss`.
    """

    def loss(x: Array, y: Array, *w: Array) -> Array:
        value = -(y * logsigmoid_kernel(x) + (1 - y) * logsigmoid_kernel(-x))
        return reduce(jnp.sum(weighted(value, *w), -1) / x.shape[-1], reduction)

    weights = [] if weight is None else [array(weight, "weight")]
    input = require_floating(input, "multilabel_soft_margin_loss")
    reject("multilabel_soft_margin_loss", "bool", target)
    return in_opmath(loss, input, array(target, "target"), *weights)
