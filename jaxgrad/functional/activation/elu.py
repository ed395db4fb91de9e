"""Exponential linear units: torch's gradients at the kink, in tails and at NaN.

Where torch's gradient at NaN depends on the element's place in the array (its vectorised loop and
the loop for the rest differ), it is that of a single element.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.functional._core.arguments import in_opmath, require_floating
from jaxgrad.functional._core.derivative import derivative


_SELU_ALPHA = 1.6732632423543772848170429916717


_SELU_SCALE = 1.0507009873554804934193349852946


def _elu_derivative(t: Any, _: Any, x: Any, negative: float, scale: float, rate: float) -> Any:
    # At 0 torch has the left branch, and no second derivative there.
    left = negative * rate * jnp.exp(jnp.where(x * rate < 0, x * rate, 0))
    return t * jnp.where(x <= 0, left, scale)


@derivative(_elu_derivative)
def _elu(x: jax.Array, *, negative: float, scale: float, rate: float) -> jax.Array:
    return jnp.where(x < 0, jnp.expm1(x * rate) * negative, x * scale)


def elu(input: jax.Array, alpha: float = 1.0) -> jax.Array:
    """Exponential linear unit: `alpha * (exp(x) - 1)` below 0.

    Example:
        >>> import jax
        >>> print(jax.grad(elu)(0.0, 0.5), jax.grad(elu)(-40.0) > 0)
        0.5 True

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.elu`.

    Differs from jax in:
        1. The gradient of the tail is `alpha * exp(x)` as far as it reaches; `jax.nn.elu`
           differentiates `expm1`, which is 0 from x = -40 on.
    """
    return in_opmath(_elu, require_floating(input, "elu"), negative=alpha, scale=1.0, rate=1.0)


def selu(input: jax.Array) -> jax.Array:
    """Scaled exponential linear unit.

    Example:
        >>> import jax
        >>> print(jax.grad(selu)(-40.0) > 0)
        True

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.selu`.

    Differs from jax in:
        1. The tail of the gradient, as `elu`'s.
    """
    negative = _SELU_ALPHA * _SELU_SCALE
    return in_opmath(
        _elu, require_floating(input, "selu"), negative=negative, scale=_SELU_SCALE, rate=1.0
    )


def celu(input: jax.Array, alpha: float = 1.0, *, torch_gradient: bool = False) -> jax.Array:
    """Exponential linear unit, continuously differentiable for every alpha.

    Args:
        input: Of any shape.
        alpha: The bound of the negative side, and its width.
        torch_gradient: torch's gradient has alpha rounded to float32, which is wrong in the
            ninth digit. True: that one.

    Raises:
        RuntimeError: `alpha` is 0.

    Example:
        >>> import jax
        >>> print(jax.grad(celu)(0.0, 2.0))
        1.0

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.celu`.

    Differs from jax in:
        1. The tail of the gradient, as `elu`'s.
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
def _celu(x: jax.Array, *, alpha: float, rate: float, slope: float) -> jax.Array:
    del slope
    return jnp.where(x < 0, jnp.expm1(x * rate) * alpha, x)
