"""Regression losses, with torch's reductions and its gradients at kinks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, exact, is_complex, reduce
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.pointwise.abs_sign import abs_kernel
from jaxgrad.functional.pointwise.arithmetic import div, mul
from jaxgrad.functional.reduction.sum_mean_prod import mean, sum


def l1_loss(
    input: Array, target: Array, *, reduction: str = "mean", weight: Array | None = None
) -> Array:
    """Absolute difference between input and target, with gradient 0 where they are equal.

    Args:
        input: Predictions, of any shape.
        target: Targets, of the same shape; a different shape broadcasts with a warning.
        reduction: `"none"`, `"mean"` or `"sum"`.
        weight: Weight of each element; the mean then divides by the sum of the weights.

    Raises:
        ValueError: `weight` and `input` differ in shape, or `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(l1_loss)(jnp.array([1.0, 3.0]), jnp.array([1.0, 2.0])))
        [0.  0.5]

    Torch: `torch.nn.functional.l1_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient where both are equal is 0 (`jnp.abs(x - y)`: 1).
    """
    reject_each("l1_loss", "bool", input, target)
    return _regression(
        lambda x, y: _l1(x - y), input, target, reduction, weight, weighted_mean=True
    )


def _l1(difference: Array) -> Array:
    return jnp.abs(difference) if is_complex(difference) else abs_kernel(difference)


def mse_loss(
    input: Array, target: Array, *, reduction: str = "mean", weight: Array | None = None
) -> Array:
    """Squared difference between input and target, with the arguments and errors of `l1_loss`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(mse_loss)(jnp.array([1.0, 3.0]), jnp.array([1.0, 2.0])))
        [0. 1.]

    Torch: `torch.nn.functional.mse_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The loss is not halved (`optax.l2_loss`: half of it).
    """
    loss = _square
    if weight is None:
        reject("mse_loss", "bool integer complex", input, target)
    else:
        reject_each("mse_loss", "bool", input, target)
        # With a weight torch differentiates the squared difference, so that a single tangent
        # flows instead of two, which could be infinite with opposite signs.
        loss = _square_of_difference
    return _regression(loss, input, target, reduction, weight, weighted_mean=True)


def _square_of_difference(x: Array, y: Array) -> Array:
    return jnp.square(x - y)


@derivative(lambda t, _, x, y: t * (2 * (x - y)), lambda t, _, x, y: -(t * (2 * (x - y))))
def _square(x: Array, y: Array) -> Array:
    return jnp.square(x - y)


def smooth_l1_loss(
    input: Array, target: Array, *, reduction: str = "mean", beta: float = 1.0
) -> Array:
    """Smooth L1 loss: `0.5 * difference**2 / beta` below beta, and linear above.

    Raises:
        RuntimeError: `beta` is negative.
        ValueError: `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(smooth_l1_loss)(jnp.array([0.5, 3.0]), jnp.zeros(2)))
        [0.25 0.5 ]

    Torch: `torch.nn.functional.smooth_l1_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The loss is divided by beta (`optax.huber_loss(delta=beta)` is not).
        2. The gradient at an infinite difference is 1 or -1 (`jnp.where` of both branches: NaN).
    """
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta. Got: {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    reject("smooth_l1_loss", "bool integer complex", input, target)
    return _regression(lambda x, y: _smooth_l1(x - y, beta=beta), input, target, reduction, None)


def _smooth_l1_derivative(t: Any, _: Any, d: Any, beta: float) -> Any:
    return t * jnp.where(jnp.abs(d) < beta, d / beta, jax.lax.stop_gradient(_sign(d)))


@derivative(_smooth_l1_derivative)
def _smooth_l1(d: Array, *, beta: float) -> Array:
    size = jnp.abs(d)
    return jnp.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta)


def _sign(d: Array) -> Array:
    return jnp.where(jnp.isnan(d), d, jnp.sign(d))


def huber_loss(
    input: Array,
    target: Array,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Array | None = None,
) -> Array:
    """Huber loss: half the squared difference below delta, and linear above.

    Args:
        input: Predictions, of any shape.
        target: Targets, of the same shape; a different shape broadcasts with a warning.
        reduction: `"none"`, `"mean"` or `"sum"`.
        delta: Absolute difference from which the loss is linear.
        weight: Weight of each element; the mean divides by the number of elements.

    Raises:
        RuntimeError: `delta` is not positive.
        ValueError: `weight` and `input` differ in shape, or `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(huber_loss)(jnp.array([0.5, 3.0]), jnp.zeros(2)))
        [0.25 0.5 ]

    Torch: `torch.nn.functional.huber_loss`.

    Differs from jax in:
        1. The gradient at an infinite difference is delta or -delta (`jnp.where` of both branches:
           NaN).
    """
    reject("huber_loss", "complex", input, target)
    reject("huber_loss", "bool integer", input)
    if delta <= 0:
        raise RuntimeError(
            f"huber_loss does not support non-positive values for delta. Got: {delta}"
        )
    return _regression(lambda x, y: _huber(x, y, delta=delta), input, target, reduction, weight)


@derivative(lambda t, _, d, delta: t * jnp.where(jnp.abs(d) < delta, 1, 0))
def _huber_slope(d: Array, *, delta: float) -> Array:
    return jnp.where(jnp.abs(d) < delta, d, _sign(d) * delta)


# Separate formulas for x and y: as in torch, infinite cotangents give NaN second derivatives.
@derivative(
    lambda t, _, x, y, delta: t * _huber_slope(x - y, delta=delta),
    lambda t, _, x, y, delta: -(t * _huber_slope(x - y, delta=delta)),
)
def _huber(x: Array, y: Array, *, delta: float) -> Array:
    size = jnp.abs(x - y)
    return jnp.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def _regression(
    loss: Callable[[Array, Array], Array],
    input: Array,
    target: Array,
    reduction: str,
    weight: Array | None,
    *,
    weighted_mean: bool = False,
) -> Array:
    """Apply a loss elementwise, then the weights and the reduction."""
    input, target = array(input), array(target, "target")
    if input.shape != target.shape:
        warnings.warn(
            f"the target has the shape {target.shape} and the input {input.shape}; they broadcast, "
            "which is rarely intended",
            stacklevel=3,
        )
    value = exact(loss, input, target)
    if weight is not None:
        if jnp.shape(weight) != input.shape:
            raise ValueError(
                f"Weights and input must have the same size, but they have {jnp.shape(weight)} and "
                f"{input.shape}"
            )
        value = mul(value, weight)
        if weighted_mean and reduction == "mean":
            return div(sum(value), sum(weight))
    if reduction == "mean":
        return mean(value)
    return sum(value) if reduction == "sum" else reduce(value, reduction)
