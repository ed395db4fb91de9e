"""Log-densities on the circle, with torch's polynomials for the modified Bessel function."""

from __future__ import annotations

import math

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.distributions._parameters import distribution_parameters
from jaxgrad.functional.pointwise.exp_log import log
from jaxgrad.functional.pointwise.trigonometric import cos


# Coefficients of Abramowitz and Stegun 9.8.1 and 9.8.2, rounded as in torch, highest power first.
_SMALL = (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
_LARGE = (
    0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281, -0.00157565, 0.00225319,
    0.01328592, 0.39894228,
)  # fmt: skip


def von_mises_log_prob(value: Array, loc: ArrayLike, concentration: ArrayLike) -> Array:
    """Log-density of the von Mises distribution at an angle.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{von_mises_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -1.0738

    Torch: `torch.distributions.VonMises`.
    """
    reject_each("von_mises_log_prob", "bool", value, loc, concentration)
    reject("von_mises_log_prob", "complex", concentration)
    x, loc, k = distribution_parameters(array(value, "value"), loc, concentration)
    return k * cos(x - loc) - math.log(2 * math.pi) - _log_i0(k)


def _log_i0(x: Array) -> Array:
    small = x / 3.75
    small = log(_polynomial(small * small, _SMALL))
    large = x - 0.5 * log(x) + log(_polynomial(3.75 / x, _LARGE))
    return jnp.where(x < 3.75, small, large)


def _polynomial(y: Array, factors: tuple[float, ...]) -> Array:
    result = jnp.full_like(y, factors[0])
    for factor in factors[1:]:
        result = factor + y * result
    return result
