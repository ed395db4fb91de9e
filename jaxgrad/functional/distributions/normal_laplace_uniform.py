"""Log-densities on the real line, with torch's formulas, so that edge cases agree.

Arguments broadcast, and parameters may be numbers. Neither the support nor the domains of the
parameters are validated, as with torch's `validate_args=False`.
"""

from __future__ import annotations

import math

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.distributions._parameters import (
    distribution_parameters,
    value_and_parameters,
)
from jaxgrad.functional.pointwise.abs_sign import abs
from jaxgrad.functional.pointwise.exp_log import exp, log, log1p
from jaxgrad.functional.pointwise.gamma_zeta import lgamma
from jaxgrad.functional.pointwise.pow_sqrt import pow


def normal_log_prob(value: Array, loc: ArrayLike, scale: ArrayLike) -> Array:
    """Log-density of the normal distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{normal_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -0.9189

    Torch: `torch.distributions.Normal`.
    """
    reject_each("normal_log_prob", "bool", value, loc)
    x, loc, scale = value_and_parameters(value, loc, scale)
    return -pow(x - loc, 2) / (2 * pow(scale, 2)) - log(scale) - math.log(math.sqrt(2 * math.pi))


def laplace_log_prob(value: Array, loc: ArrayLike, scale: ArrayLike) -> Array:
    """Log-density of the Laplace distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{laplace_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -0.6931

    Torch: `torch.distributions.Laplace`.
    """
    reject_each("laplace_log_prob", "bool", value, loc)
    x, loc, scale = value_and_parameters(value, loc, scale)
    return -log(2 * scale) - abs(x - loc) / scale


def cauchy_log_prob(value: Array, loc: ArrayLike, scale: ArrayLike) -> Array:
    """Log-density of the Cauchy distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{cauchy_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -1.1447

    Torch: `torch.distributions.Cauchy`.
    """
    reject_each("cauchy_log_prob", "bool", value, loc)
    x, loc, scale = value_and_parameters(value, loc, scale)
    return -math.log(math.pi) - log(scale) - log1p(pow((x - loc) / scale, 2))


def student_t_log_prob(
    value: Array, df: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0
) -> Array:
    """Log-density of Student's t-distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{student_t_log_prob(jnp.array(0.0), 1.0):.4f}")
        -1.1447

    Torch: `torch.distributions.StudentT`.
    """
    reject_each("student_t_log_prob", "bool", value, loc)
    x, df, loc, scale = value_and_parameters(value, df, loc, scale)
    y = (x - loc) / scale
    constant = log(scale) + 0.5 * log(df) + 0.5 * math.log(math.pi)
    constant = constant + lgamma(0.5 * df) - lgamma(0.5 * (df + 1))
    return -0.5 * (df + 1) * log1p(pow(y, 2) / df) - constant


def gumbel_log_prob(value: Array, loc: ArrayLike, scale: ArrayLike) -> Array:
    """Log-density of the Gumbel distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{gumbel_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Gumbel`.
    """
    reject_each("gumbel_log_prob", "bool", value, scale)
    reject("gumbel_log_prob", "bool integer", loc)
    x, loc, scale = value_and_parameters(value, loc, scale)
    y = (loc - x) / scale
    return (y - exp(y)) - log(scale)


def uniform_log_prob(value: Array, low: ArrayLike, high: ArrayLike) -> Array:
    """Log-density of the uniform distribution on `[low, high)`, -inf outside.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{uniform_log_prob(jnp.array(0.5), 0.0, 2.0):.4f}")
        -0.6931

    Torch: `torch.distributions.Uniform`.
    """
    reject_each("uniform_log_prob", "bool", low, high)
    reject("uniform_log_prob", "complex", value, low, high)
    x, low, high = distribution_parameters(array(value, "value"), low, high)
    return jnp.where((low <= x) & (high > x), 0, -jnp.inf) - log(high - low)
