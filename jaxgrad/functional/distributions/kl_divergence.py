"""Kullback-Leibler divergences within a family of distributions, with torch's formulas."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST
from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.activation.sigmoid_tanh_softplus import softplus
from jaxgrad.functional.distributions._parameters import distribution_parameters
from jaxgrad.functional.distributions.discrete import binary_logits, clamped_probs, normalized_probs
from jaxgrad.functional.distributions.multivariate import half_log_det, mahalanobis
from jaxgrad.functional.linalg.solve_lstsq import solve_triangular
from jaxgrad.functional.loss.binary_and_soft_margin import binary_cross_entropy_with_logits
from jaxgrad.functional.pointwise.abs_sign import abs
from jaxgrad.functional.pointwise.exp_log import exp, log, log1p
from jaxgrad.functional.pointwise.gamma_zeta import digamma, lgamma
from jaxgrad.functional.pointwise.pow_sqrt import pow


_EULER = 0.5772156649015329


def normal_kl_divergence(
    p_loc: ArrayLike, p_scale: ArrayLike, q_loc: ArrayLike, q_scale: ArrayLike
) -> Array:
    """KL divergence between two normal distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{normal_kl_divergence(0.0, jnp.array(1.0), 1.0, 1.0):.4f}")
        0.5000

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("normal_kl_divergence", "bool", p_loc, q_loc)
    p_loc, p_scale, q_loc, q_scale = distribution_parameters(p_loc, p_scale, q_loc, q_scale)
    ratio = pow(p_scale / q_scale, 2)
    return 0.5 * (ratio + pow((p_loc - q_loc) / q_scale, 2) - 1 - log(ratio))


def laplace_kl_divergence(
    p_loc: ArrayLike, p_scale: ArrayLike, q_loc: ArrayLike, q_scale: ArrayLike
) -> Array:
    """KL divergence between two Laplace distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{laplace_kl_divergence(0.0, jnp.array(1.0), 1.0, 1.0):.4f}")
        0.3679

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("laplace_kl_divergence", "bool", p_loc, q_loc)
    p_loc, p_scale, q_loc, q_scale = distribution_parameters(p_loc, p_scale, q_loc, q_scale)
    ratio, distance = p_scale / q_scale, abs(p_loc - q_loc)
    return -log(ratio) + distance / q_scale + ratio * exp(-distance / p_scale) - 1


def gumbel_kl_divergence(
    p_loc: ArrayLike, p_scale: ArrayLike, q_loc: ArrayLike, q_scale: ArrayLike
) -> Array:
    """KL divergence between two Gumbel distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{gumbel_kl_divergence(0.0, jnp.array(1.0), 1.0, 1.0):.4f}")
        0.7183

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("gumbel_kl_divergence", "bool integer", p_loc, q_loc)
    reject_each("gumbel_kl_divergence", "bool", p_scale, q_scale)
    p_loc, p_scale, q_loc, q_scale = distribution_parameters(p_loc, p_scale, q_loc, q_scale)
    ratio, p, q = p_scale / q_scale, p_loc / q_scale, q_loc / q_scale
    shifted = exp(q + lgamma(1 + ratio) - p)
    return -log(ratio) - q + p + ratio * _EULER + shifted - (1 + _EULER)


def cauchy_kl_divergence(
    p_loc: ArrayLike, p_scale: ArrayLike, q_loc: ArrayLike, q_scale: ArrayLike
) -> Array:
    """KL divergence between two Cauchy distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{cauchy_kl_divergence(0.0, jnp.array(1.0), 1.0, 1.0):.4f}")
        0.2231

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("cauchy_kl_divergence", "bool", p_loc, q_loc)
    p_loc, p_scale, q_loc, q_scale = distribution_parameters(p_loc, p_scale, q_loc, q_scale)
    both = pow(p_scale + q_scale, 2) + pow(p_loc - q_loc, 2)
    return log(both) - log(4 * p_scale * q_scale)


def exponential_kl_divergence(p_rate: ArrayLike, q_rate: ArrayLike) -> Array:
    """KL divergence between two exponential distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{exponential_kl_divergence(jnp.array(1.0), 2.0):.4f}")
        0.3069

    Torch: `torch.distributions.kl_divergence`.
    """
    p_rate, q_rate = distribution_parameters(p_rate, q_rate)
    ratio = q_rate / p_rate
    return -log(ratio) + ratio - 1


def poisson_kl_divergence(p_rate: ArrayLike, q_rate: ArrayLike) -> Array:
    """KL divergence between two Poisson distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{poisson_kl_divergence(jnp.array(1.0), 2.0):.4f}")
        0.3069

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("poisson_kl_divergence", "bool", p_rate, q_rate)
    p_rate, q_rate = distribution_parameters(p_rate, q_rate)
    return p_rate * (log(p_rate) - log(q_rate)) - (p_rate - q_rate)


