"""Log-densities of positive and of heavy-tailed distributions.

torch defines most of these distributions as transforms of simpler ones. The transforms are
inverted here in torch's order, so that the results agree even at zeros and infinities.
"""

from __future__ import annotations

import math

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.distributions._parameters import (
    distribution_parameters,
    in_dtype_of,
    value_and_parameters,
)
from jaxgrad.functional.distributions.gamma_beta_dirichlet import (
    exponential_log_prob,
    gamma_log_prob,
)
from jaxgrad.functional.distributions.normal_laplace_uniform import cauchy_log_prob, normal_log_prob
from jaxgrad.functional.pointwise.abs_sign import abs
from jaxgrad.functional.pointwise.exp_log import log, log1p
from jaxgrad.functional.pointwise.gamma_zeta import lgamma
from jaxgrad.functional.pointwise.pow_sqrt import pow


def weibull_log_prob(value: Array, scale: ArrayLike, concentration: ArrayLike) -> Array:
    """Log-density of the Weibull distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{weibull_log_prob(jnp.array(1.0), 1.0, 2.0):.4f}")
        -0.3069

    Torch: `torch.distributions.Weibull`.
    """
    reject_each("weibull_log_prob", "bool", value, scale)
    x, scale, a = distribution_parameters(array(value, "value"), scale, concentration)
    x, log_scale = x / scale, log(abs(scale))
    x, log_slope = invert_power(x, 1 / a)
    return exponential_log_prob(x, 1.0) - log_scale - log_slope


def pareto_log_prob(value: Array, scale: ArrayLike, alpha: ArrayLike) -> Array:
    """Log-density of the Pareto distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{pareto_log_prob(jnp.array(2.0), 1.0, 1.0):.4f}")
        -1.3863

    Torch: `torch.distributions.Pareto`.
    """
    reject_each("pareto_log_prob", "bool", value, scale)
    x, scale, alpha = value_and_parameters(value, scale, alpha)
    y = log(x / scale)
    return exponential_log_prob(y, alpha) - log(abs(scale)) - y


def generalized_pareto_log_prob(
    value: Array, loc: ArrayLike, scale: ArrayLike, concentration: ArrayLike
) -> Array:
    """Log-density of the generalized Pareto distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{generalized_pareto_log_prob(jnp.array(2.0), 1.0, 1.0, 0.0):.4f}")
        -1.0000

    Torch: `torch.distributions.GeneralizedPareto`, which supports only the default dtype.
    """
    reject_each("generalized_pareto_log_prob", "bool", value, loc)
    reject("generalized_pareto_log_prob", "bool integer complex", concentration)
    x, loc, scale, c = distribution_parameters(array(value, "value"), loc, scale, concentration)
    x = (x - loc) / scale
    zero = jnp.isclose(c, 0.0)
    safe = jnp.where(zero, 1, c)
    y = 1 / safe + jnp.ones_like(x)
    return -log(scale) - jnp.where(zero, x, jnp.where(y == 0, y, y * log1p(safe * x)))


def inverse_gamma_log_prob(value: Array, concentration: ArrayLike, rate: ArrayLike) -> Array:
    """Log-density of the inverse gamma distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{inverse_gamma_log_prob(jnp.array(1.0), 1.0, 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.InverseGamma`.
    """
    reject_each("inverse_gamma_log_prob", "bool", concentration, rate)
    x, a, rate = distribution_parameters(array(value, "value"), concentration, rate)
    x, log_slope = invert_power(x, jnp.full((), -1, x.dtype))
    return gamma_log_prob(x, a, rate) - log_slope


def chi2_log_prob(value: Array, df: ArrayLike) -> Array:
    """Log-density of the chi-squared distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{chi2_log_prob(jnp.array(1.0), 2.0):.4f}")
        -1.1931

    Torch: `torch.distributions.Chi2`.
    """
    (df,) = distribution_parameters(df)
    return gamma_log_prob(value, 0.5 * df, 0.5)


def fisher_snedecor_log_prob(value: Array, df1: ArrayLike, df2: ArrayLike) -> Array:
    """Log-density of the F distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{fisher_snedecor_log_prob(jnp.array(1.0), 2.0, 2.0):.4f}")
        -1.3863

    Torch: `torch.distributions.FisherSnedecor`.
    """
    x, df1, df2 = distribution_parameters(array(value, "value"), df1, df2)
    one, two, ratio = df1 * 0.5, df2 * 0.5, df1 / df2
    constant = lgamma(one + two) - lgamma(one) - lgamma(two)
    return constant + one * log(ratio) + (one - 1) * log(x) - (one + two) * log1p(ratio * x)


def invert_power(y: Array, exponent: Array) -> tuple[Array, Array]:
    """Return x such that `x ** exponent = y`, and the logarithm of dy / dx at x."""
    x = pow(y, 1 / exponent)
    return x, log(abs(exponent * y / x))


def log_normal_log_prob(value: Array, loc: ArrayLike, scale: ArrayLike) -> Array:
    """Log-density of the log-normal distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{log_normal_log_prob(jnp.array(1.0), 0.0, 1.0):.4f}")
        -0.9189

    Torch: `torch.distributions.LogNormal`.
    """
    reject("log_normal_log_prob", "bool", loc)
    x, loc, scale = distribution_parameters(array(value, "value"), loc, scale)
    x = log(x)
    return normal_log_prob(x, loc, scale) - x


def half_normal_log_prob(value: Array, scale: ArrayLike) -> Array:
    """Log-density of the half-normal distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{half_normal_log_prob(jnp.array(0.0), 1.0):.4f}")
        -0.2258

    Torch: `torch.distributions.HalfNormal`.
    """
    reject_each("half_normal_log_prob", "bool", value, scale)
    reject("half_normal_log_prob", "complex", value)
    x, scale = distribution_parameters(array(value, "value"), scale)
    return jnp.where(x >= 0, normal_log_prob(x, 0.0, scale) + math.log(2), -jnp.inf)


def half_cauchy_log_prob(value: Array, scale: ArrayLike) -> Array:
    """Log-density of the half-Cauchy distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{half_cauchy_log_prob(jnp.array(0.0), 1.0):.4f}")
        -0.4516

    Torch: `torch.distributions.HalfCauchy`.
    """
    reject("half_cauchy_log_prob", "bool", scale)
    reject("half_cauchy_log_prob", "complex", scale)
    x, scale = distribution_parameters(in_dtype_of(value, scale), scale)
    return jnp.where(x >= 0, cauchy_log_prob(x, 0.0, scale) + math.log(2), -jnp.inf)
