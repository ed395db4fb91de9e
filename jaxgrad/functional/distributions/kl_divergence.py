"""Kullback-Leibler divergences of two distributions of one family: torch's formulas and edges."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.activation.sigmoid import softplus
from jaxgrad.functional.distributions._parameters import distribution_parameters
from jaxgrad.functional.distributions.discrete import _binary_logits, _clamped, _normalized
from jaxgrad.functional.distributions.real_line import _half_log_det, _mahalanobis
from jaxgrad.functional.linalg.solve import solve_triangular
from jaxgrad.functional.loss.binary import binary_cross_entropy_with_logits
from jaxgrad.functional.pointwise.exp_log import exp, log, log1p
from jaxgrad.functional.pointwise.gamma import digamma, lgamma
from jaxgrad.functional.pointwise.powers import pow
from jaxgrad.functional.pointwise.sign import abs


_EULER = 0.5772156649015329


def normal_kl_divergence(
    p_loc: ArrayLike, p_scale: ArrayLike, q_loc: ArrayLike, q_scale: ArrayLike
) -> Array:
    """The Kullback-Leibler divergence of one normal distribution, p, from another, q.

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
    """The Kullback-Leibler divergence of one Laplace distribution, p, from another, q.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{laplace_kl_divergence(0.0, jnp.array(1.0), 1.0, 1.0):.4f}")
        0.3679

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("laplace_kl_divergence", "bool", p_loc, q_loc)
    p_loc, p_scale, q_loc, q_scale = distribution_parameters(p_loc, p_scale, q_loc, q_scale)
    ratio, apart = p_scale / q_scale, abs(p_loc - q_loc)
    return -log(ratio) + apart / q_scale + ratio * exp(-apart / p_scale) - 1


def gumbel_kl_divergence(
    p_loc: ArrayLike, p_scale: ArrayLike, q_loc: ArrayLike, q_scale: ArrayLike
) -> Array:
    """The Kullback-Leibler divergence of one Gumbel distribution, p, from another, q.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{gumbel_kl_divergence(0.0, jnp.array(1.0), 1.0, 1.0):.4f}")
        0.7183

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("gumbel_kl_divergence", "bool integer", p_loc, q_loc)
    reject_each("gumbel_kl_divergence", "bool", p_scale, q_scale)
    p_loc, p_scale, q_loc, q_scale = distribution_parameters(p_loc, p_scale, q_loc, q_scale)
    ratio, ours, theirs = p_scale / q_scale, p_loc / q_scale, q_loc / q_scale
    moved = exp(theirs + lgamma(1 + ratio) - ours)
    return -log(ratio) - theirs + ours + ratio * _EULER + moved - (1 + _EULER)


def cauchy_kl_divergence(
    p_loc: ArrayLike, p_scale: ArrayLike, q_loc: ArrayLike, q_scale: ArrayLike
) -> Array:
    """The Kullback-Leibler divergence of one Cauchy distribution, p, from another, q.

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
    """The Kullback-Leibler divergence of one exponential distribution, p, from another, q.

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
    """The Kullback-Leibler divergence of one Poisson distribution, p, from another, q.

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
    p_concentration: ArrayLike,
    p_rate: ArrayLike,
    q_concentration: ArrayLike,
    q_rate: ArrayLike,
) -> Array:
    """The Kullback-Leibler divergence of one gamma distribution, p, from another, q.

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
    found = b * log(p_rate / q_rate) + (lgamma(b) - lgamma(a))
    return found + (a - b) * digamma(a) + (q_rate - p_rate) * (a / p_rate)


def beta_kl_divergence(
    p_concentration1: ArrayLike,
    p_concentration0: ArrayLike,
    q_concentration1: ArrayLike,
    q_concentration0: ArrayLike,
) -> Array:
    """The Kullback-Leibler divergence of one beta distribution, p, from another, q.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{beta_kl_divergence(jnp.array(1.0), 1.0, 2.0, 2.0):.4f}")
        0.2082

    Torch: `torch.distributions.kl_divergence`.
    """
    given = (p_concentration1, p_concentration0, q_concentration1, q_concentration0)
    reject("beta_kl_divergence", "bool", *given)
    a, b, c, d = distribution_parameters(*given)
    found = lgamma(c) + lgamma(d) + lgamma(a + b) - (lgamma(a) + lgamma(b) + lgamma(c + d))
    found = found + (a - c) * digamma(a) + (b - d) * digamma(b)
    return found + ((c + d) - (a + b)) * digamma(a + b)