def gamma_kl_divergence(
    p_concentration: ArrayLike, p_rate: ArrayLike, q_concentration: ArrayLike, q_rate: ArrayLike
) -> Array:
    """KL divergence between two gamma distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{gamma_kl_divergence(1.0, jnp.array(1.0), 1.0, 2.0):.4f}")
        0.3069

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("gamma_kl_divergence", "bool", p_concentration, p_rate, q_concentration, q_rate)
    p_concentration, p_rate, q_concentration, q_rate = distribution_parameters(
        p_concentration, p_rate, q_concentration, q_rate
    )
    a, b = p_concentration, q_concentration
    total = b * log(p_rate / q_rate) + (lgamma(b) - lgamma(a))
    return total + (a - b) * digamma(a) + (q_rate - p_rate) * (a / p_rate)


def beta_kl_divergence(
    p_concentration1: ArrayLike,
    p_concentration0: ArrayLike,
    q_concentration1: ArrayLike,
    q_concentration0: ArrayLike,
) -> Array:
    """KL divergence between two beta distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{beta_kl_divergence(jnp.array(1.0), 1.0, 2.0, 2.0):.4f}")
        0.2082

    Torch: `torch.distributions.kl_divergence`.
    """
    parameters = (p_concentration1, p_concentration0, q_concentration1, q_concentration0)
    reject("beta_kl_divergence", "bool", *parameters)
    a, b, c, d = distribution_parameters(*parameters)
    total = lgamma(c) + lgamma(d) + lgamma(a + b) - (lgamma(a) + lgamma(b) + lgamma(c + d))
    total = total + (a - c) * digamma(a) + (b - d) * digamma(b)
    return total + ((c + d) - (a + b)) * digamma(a + b)


def dirichlet_kl_divergence(p_concentration: Array, q_concentration: Array) -> Array:
    """KL divergence between two Dirichlet distributions, `KL(p || q)`.

    Args:
        p_concentration: Concentration parameters of p, `(*, n)`.
        q_concentration: Concentration parameters of q, `(*, n)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{dirichlet_kl_divergence(jnp.array([1.0, 1.0]), jnp.array([2.0, 2.0])):.4f}")
        0.2082

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("dirichlet_kl_divergence", "bool", p_concentration, q_concentration)
    p_concentration, q_concentration = distribution_parameters(p_concentration, q_concentration)
    a, b = p_concentration, q_concentration
    a_sum, b_sum = jnp.sum(a, -1), jnp.sum(b, -1)
    total = lgamma(a_sum) - lgamma(b_sum) - jnp.sum(lgamma(a) - lgamma(b), -1)
    return total + jnp.sum((a - b) * (digamma(a) - digamma(a_sum)[..., None]), -1)


def uniform_kl_divergence(
    p_low: ArrayLike, p_high: ArrayLike, q_low: ArrayLike, q_high: ArrayLike
) -> Array:
    """KL divergence between two uniform distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{uniform_kl_divergence(0.0, jnp.array(1.0), 0.0, 2.0):.4f}")
        0.6931

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("uniform_kl_divergence", "bool", p_low, p_high, q_low, q_high)
    reject("uniform_kl_divergence", "complex", p_low, p_high, q_low, q_high)
    p_low, p_high, q_low, q_high = distribution_parameters(p_low, p_high, q_low, q_high)
    log_ratio = log((q_high - q_low) / (p_high - p_low))
    return jnp.where((q_low > p_low) | (q_high < p_high), jnp.inf, log_ratio)


def bernoulli_kl_divergence(
    p_probs: ArrayLike, q_probs: ArrayLike, *, torch: str = NEWEST
) -> Array:
    """KL divergence between two Bernoulli distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{bernoulli_kl_divergence(jnp.array(1.0), 0.5):.4f}")
        0.6931

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("bernoulli_kl_divergence", "bool integer", p_probs, q_probs)
    p_probs, q_probs = distribution_parameters(p_probs, q_probs)
    p_logits, q_logits = binary_logits(p_probs, torch), binary_logits(q_probs, torch)
    one = p_probs * (softplus(-q_logits) - softplus(-p_logits))
    one = jnp.where(p_probs == 0, 0, jnp.where(q_probs == 0, jnp.inf, one))
    zero = (1 - p_probs) * (softplus(q_logits) - softplus(p_logits))
    return one + jnp.where(p_probs == 1, 0, jnp.where(q_probs == 1, jnp.inf, zero))


def geometric_kl_divergence(
    p_probs: ArrayLike, q_probs: ArrayLike, *, torch: str = NEWEST
) -> Array:
    """KL divergence between two geometric distributions, `KL(p || q)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{geometric_kl_divergence(jnp.array(0.5), 0.25):.4f}")
        0.2877

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("geometric_kl_divergence", "bool integer", p_probs, q_probs)
    p_probs, q_probs = distribution_parameters(p_probs, q_probs)
    p_logits, q_logits = binary_logits(p_probs, torch), binary_logits(q_probs, torch)
    entropy = binary_cross_entropy_with_logits(p_logits, p_probs, reduction="none") / p_probs
    return -entropy - log1p(-q_probs) / p_probs - q_logits


