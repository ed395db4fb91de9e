"""Log-densities of the gamma family, with torch's formulas, so that edge cases agree.

Arguments broadcast and are not validated, as in `normal_laplace_uniform`.
"""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.distributions._parameters import (
    broadcast_parameters,
    distribution_parameters,
    in_dtype_of,
    value_and_parameters,
)
from jaxgrad.functional.pointwise.exp_log import log
from jaxgrad.functional.pointwise.gamma_zeta import lgamma
from jaxgrad.functional.pointwise.xlogy_entr import xlogy


def exponential_log_prob(value: Array, rate: ArrayLike) -> Array:
    """Log-density of the exponential distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{exponential_log_prob(jnp.array(1.0), 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Exponential`.
    """
    reject("exponential_log_prob", "bool", value, rate)
    x, rate = distribution_parameters(array(value, "value"), rate)
    return log(rate) - rate * x


def gamma_log_prob(value: Array, concentration: ArrayLike, rate: ArrayLike) -> Array:
    """Log-density of the gamma distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{gamma_log_prob(jnp.array(1.0), 1.0, 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Gamma`.
    """
    reject_each("gamma_log_prob", "bool", concentration, rate)
    x = in_dtype_of(value, concentration, rate)
    x, a, rate = value_and_parameters(x, concentration, rate)
    return xlogy(a, rate) + xlogy(a - 1, x) - rate * x - lgamma(a)


def beta_log_prob(value: Array, concentration1: ArrayLike, concentration0: ArrayLike) -> Array:
    """Log-density of the beta distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{beta_log_prob(jnp.array(0.5), 2.0, 2.0):.4f}")
        0.4055

    Torch: `torch.distributions.Beta`.
    """
    reject("beta_log_prob", "bool", value)
    x, a, b = distribution_parameters(array(value, "value"), concentration1, concentration0)
    return dirichlet_log_prob(jnp.stack([x, 1 - x], -1), jnp.stack(broadcast_parameters(a, b), -1))


def dirichlet_log_prob(value: Array, concentration: Array) -> Array:
    """Log-density of the Dirichlet distribution at a value.

    Args:
        value: Point on the simplex, `(*, n)`.
        concentration: Concentration parameters, `(*, n)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{dirichlet_log_prob(jnp.array([0.5, 0.5]), jnp.array([2.0, 2.0])):.4f}")
        0.4055

    Torch: `torch.distributions.Dirichlet`.
    """
    reject("dirichlet_log_prob", "bool", concentration)
    x, a = distribution_parameters(array(value, "value"), array(concentration, "concentration"))
    return jnp.sum(xlogy(a - 1, x), -1) + lgamma(jnp.sum(a, -1)) - jnp.sum(lgamma(a), -1)