def dirichlet_kl_divergence(p_concentration: Array, q_concentration: Array) -> Array:
    """The Kullback-Leibler divergence of one Dirichlet distribution, p, from another, q.

    Args:
        p_concentration: `(*, n)`.
        q_concentration: `(*, n)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{dirichlet_kl_divergence(jnp.array([1.0, 1.0]), jnp.array([2.0, 2.0])):.4f}")
        0.2082

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("dirichlet_kl_divergence", "bool", p_concentration, q_concentration)
    p_concentration, q_concentration = distribution_parameters(p_concentration, q_concentration)
    a, b = p_concentration, q_concentration
    ours, theirs = jnp.sum(a, -1), jnp.sum(b, -1)
    found = lgamma(ours) - lgamma(theirs) - jnp.sum(lgamma(a) - lgamma(b), -1)
    return found + jnp.sum((a - b) * (digamma(a) - digamma(ours)[..., None]), -1)


def uniform_kl_divergence(
    p_low: ArrayLike, p_high: ArrayLike, q_low: ArrayLike, q_high: ArrayLike
) -> Array:
    """The Kullback-Leibler divergence of one uniform distribution, p, from another, q.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{uniform_kl_divergence(0.0, jnp.array(1.0), 0.0, 2.0):.4f}")
        0.6931

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("uniform_kl_divergence", "bool", p_low, p_high, q_low, q_high)
    reject("uniform_kl_divergence", "complex", p_low, p_high, q_low, q_high)
    p_low, p_high, q_low, q_high = distribution_parameters(p_low, p_high, q_low, q_high)
    found = log((q_high - q_low) / (p_high - p_low))
    return jnp.where((q_low > p_low) | (q_high < p_high), jnp.inf, found)


def bernoulli_kl_divergence(p_probs: ArrayLike, q_probs: ArrayLike) -> Array:
    """The Kullback-Leibler divergence of one Bernoulli distribution, p, from another, q.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{bernoulli_kl_divergence(jnp.array(1.0), 0.5):.4f}")
        0.6931

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("bernoulli_kl_divergence", "bool integer", p_probs, q_probs)
    p_probs, q_probs = distribution_parameters(p_probs, q_probs)
    ours, theirs = _binary_logits(p_probs), _binary_logits(q_probs)
    one = p_probs * (softplus(-theirs) - softplus(-ours))
    one = jnp.where(p_probs == 0, 0, jnp.where(q_probs == 0, jnp.inf, one))
    zero = (1 - p_probs) * (softplus(theirs) - softplus(ours))
    return one + jnp.where(p_probs == 1, 0, jnp.where(q_probs == 1, jnp.inf, zero))


def geometric_kl_divergence(p_probs: ArrayLike, q_probs: ArrayLike) -> Array:
    """The Kullback-Leibler divergence of one geometric distribution, p, from another, q.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{geometric_kl_divergence(jnp.array(0.5), 0.25):.4f}")
        0.2877

    Torch: `torch.distributions.kl_divergence`.
    """
    reject_each("geometric_kl_divergence", "bool integer", p_probs, q_probs)
    p_probs, q_probs = distribution_parameters(p_probs, q_probs)
    ours, theirs = _binary_logits(p_probs), _binary_logits(q_probs)
    entropy = binary_cross_entropy_with_logits(ours, p_probs, reduction="none") / p_probs
    return -entropy - log1p(-q_probs) / p_probs - theirs


def categorical_kl_divergence(p_probs: Array, q_probs: Array) -> Array:
    """The Kullback-Leibler divergence of one categorical distribution, p, from another, q.

    Args:
        p_probs: `(*, classes)`, over their sum.
        q_probs: `(*, classes)`, over their sum.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{categorical_kl_divergence(jnp.array([1.0, 0.0]), jnp.array([0.5, 0.5])):.4f}")
        0.6931

    Torch: `torch.distributions.kl_divergence`.
    """
    p_probs, q_probs = distribution_parameters(p_probs, q_probs)
    p, q = _normalized(p_probs), _normalized(q_probs)
    each = p * (log(_clamped(p)) - log(_clamped(q)))
    return jnp.sum(jnp.where(p == 0, 0, jnp.where(q == 0, jnp.inf, each)), -1)


def multivariate_normal_kl_divergence(
    p_loc: Array,
    p_scale_tril: Array,
    q_loc: Array,
    q_scale_tril: Array,
) -> Array:
    """The Kullback-Leibler divergence of one normal distribution, p, from another, q.

    Args:
        p_loc: `(*, n)`.
        p_scale_tril: `(*, n, n)`, the Cholesky factor of the covariance.
        q_loc: `(*, n)`.
        q_scale_tril: `(*, n, n)`.

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
    apart = _half_log_det(q_scale_tril) - _half_log_det(p_scale_tril)
    spread = solve_triangular(q_scale_tril, p_scale_tril, upper=False)
    spread = jnp.sum(pow(spread, 2), (-2, -1))
    distance = _mahalanobis(q_scale_tril, q_loc - p_loc)
    return apart + 0.5 * (spread + distance - q_loc.shape[-1])
