"""Power-average pooling, with torch's windows and its gradients at zero."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, floating, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional._core.windows import Sizes, sizes
from jaxgrad.functional.pointwise.abs_sign import abs as _abs
from jaxgrad.functional.pointwise.pow_sqrt import pow as _pow
from jaxgrad.functional.pooling.average import average_pool
from jaxgrad.functional.pooling.max import max_pool


def lp_pool1d(
    input: Array,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:
    """Return `sum(x**p) ** (1 / p)` over each window of `(N, C, L)`, with p = `norm_type`.

    Raises:
        RuntimeError: A size is invalid, or the output would be empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(lambda x: lp_pool1d(x, 2, 2).sum())(jnp.zeros((1, 2))))
        [[0. 0.]]

    Torch: `torch.nn.functional.lp_pool1d`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient of a window of zeros is 0 (`(x**p).sum() ** (1 / p)`: NaN).
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Array,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:
    """Pool each window of `(N, C, H, W)` as `lp_pool1d` does, with the same errors.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lp_pool2d(jnp.ones((1, 2, 2)), 2, 2))
        [[[2.]]]

    Torch: `torch.nn.functional.lp_pool2d`.
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Array,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:
    """Pool each window of `(N, C, D, H, W)` as `lp_pool1d` does, with the same errors.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lp_pool3d(jnp.ones((1, 2, 2, 2)), 1, 2).ravel())
        [8.]

    Torch: `torch.nn.functional.lp_pool3d`.
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _lp_pool(
    places: int,
    input: Array,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None,
    ceil_mode: bool,
) -> Array:
    reject(f"lp_pool{places}d", "complex", input)
    input = array(input)
    if math.isinf(norm_type):
        sign = 1 if norm_type > 0 else -1
        maxima = max_pool(places, sign * _abs(input), kernel_size, stride, 0, 1, ceil_mode, False)
        assert isinstance(maxima, jax.Array)
        return sign * maxima
    powers = _pow(floating(input), norm_type)
    mean = average_pool(places, powers, kernel_size, stride, 0, ceil_mode, True, None)
    count = math.prod(sizes(kernel_size, places, "kernel_size"))
    return in_opmath(_root, mean, count=count, p=norm_type)


def _root_tangent(t: Array, _: Array, y: Array, *, count: int, p: float) -> Array:
    if p == 1:  # torch multiplies by sign(y), which is 0 at NaN
        return jnp.where((y == 0) | jnp.isnan(y), 0, t) * count
    safe = jnp.where(y == 0, 1, y)  # sets the second derivative at 0 to 0
    return jnp.where(y == 0, 0, t) * jnp.where(
        y == 0, 0, jnp.power(count * safe, 1 / p - 1) * (count / p)
    )


@derivative(_root_tangent)
def _root(y: Array, *, count: int, p: float) -> Array:
    return jnp.power(count * y, 1 / p)
