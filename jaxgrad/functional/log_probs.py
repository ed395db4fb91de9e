"""Log-probabilities and divergences of distributions: torch's formulas, and so its edges.

Nothing checks that a value is in the support, or a parameter in its domain, as with torch's
`validate_args=False`. Arguments broadcast; parameters may be numbers.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from ._arguments import array, floating, promoted
from .activations import logsigmoid, sigmoid
from .decompositions import cholesky
from .elementary import exp, log, log1p
from .gammas import lgamma
from .losses import binary_cross_entropy_with_logits
from .matrices import solve_triangular
from .pointwise import abs, clamp, pow, xlogy
from .reductions import logsumexp


Array = jax.Array
Value = jax.Array | float


def _floats(*args: Any) -> list[Array]:
    return [floating(x) for x in promoted(*args)]


def normal_log_prob(value: Array, loc: Value, scale: Value) -> Array:
    """The logarithm of the normal density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{normal_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -0.9189

    Torch: `torch.distributions.Normal`.
    """
    x, loc, scale = _floats(array(value, "value"), loc, scale)
    return -pow(x - loc, 2) / (2 * pow(scale, 2)) - log(scale) - math.log(math.sqrt(2 * math.pi))


def log_normal_log_prob(value: Array, loc: Value, scale: Value) -> Array:
    """The logarithm of the log-normal density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{log_normal_log_prob(jnp.array(1.0), 0.0, 1.0):.4f}")
        -0.9189

    Torch: `torch.distributions.LogNormal`.
    """
    x, loc, scale = _floats(array(value, "value"), loc, scale)
    x = log(x)
    return normal_log_prob(x, loc, scale) - x


def laplace_log_prob(value: Array, loc: Value, scale: Value) -> Array:
    """The logarithm of Laplace's density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{laplace_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -0.6931

    Torch: `torch.distributions.Laplace`.
    """
    x, loc, scale = _floats(array(value, "value"), loc, scale)
    return -log(2 * scale) - abs(x - loc) / scale


def cauchy_log_prob(value: Array, loc: Value, scale: Value) -> Array:
    """The logarithm of Cauchy's density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{cauchy_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -1.1447

    Torch: `torch.distributions.Cauchy`.
    """
    x, loc, scale = _floats(array(value, "value"), loc, scale)
    return -math.log(math.pi) - log(scale) - log1p(pow((x - loc) / scale, 2))


def student_t_log_prob(value: Array, df: Value, loc: Value = 0.0, scale: Value = 1.0) -> Array:
    """The logarithm of Student's density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{student_t_log_prob(jnp.array(0.0), 1.0):.4f}")
        -1.1447

    Torch: `torch.distributions.StudentT`.
    """
    x, df, loc, scale = _floats(array(value, "value"), df, loc, scale)
    y = (x - loc) / scale
    constant = log(scale) + 0.5 * log(df) + 0.5 * math.log(math.pi)
    constant = constant + lgamma(0.5 * df) - lgamma(0.5 * (df + 1))
    return -0.5 * (df + 1) * log1p(pow(y, 2) / df) - constant


def gumbel_log_prob(value: Array, loc: Value, scale: Value) -> Array:
    """The logarithm of Gumbel's density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{gumbel_log_prob(jnp.array(0.0), 0.0, 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Gumbel`.
    """
    x, loc, scale = _floats(array(value, "value"), loc, scale)
    y = (loc - x) / scale
    return (y - exp(y)) - log(scale)


def half_normal_log_prob(value: Array, scale: Value) -> Array:
    """The logarithm of the half-normal density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{half_normal_log_prob(jnp.array(0.0), 1.0):.4f}")
        -0.2258

    Torch: `torch.distributions.HalfNormal`.
    """
    x, scale = _floats(array(value, "value"), scale)
    return jnp.where(x >= 0, normal_log_prob(x, 0.0, scale) + math.log(2), -jnp.inf)


def half_cauchy_log_prob(value: Array, scale: Value) -> Array:
    """The logarithm of the half-Cauchy density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{half_cauchy_log_prob(jnp.array(0.0), 1.0):.4f}")
        -0.4516

    Torch: `torch.distributions.HalfCauchy`.
    """
    x, scale = _floats(array(value, "value"), scale)
    return jnp.where(x >= 0, cauchy_log_prob(x, 0.0, scale) + math.log(2), -jnp.inf)


def uniform_log_prob(value: Array, low: Value, high: Value) -> Array:
    """The logarithm of the uniform density at a value in `[low, high)`, -inf outside.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{uniform_log_prob(jnp.array(0.5), 0.0, 2.0):.4f}")
        -0.6931

    Torch: `torch.distributions.Uniform`.
    """
    x, low, high = _floats(array(value, "value"), low, high)
    return jnp.where((low <= x) & (high > x), 0, -jnp.inf) - log(high - low)


def exponential_log_prob(value: Array, rate: Value) -> Array:
    """The logarithm of the exponential density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{exponential_log_prob(jnp.array(1.0), 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Exponential`.
    """
    x, rate = _floats(array(value, "value"), rate)
    return log(rate) - rate * x


def gamma_log_prob(value: Array, concentration: Value, rate: Value) -> Array:
    """The logarithm of the gamma density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{gamma_log_prob(jnp.array(1.0), 1.0, 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Gamma`.
    """
    x, a, rate = _floats(array(value, "value"), concentration, rate)
    return xlogy(a, rate) + xlogy(a - 1, x) - rate * x - lgamma(a)


def beta_log_prob(value: Array, concentration1: Value, concentration0: Value) -> Array:
    """The logarithm of the beta density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{beta_log_prob(jnp.array(0.5), 2.0, 2.0):.4f}")
        0.4055

    Torch: `torch.distributions.Beta`.
    """
    x, a, b = jnp.broadcast_arrays(*_floats(array(value, "value"), concentration1, concentration0))
    return dirichlet_log_prob(jnp.stack([x, 1 - x], -1), jnp.stack([a, b], -1))


def dirichlet_log_prob(value: Array, concentration: Array) -> Array:
    """The logarithm of Dirichlet's density at a value.

    Args:
        value: `(*, n)`.
        concentration: `(*, n)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{dirichlet_log_prob(jnp.array([0.5, 0.5]), jnp.array([2.0, 2.0])):.4f}")
        0.4055

    Torch: `torch.distributions.Dirichlet`.
    """
    x, a = _floats(array(value, "value"), array(concentration, "concentration"))
    return jnp.sum(xlogy(a - 1, x), -1) + lgamma(jnp.sum(a, -1)) - jnp.sum(lgamma(a), -1)


def poisson_log_prob(value: Array, rate: Value) -> Array:
    """The logarithm of Poisson's probability of a count.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{poisson_log_prob(jnp.array(0.0), 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Poisson`.
    """
    x, rate = _floats(array(value, "value"), rate)
    return xlogy(x, rate) - rate - lgamma(x + 1)


def bernoulli_log_prob(
    value: Array, probs: Value | None = None, logits: Value | None = None
) -> Array:
    """The logarithm of the probability of 0 or 1.

    Args:
        value: 0 and 1, of any shape.
        probs: The probability of 1, clamped to `[eps, 1 - eps]`.
        logits: Or its logit.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{bernoulli_log_prob(jnp.array(1.0), 0.5):.4f}")
        -0.6931

    Torch: `torch.distributions.Bernoulli`.
    """
    logits = _logits("bernoulli_log_prob", probs, logits)
    x, logits = jnp.broadcast_arrays(*_floats(array(value, "value"), logits))
    return -binary_cross_entropy_with_logits(logits, x, reduction="none")


def geometric_log_prob(
    value: Array, probs: Value | None = None, logits: Value | None = None
) -> Array:
    """The logarithm of the probability of so many failures before a success.

    Args:
        value: Counts of failures, of any shape.
        probs: The probability of success.
        logits: Or its logit.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{geometric_log_prob(jnp.array(0.0), 0.5):.4f}")
        -0.6931

    Torch: `torch.distributions.Geometric`.
    """
    _one("geometric_log_prob", probs, logits)
    probs = sigmoid(floating(jnp.asarray(logits))) if probs is None else probs
    x, p = _floats(array(value, "value"), probs)
    failing = jnp.where((p == 1) & (x == 0), 0, p)
    return x * log1p(-failing) + log(p)


def binomial_log_prob(
    value: Array,
    total_count: Value = 1,
    probs: Value | None = None,
    logits: Value | None = None,
) -> Array:
    """The logarithm of the probability of so many successes.

    Args:
        value: Counts of successes, of any shape.
        total_count: Of how many trials.
        probs: The probability of success, clamped to `[eps, 1 - eps]`.
        logits: Or its logit.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{binomial_log_prob(jnp.array(1.0), 2, 0.5):.4f}")
        -0.6931

    Torch: `torch.distributions.Binomial`.
    """
    logits = _logits("binomial_log_prob", probs, logits)
    x, n, logits = _floats(array(value, "value"), total_count, logits)
    positive = (clamp(logits, min=0) + logits - clamp(logits, max=0)) / 2
    normalizer = n * positive + n * log1p(exp(-abs(logits))) - lgamma(n + 1)
    return x * logits - lgamma(x + 1) - lgamma(n - x + 1) - normalizer


def negative_binomial_log_prob(
    value: Array,
    total_count: Value,
    probs: Value | None = None,
    logits: Value | None = None,
) -> Array:
    """The logarithm of the probability of so many successes before the failures.

    Args:
        value: Counts of successes, of any shape.
        total_count: Before how many failures.
        probs: The probability of success, clamped to `[eps, 1 - eps]`.
        logits: Or its logit.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{negative_binomial_log_prob(jnp.array(0.0), 1.0, 0.5):.4f}")
        -0.6931

    Torch: `torch.distributions.NegativeBinomial`.
    """
    logits = _logits("negative_binomial_log_prob", probs, logits)
    x, n, logits = _floats(array(value, "value"), total_count, logits)
    power = n * logsigmoid(-logits) + x * logsigmoid(logits)
    normalizer = -lgamma(n + x) + lgamma(x + 1) + lgamma(n)
    return power - jnp.where(n + x == 0, 0, normalizer)


def categorical_log_prob(
    value: Array, probs: Array | None = None, logits: Array | None = None
) -> Array:
    """The logarithm of a class's probability.

    Args:
        value: Classes, broadcasting with the batch of the rest.
        probs: `(*, classes)`, over their sum and clamped to `[eps, 1 - eps]`.
        logits: Or these.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{categorical_log_prob(jnp.array(1), jnp.array([0.5, 0.5])):.4f}")
        -0.6931

    Torch: `torch.distributions.Categorical`.
    """
    known = _log_classes("categorical_log_prob", probs, logits)
    at = array(value, "value").astype(int)[..., None]
    shape = jnp.broadcast_shapes(at.shape[:-1], known.shape[:-1])
    known = jnp.broadcast_to(known, (*shape, known.shape[-1]))
    return jnp.take_along_axis(known, jnp.broadcast_to(at, (*shape, 1)), -1)[..., 0]


def multinomial_log_prob(
    value: Array, probs: Array | None = None, logits: Array | None = None
) -> Array:
    """The logarithm of the probability of how often each class is seen.

    Args:
        value: `(*, classes)`, how often each class.
        probs: `(*, classes)`, over their sum and clamped to `[eps, 1 - eps]`.
        logits: Or these.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{multinomial_log_prob(jnp.array([1.0, 0.0]), jnp.array([0.5, 0.5])):.4f}")
        -0.6931

    Torch: `torch.distributions.Multinomial`.
    """
    known = _log_classes("multinomial_log_prob", probs, logits)
    x, known = _floats(array(value, "value"), known)
    known = jnp.where((x == 0) & (known == -jnp.inf), 0, known)
    counts = lgamma(jnp.sum(x, -1) + 1) - jnp.sum(lgamma(x + 1), -1)
    return counts + jnp.sum(known * x, -1)


def multivariate_normal_log_prob(
    value: Array,
    loc: Array,
    covariance_matrix: Array | None = None,
    scale_tril: Array | None = None,
) -> Array:
    """The logarithm of the normal density at a value of several dims.

    Args:
        value: `(*, n)`.
        loc: `(*, n)`.
        covariance_matrix: `(*, n, n)`, of which the lower triangle is read.
        scale_tril: Or its Cholesky factor.

    Raises:
        TypeError: There are both or neither of the covariance and its factor.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{multivariate_normal_log_prob(jnp.zeros(2), jnp.zeros(2), jnp.eye(2)):.4f}")
        -1.8379

    Torch: `torch.distributions.MultivariateNormal`.
    """
    factor = _factor("multivariate_normal_log_prob", covariance_matrix, scale_tril)
    x, loc, factor = _floats(array(value, "value"), array(loc, "loc"), factor)
    distance = _mahalanobis(factor, x - loc)
    return -0.5 * (factor.shape[-1] * math.log(2 * math.pi) + distance) - _half_log_det(factor)


def _one(name: str, first: Any, second: Any, names: str = "probs and logits") -> None:
    if (first is None) == (second is None):
        raise TypeError(f"{name} needs one of {names}, not both or neither")


def _clamped(probs: Array) -> Array:
    eps = float(jnp.finfo(probs.dtype).eps)
    return clamp(probs, eps, 1 - eps)


def _logits(name: str, probs: Any, logits: Any) -> Array:
    _one(name, probs, logits)
    if probs is None:
        return floating(jnp.asarray(logits))
    return _binary_logits(floating(jnp.asarray(probs)))


def _binary_logits(probs: Array) -> Array:
    clamped = _clamped(probs)
    return log(clamped) - log1p(-clamped)


def _log_classes(name: str, probs: Any, logits: Any) -> Array:
    _one(name, probs, logits)
    if probs is None:
        logits = array(logits, "logits")
        return logits - logsumexp(logits, -1, keepdim=True)
    return log(_clamped(_normalized(array(probs, "probs"))))


def _normalized(probs: Array) -> Array:
    return probs / jnp.sum(probs, -1, keepdims=True)


def _factor(name: str, covariance: Any, factor: Any) -> Array:
    _one(name, covariance, factor, "covariance_matrix and scale_tril")
    if factor is not None:
        return array(factor, "scale_tril")
    return cholesky(array(covariance, "covariance_matrix"))


def _mahalanobis(factor: Array, x: Array) -> Array:
    return jnp.sum(pow(solve_triangular(factor, x[..., None], upper=False)[..., 0], 2), -1)


def _half_log_det(factor: Array) -> Array:
    return jnp.sum(log(jnp.diagonal(factor, axis1=-2, axis2=-1)), -1)
