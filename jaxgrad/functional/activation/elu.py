"""Exponential linear units with torch's gradients at the kink, in the tails and at NaN.

torch's gradient at NaN can depend on the element's position in the array, because its vectorised
and scalar loops differ; here it is the one for a one-element array.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require_floating
from jaxgrad.functional._core.derivative import derivative


_SELU_ALPHA = 1.6732632423543772848170429916717


_SELU_SCALE = 1.0507009873554804934193349852946


def _elu_derivative(t: Any, _: Any, x: Any, negative: float, scale: float, rate: float) -> Any:
    # At 0 torch takes the left branch, whose second derivative is 0 there.
    left = negative * rate * jnp.exp(jnp.where(x * rate < 0, x * rate, 0))
    return t * jnp.where(x <= 0, left, scale)


@derivative(_elu_derivative)
def _elu(x: Array, *, negative: float, scale: float, rate: float) -> Array:
    return jnp.where(x < 0, jnp.expm1(x * rate) * negative, x * scale)


def elu(input: Array, alpha: float = 1.0) -> Array:
    """Return the exponential linear unit: `x` above 0, else `alpha * (exp(x) - 1)`.

    Example:
        >>> import jax
        >>> print(jax.grad(elu)(0.0, 0.5), jax.grad(elu)(-40.0) > 0)
        0.5 True

    Torch: `torch.nn.functional.elu`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient of the tail is `alpha * exp(x)` until it underflows; `jax.nn.elu`
           differentiates `expm1`, whose gradient is 0 below x = -40.
    """
    return in_opmath(_elu, require_floating(input, "elu"), negative=alpha, scale=1.0, rate=1.0)


def selu(input: Array) -> Array:
    """Return the scaled exponential linear unit, `elu` with constants that preserve the variance.

    Example:
        >>> import jax
        >>> print(jax.grad(selu)(-40.0) > 0)
        True

    Torch: `torch.nn.functional.selu`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The tail of the gradient differs as for `elu`.
    """
    negative = _SELU_ALPHA * _SELU_SCALE
    return in_opmath(
        _elu, require_floating(input, "selu"), negative=negative, scale=_SELU_SCALE, rate=1.0
    )


def celu(input: Array, alpha: float = 1.0, *, torch_gradient: bool = False) -> Array:
    """Return `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`, a smooth `elu`.

    Args:
        input: Array of any shape.
        alpha: Scale of the negative part; its limit is `-alpha`.
        torch_gradient: Whether to use torch's gradient, which rounds `alpha` to float32 and is
            therefore off in the ninth digit.

    Raises:
        RuntimeError: `alpha` is 0.

    Example:
        >>> import jax
        >>> print(jax.grad(celu)(0.0, 2.0))
        1.0

    Torch: `torch.nn.functional.celu`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The tail of the gradient differs as for `elu`.
    """
    if alpha == 0:
        raise RuntimeError(f"alpha cannot be 0 for celu, but it is {alpha}")
    rate = 1.0 / alpha
    rounded = 1.0 / float(np.float32(alpha)) if torch_gradient else rate
    return in_opmath(_celu, require_floating(input, "celu"), alpha=alpha, rate=rate, slope=rounded)


def _celu_derivative(t: Any, out: Any, x: Any, alpha: float, rate: float, slope: float) -> Any:
    del rate
    return _elu_derivative(t, out, x, alpha, 1.0, slope)


@derivative(_celu_derivative)
def _celu(x: Array, *, alpha: float, rate: float, slope: float) -> Array:
    del slope
    return jnp.where(x < 0, jnp.expm1(x * rate) * alpha, x)