def categorical_kl_divergence(p_probs: Array, q_probs: Array, *, torch: str = NEWEST) -> Array:
    """KL divergence between two categorical distributions, `KL(p || q)`.

    Args:
        p_probs: Class weights of p, `(*, classes)`, which need not sum to 1.
        q_probs: Class weights of q, `(*, classes)`, which need not sum to 1.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{categorical_kl_divergence(jnp.array([1.0, 0.0]), jnp.array([0.5, 0.5])):.4f}")
        0.6931

    Torch: `torch.distributions.kl_divergence`.
    """
    p_probs, q_probs = distribution_parameters(p_probs, q_probs)
    p, q = normalized_probs(p_probs), normalized_probs(q_probs)
    terms = p * (log(clamped_probs(p, torch)) - log(clamped_probs(q, torch)))
    return jnp.sum(jnp.where(p == 0, 0, jnp.where(q == 0, jnp.inf, terms)), -1)


def multivariate_normal_kl_divergence(
    p_loc: Array, p_scale_tril: Array, q_loc: Array, q_scale_tril: Array
) -> Array:
    """KL divergence between two multivariate normal distributions, `KL(p || q)`.

    Args:
        p_loc: Mean of p, `(*, n)`.
        p_scale_tril: Cholesky factor of p's covariance, `(*, n, n)`.
        q_loc: Mean of q, `(*, n)`.
        q_scale_tril: Cholesky factor of q's covariance, `(*, n, n)`.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.eye(2)
        >>> print(f"{multivariate_normal_kl_divergence(x[0] * 0, x, x[0] + x[1], x):.4f}")
        1.0000

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("multivariate_normal_kl_divergence", "bool", p_loc, q_loc)
    reject("multivariate_normal_kl_divergence", "bool integer", q_scale_tril)
    p_loc, p_scale_tril, q_loc, q_scale_tril = distribution_parameters(
        p_loc, p_scale_tril, q_loc, q_scale_tril, elementwise=False
    )
    log_ratio = half_log_det(q_scale_tril) - half_log_det(p_scale_tril)
    spread = solve_triangular(q_scale_tril, p_scale_tril, upper=False)
    spread = jnp.sum(pow(spread, 2), (-2, -1))
    distance = mahalanobis(q_scale_tril, q_loc - p_loc)
    return log_ratio + 0.5 * (spread + distance - q_loc.shape[-1])
