"""Log-probabilities on the positive numbers, and those with heavy tails.

torch writes most of them as a simple distribution and the steps from it. The steps are taken back
here in its order, so that zeros and infinities come out as its do.
"""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.distributions._parameters import _given, distribution_parameters
from jaxgrad.functional.distributions.gamma_beta import exponential_log_prob, gamma_log_prob
from jaxgrad.functional.pointwise.exp_log import log, log1p
from jaxgrad.functional.pointwise.gamma import lgamma
from jaxgrad.functional.pointwise.powers import pow
from jaxgrad.functional.pointwise.sign import abs


def weibull_log_prob(value: Array, scale: ArrayLike, concentration: ArrayLike) -> Array:
    """The logarithm of Weibull's density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{weibull_log_prob(jnp.array(1.0), 1.0, 2.0):.4f}")
        -0.3069

    Torch: `torch.distributions.Weibull`.
    """
    reject_each("weibull_log_prob", "bool", value, scale)
    x, scale, a = distribution_parameters(array(value, "value"), scale, concentration)
    x, steps = x / scale, log(abs(scale))
    x, step = unpowered(x, 1 / a)
    return exponential_log_prob(x, 1.0) - steps - step


def pareto_log_prob(value: Array, scale: ArrayLike, alpha: ArrayLike) -> Array:
    """The logarithm of Pareto's density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{pareto_log_prob(jnp.array(2.0), 1.0, 1.0):.4f}")
        -1.3863

    Torch: `torch.distributions.Pareto`.
    """
    reject_each("pareto_log_prob", "bool", value, scale)
    x, scale, alpha = _given(value, scale, alpha)
    y = log(x / scale)
    return exponential_log_prob(y, alpha) - log(abs(scale)) - y


def generalized_pareto_log_prob(
    value: Array, loc: ArrayLike, scale: ArrayLike, concentration: ArrayLike
) -> Array:
    """The logarithm of the generalized Pareto density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{generalized_pareto_log_prob(jnp.array(2.0), 1.0, 1.0, 0.0):.4f}")
        -1.0000

    Torch: `torch.distributions.GeneralizedPareto`, of the default dtype alone.
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
    """The logarithm of the inverse gamma density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{inverse_gamma_log_prob(jnp.array(1.0), 1.0, 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.InverseGamma`.
    """
    reject_each("inverse_gamma_log_prob", "bool", concentration, rate)
    x, a, rate = distribution_parameters(array(value, "value"), concentration, rate)
    x, step = unpowered(x, jnp.full((), -1, x.dtype))
    return gamma_log_prob(x, a, rate) - step


def chi2_log_prob(value: Array, df: ArrayLike) -> Array:
    """The logarithm of the chi-squared density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{chi2_log_prob(jnp.array(1.0), 2.0):.4f}")
        -1.1931

    Torch: `torch.distributions.Chi2`.
    """
    (df,) = distribution_parameters(df)
    return gamma_log_prob(value, 0.5 * df, 0.5)


def fisher_snedecor_log_prob(value: Array, df1: ArrayLike, df2: ArrayLike) -> Array:
    """The logarithm of the F density at a value.

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


def unpowered(y: Array, exponent: Array) -> tuple[Array, Array]:
    """The x of `x ** exponent = y`, and the logarithm of dy / dx there."""
    x = pow(y, 1 / exponent)
    return x, log(abs(exponent * y / x))
