"""Activations that multiply by a gate, with torch's gradients at kinks and in the tails."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import canonical_dim, in_opmath, require_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional.activation.sigmoid_tanh_softplus import (
    accurate_tanh,
    sigmoid,
    softplus_kernel,
    tanh,
)


def gelu(input: jax.Array, approximate: str = "none") -> jax.Array:
    """Return the Gaussian error linear unit, exact or approximated by tanh.

    Args:
        input: Array of any shape.
        approximate: `"none"` or `"tanh"`.

    Raises:
        RuntimeError: `approximate` is neither `"none"` nor `"tanh"`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.array(1.0)
        >>> print(f"{gelu(x):.4f} {jax.nn.gelu(x):.4f}")
        0.8413 0.8412

    Torch: `torch.nn.functional.gelu`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The default is exact (`jax.nn.gelu`: the approximation by tanh).
        2. In the far tail (x < -8) the gradient loses digits, as in torch: at -10, where it is
           -7.6e-22, it is off by 1 %.

    Differs from torch in:
        1. The value at infinity is infinity. torch's vectorised CPU kernel returns NaN there; its
           scalar kernel returns infinity, as may happen for an array with few elements.
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            f"approximate argument must be either none or tanh, but it is {approximate!r}"
        )
    fun = _gelu if approximate == "none" else _gelu_tanh
    return in_opmath(fun, require_floating(input, "gelu"))


def _gelu_derivative(t: Any, _: Any, x: Any) -> Any:
    density = math.sqrt(0.5 / math.pi) * jnp.exp(-0.5 * x * x)
    return t * (0.5 * (1 + jax.lax.erf(x * math.sqrt(0.5))) + x * density)


@derivative(_gelu_derivative)
def _gelu(x: jax.Array) -> jax.Array:
    return 0.5 * x * (1 + jax.lax.erf(x * math.sqrt(0.5)))


# XLA's tanh suffices here: where it is off by seven ULP the gradient is 1 or 0.
def _gelu_tanh_derivative(t: Any, _: Any, x: Any) -> Any:
    y = jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * (x * x))
    return t * (0.5 * (1 + y) + 0.5 * x * (1 - y * y) * slope)


@derivative(_gelu_tanh_derivative)
def _gelu_tanh(x: jax.Array) -> jax.Array:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + jnp.tanh(inner))


def silu(input: jax.Array) -> jax.Array:
    """Return `x * sigmoid(x)`.

    Example:
        >>> import jax
        >>> print(jax.grad(silu)(0.0))
        0.5

    Torch: `torch.nn.functional.silu`.
    """
    return in_opmath(_silu, require_floating(input, "silu", complex=True))


def _silu_derivative(t: Any, _: Any, x: Any) -> Any:
    s = sigmoid(x)
    return t * (s * (1 + x * (1 - s)))


@derivative(_silu_derivative)
def _silu(x: jax.Array) -> jax.Array:
    return x * jax.lax.logistic(x)


def mish(input: jax.Array) -> jax.Array:
    """Return `x * tanh(softplus(x))`.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(mish)(0.0):.4f}")
        0.6000

    Torch: `torch.nn.functional.mish`.
    """
    return in_opmath(_mish, require_floating(input, "mish"))


def _mish_derivative(t: Any, _: Any, x: Any) -> Any:
    squashed = tanh(softplus_kernel(x, beta=1.0, threshold=jnp.inf))
    return t * (squashed + x * sigmoid(x) * (1 - squashed * squashed))


@derivative(_mish_derivative)
def _mish(x: jax.Array) -> jax.Array:
    return x * accurate_tanh(jnp.log1p(jnp.exp(x)))


def hardswish(input: jax.Array) -> jax.Array:
    """Return `x * hardsigmoid(x)`.

    Example:
        >>> import jax
        >>> print(jax.grad(hardswish)(-3.0), jax.grad(hardswish)(3.0))
        0.0 1.0

    Torch: `torch.nn.functional.hardswish`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At NaN the gradient is 1 (`jax.nn.hard_swish`: NaN).
    """
    return in_opmath(_hardswish, require_floating(input, "hardswish"))


@derivative(
    lambda t, _, x: jnp.where(x <= -3, 0, t) * jnp.where((x > -3) & (x < 3), x / 3 + 0.5, 1)
)
def _hardswish(x: jax.Array) -> jax.Array:
    return x * jnp.clip(x + 3, 0, 6) / 6


def glu(input: jax.Array, dim: int = -1) -> jax.Array:
    """Return the first half along a dim times the sigmoid of the second half.

    Raises:
        RuntimeError: The dim has an odd size, or the input is a 0-d array.

    Example:
        >>> import jax.numpy as jnp
        >>> print(glu(jnp.array([3.0, 0.0])))
        [1.5]

    Torch: `torch.nn.functional.glu`.
    """
    input = require_floating(input, "glu")
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = canonical_dim(dim, input.ndim)
    if input.shape[axis] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {input.shape[axis]}"
        )
    return in_opmath(lambda x: _gate(*jnp.split(x, 2, axis)), input)


@derivative(
    lambda t, _, __, gate: t * sigmoid(gate), lambda t, _, x, gate: t * (x * _sigmoid_slope(gate))
)
def _gate(value: jax.Array, gate: jax.Array) -> jax.Array:
    return value * sigmoid(gate)


# A separate function, because the two terms of its derivative could be inf and -inf.
@derivative(lambda t, y, x: t * (y * (1 - 2 * sigmoid(x))))
def _sigmoid_slope(x: jax.Array) -> jax.Array:
    y = sigmoid(x)
    return y * (1 - y)
