"""Shrinkage activations with torch's gradients at their bounds and at NaN.

torch's gradient at NaN can depend on the element's position in the array, because its vectorised
and scalar loops differ; here it is the one for a one-element array.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, require_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.activation.sigmoid_tanh_softplus import tanh


def tanhshrink(input: Array) -> Array:
    """Return `x - tanh(x)`.

    Example:
        >>> import jax
        >>> print(jax.grad(tanhshrink)(0.0))
        0.0

    Torch: `torch.nn.functional.tanhshrink`.

    Differs from jax in:
        1. The gradient is `1 - (1 - tanh(x)^2)`, 0 for tiny inputs (`x - jnp.tanh(x)`: -x).
    """
    reject("tanhshrink", "bool", input)
    input = array(input)
    return input - tanh(input)


def hardshrink(input: Array, lambd: float = 0.5) -> Array:
    """Set the elements in [-lambd, lambd] to 0.

    Example:
        >>> import jax
        >>> print(jax.grad(hardshrink)(0.5))
        0.0

    Torch: `torch.nn.functional.hardshrink`. Gradient conventions: docs/operators.md.
    """
    return _hardshrink(require_floating(input, "hardshrink"), lambd=lambd)


def _shrink_derivative(t: Any, _: Any, x: Any, lambd: float) -> Any:
    return jnp.where((x >= -lambd) & (x <= lambd), 0, t)


@derivative(_shrink_derivative)
def _hardshrink(x: Array, *, lambd: float) -> Array:
    return jnp.where((x >= -lambd) & (x <= lambd), 0, x)


def softshrink(input: Array, lambd: float = 0.5) -> Array:
    """Shrink each element toward 0 by `lambd`, and set those in [-lambd, lambd] to 0.

    Raises:
        RuntimeError: `lambd` is negative.

    Example:
        >>> import jax
        >>> print(jax.grad(softshrink)(0.5), softshrink(jax.numpy.array(2.0)))
        0.0 1.5

    Torch: `torch.nn.functional.softshrink`. Gradient conventions: docs/operators.md.
    """
    if lambd < 0:
        raise RuntimeError(
            f"lambda must be greater or equal to 0, but found to be {lambd}; make it positive"
        )
    return in_opmath(_softshrink, require_floating(input, "softshrink"), lambd=lambd)


@derivative(_shrink_derivative)
def _softshrink(x: Array, *, lambd: float) -> Array:
    return jnp.where(x > lambd, x - lambd, jnp.where(x < -lambd, x + lambd, x * 0))
