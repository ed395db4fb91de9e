"""Sigmoid, logit, tanh, softplus and variants with torch's gradients in the tails."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad.functional._core.arguments import array, floating, in_opmath, require_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.pointwise.abs_sign import abs as magnitude


def softplus(input: jax.Array, beta: float = 1.0, threshold: float = 20.0) -> jax.Array:
    """Return `log(1 + exp(beta x)) / beta`, or `x` where `beta x` is above the threshold.

    Example:
        >>> import jax
        >>> print(jax.grad(softplus)(25.0), float(jax.grad(softplus)(0.0)))
        1.0 0.5

    Torch: `torch.nn.functional.softplus`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Where `beta * x > threshold` the gradient is 1 (`jax.nn.softplus`: 1 - exp(-x)).
    """
    x = require_floating(input, "softplus")
    return in_opmath(softplus_kernel, x, beta=beta, threshold=threshold)


def _softplus_derivative(t: Any, _: Any, x: Any, beta: float, threshold: float) -> Any:
    # At the threshold torch uses the curve's slope, with second derivative 0.
    curve = _sigmoid(jnp.where(x * beta >= threshold, threshold, x * beta))
    return t * jnp.where(x * beta > threshold, 1, curve)


@derivative(_softplus_derivative)
def softplus_kernel(x: jax.Array, *, beta: float, threshold: float) -> jax.Array:
    return jnp.where(x * beta > threshold, x, jnp.log1p(jnp.exp(x * beta)) / beta)


def softsign(input: jax.Array) -> jax.Array:
    """Return `x / (|x| + 1)`.

    Example:
        >>> import jax
        >>> print(jax.grad(softsign)(0.0))
        1.0

    Torch: `torch.nn.functional.softsign`.
    """
    reject("softsign", "bool", input)
    input = array(input)
    return floating(input) / (magnitude(input) + 1)


def hardsigmoid(input: jax.Array, *, torch_gradient: bool = False) -> jax.Array:
    """Return the piecewise linear sigmoid `clip(x + 3, 0, 6) / 6`.

    Args:
        input: Array of any shape.
        torch_gradient: Whether to use torch's slope in float64, which is 1/6 rounded to float32
            and therefore off in the ninth digit.

    Example:
        >>> import jax
        >>> print(jax.grad(hardsigmoid)(3.0), f"{jax.grad(hardsigmoid)(1.0):.4f}")
        0.0 0.1667

    Torch: `torch.nn.functional.hardsigmoid`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient is 0 at -3, 3 and NaN.
    """
    return in_opmath(_hardsigmoid, require_floating(input, "hardsigmoid"), rounded=torch_gradient)


def _hardsigmoid_derivative(t: Any, _: Any, x: Any, rounded: bool) -> Any:
    slope = float(np.float32(1 / 6)) if rounded else 1 / 6
    return jnp.where((x > -3) & (x < 3), t * slope, 0)


@derivative(_hardsigmoid_derivative)
def _hardsigmoid(x: jax.Array, *, rounded: bool) -> jax.Array:
    del rounded
    return jnp.clip(x + 3, 0, 6) / 6


def logsigmoid(input: jax.Array) -> jax.Array:
    """Return the logarithm of the sigmoid.

    Example:
        >>> import jax
        >>> print(jax.grad(logsigmoid)(0.0))
        0.5

    Torch: `torch.nn.functional.logsigmoid`.
    """
    return in_opmath(logsigmoid_kernel, require_floating(input, "logsigmoid"))


@derivative(lambda t, _, x: t * _sigmoid(-x))
def logsigmoid_kernel(x: jax.Array) -> jax.Array:
    return jnp.minimum(x, 0) - jnp.log1p(jnp.exp(-jnp.abs(x)))


def sigmoid(input: jax.Array) -> jax.Array:
    """Return the logistic function `1 / (1 + exp(-x))`.

    Example:
        >>> import jax
        >>> print(jax.grad(sigmoid)(0.0))
        0.25

    Torch: `torch.sigmoid`, `torch.nn.functional.sigmoid`.
    """
    return in_opmath(_sigmoid, array(input))


@derivative(lambda t, _, y: t * (1 - 2 * y))  # one term, because two could be inf - inf
def _slope(y: jax.Array) -> jax.Array:
    return (1 - y) * y


@derivative(lambda t, y, _: t * _slope(y))
def _sigmoid(x: jax.Array) -> jax.Array:
    return jax.lax.logistic(x)


def tanh(input: jax.Array) -> jax.Array:
    """Return the hyperbolic tangent of each element.

    Example:
        >>> import jax
        >>> print(jax.grad(tanh)(0.0))
        1.0

    Torch: `torch.tanh`.

    Differs from jax in:
        1. The gradient is torch's `1 - y * y`, which loses digits where y is near 1
           (`jnp.tanh`: `(1 - y) * (1 + y)`).
    """
    return in_opmath(_tanh, array(input))


@derivative(lambda t, y, _: t * (1 - y * y))
def _tanh(x: jax.Array) -> jax.Array:
    return accurate_tanh(x)


def accurate_tanh(x: jax.Array) -> jax.Array:
    """Return tanh to one ULP; XLA's is off by seven ULP near 1, and `1 - y * y` amplifies that."""
    if jnp.iscomplexobj(x):
        return jnp.tanh(x)
    small = jnp.exp(-2 * jnp.abs(x))
    return jnp.where(jnp.abs(x) > 0.5, jnp.copysign(1 - 2 * small / (1 + small), x), jnp.tanh(x))


def logit(input: jax.Array, eps: float | None = None) -> jax.Array:
    """Return `log(p / (1 - p))`, with p clipped to [eps, 1 - eps] if `eps` is given.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(logit)(0.5):.4f}")
        4.0000

    Torch: `torch.logit`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Outside [0, 1] the gradient is NaN (`jax.scipy.special.logit`: finite).
        2. At eps and 1 - eps the gradient passes the clipping in full (`jnp.clip`: half of it).
    """
    reject("logit", "complex", input)
    return in_opmath(_logit, array(input), eps=eps)


def _logit_derivative(t: Any, _: Any, x: Any, eps: float | None) -> Any:
    low = 0.0 if eps is None else eps
    within = (x >= low) & (x <= 1 - low)
    x = x + lax.stop_gradient(jnp.where(x == 0, -x, 0))  # the gradient is +inf at -0.0 too
    factor = jnp.where(within, 1 / (x * (1 - x)), jnp.nan if eps is None else 0)
    return (t if eps is None else jnp.where(within, t, 0)) * factor


@derivative(_logit_derivative)
def _logit(x: jax.Array, *, eps: float | None) -> jax.Array:
    p = x if eps is None else jnp.clip(x, eps, 1 - eps)
    return jnp.log(p / (1 - p))
