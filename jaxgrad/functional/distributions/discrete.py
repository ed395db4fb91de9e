"""Log-probabilities of counts and classes, with torch's formulas, so that edge cases agree.

Arguments broadcast and are not validated, as in `normal_laplace_uniform`.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST
from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, floating, require_floating
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.activation.sigmoid_tanh_softplus import logsigmoid, sigmoid
from jaxgrad.functional.distributions._parameters import (
    broadcast_parameters,
    distribution_parameters,
    require_one,
    value_and_parameters,
)
from jaxgrad.functional.loss.binary_and_soft_margin import binary_cross_entropy_with_logits
from jaxgrad.functional.pointwise.abs_sign import abs
from jaxgrad.functional.pointwise.clamp_maximum import clamp
from jaxgrad.functional.pointwise.exp_log import exp, log, log1p
from jaxgrad.functional.pointwise.gamma_zeta import lgamma
from jaxgrad.functional.pointwise.xlogy_entr import xlogy
from jaxgrad.functional.reduction.sum_mean_prod import logsumexp


def poisson_log_prob(value: Array, rate: ArrayLike) -> Array:
    """Log-probability of a count under the Poisson distribution.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{poisson_log_prob(jnp.array(0.0), 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Poisson`.
    """
    reject("poisson_log_prob", "bool", rate)
    x, rate = broadcast_parameters(*distribution_parameters(array(value, "value"), rate))
    return xlogy(x, rate) - rate - lgamma(x + 1)


def bernoulli_log_prob(
    value: Array,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-probability of 0 or 1 under the Bernoulli distribution.

    Args:
        value: Zeros and ones, of any shape.
        probs: Probability of 1, clamped to `[eps, 1 - eps]`.
        logits: Alternatively, the logit of `probs`; passing both or neither raises a TypeError.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{bernoulli_log_prob(jnp.array(1.0), 0.5):.4f}")
        -0.6931

    Torch: `torch.distributions.Bernoulli`.
    """
    reject("bernoulli_log_prob", "bool integer", logits)
    logits = as_logits("bernoulli_log_prob", probs, logits, torch)
    x, logits = broadcast_parameters(
        *distribution_parameters(require_floating(value, "bernoulli_log_prob", "value"), logits)
    )
    return -binary_cross_entropy_with_logits(logits, x, reduction="none")


def geometric_log_prob(
    value: Array, probs: ArrayLike | None = None, logits: ArrayLike | None = None
) -> Array:
    """Log-probability of the number of failures before the first success.

    Args:
        value: Numbers of failures, of any shape.
        probs: Probability of success.
        logits: Alternatively, the logit of `probs`; passing both or neither raises a TypeError.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{geometric_log_prob(jnp.array(0.0), 0.5):.4f}")
        -0.6931

    Torch: `torch.distributions.Geometric`.
    """
    reject("geometric_log_prob", "bool", probs)
    require_one("geometric_log_prob", probs, logits)
    probs = sigmoid(floating(jnp.asarray(logits))) if probs is None else probs
    x, p = distribution_parameters(array(value, "value"), probs)
    failing = jnp.where((p == 1) & (x == 0), 0, p)
    return x * log1p(-failing) + log(p)


def binomial_log_prob(
    value: Array,
    total_count: ArrayLike = 1,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-probability of the number of successes in `total_count` trials.

    Args:
        value: Numbers of successes, of any shape.
        total_count: Number of trials.
        probs: Probability of success, clamped to `[eps, 1 - eps]`.
        logits: Alternatively, the logit of `probs`; passing both or neither raises a TypeError.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{binomial_log_prob(jnp.array(1.0), 2, 0.5):.4f}")
        -0.6931

    Torch: `torch.distributions.Binomial`.
    """
    reject_each("binomial_log_prob", "bool", value, logits)
    logits = as_logits("binomial_log_prob", probs, logits, torch)
    x, n, logits = value_and_parameters(value, total_count, logits)
    positive = (clamp(logits, min=0, torch=torch) + logits - clamp(logits, max=0, torch=torch)) / 2
    normalizer = n * positive + n * log1p(exp(-abs(logits))) - lgamma(n + 1)
    return x * logits - lgamma(x + 1) - lgamma(n - x + 1) - normalizer


def negative_binomial_log_prob(
    value: Array,
    total_count: ArrayLike,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-probability of the number of successes before `total_count` failures.

    Args:
        value: Numbers of successes, of any shape.
        total_count: Number of failures after which the trials end.
        probs: Probability of success, clamped to `[eps, 1 - eps]`.
        logits: Alternatively, the logit of `probs`; passing both or neither raises a TypeError.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{negative_binomial_log_prob(jnp.array(0.0), 1.0, 0.5):.4f}")
        -0.6931

    Torch: `torch.distributions.NegativeBinomial`.
    """
    reject("negative_binomial_log_prob", "bool integer", logits)
    logits = as_logits("negative_binomial_log_prob", probs, logits, torch)
    x, n, logits = value_and_parameters(value, total_count, logits)
    power = n * logsigmoid(-logits) + x * logsigmoid(logits)
    normalizer = -lgamma(n + x) + lgamma(x + 1) + lgamma(n)
    return power - jnp.where(n + x == 0, 0, normalizer)


def categorical_log_prob(
    value: Array,
    probs: Array | None = None,
    logits: Array | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-probability of a class, given as an index.

    Args:
        value: Class indices, which broadcast with the batch dims of `probs`.
        probs: Class weights, `(*, classes)`; first normalized, then clamped to `[eps, 1 - eps]`.
        logits: Or unnormalized log-probabilities; passing both or neither raises a TypeError.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{categorical_log_prob(jnp.array(1), jnp.array([0.5, 0.5])):.4f}")
        -0.6931

    Torch: `torch.distributions.Categorical`.
    """
    log_probs = log_class_probs("categorical_log_prob", probs, logits, torch)
    at = array(value, "value").astype(int)[..., None]
    shape = jnp.broadcast_shapes(at.shape[:-1], log_probs.shape[:-1])
    log_probs = jnp.broadcast_to(log_probs, (*shape, log_probs.shape[-1]))
    return jnp.take_along_axis(log_probs, jnp.broadcast_to(at, (*shape, 1)), -1)[..., 0]


def multinomial_log_prob(
    value: Array,
    probs: Array | None = None,
    logits: Array | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-probability of the counts of all classes in independent trials.

    Args:
        value: Count of each class, `(*, classes)`.
        probs: Class weights, `(*, classes)`; first normalized, then clamped to `[eps, 1 - eps]`.
        logits: Or unnormalized log-probabilities; passing both or neither raises a TypeError.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{multinomial_log_prob(jnp.array([1.0, 0.0]), jnp.array([0.5, 0.5])):.4f}")
        -0.6931

    Torch: `torch.distributions.Multinomial`.
    """
    reject("multinomial_log_prob", "complex", logits)
    log_probs = log_class_probs("multinomial_log_prob", probs, logits, torch)
    x, log_probs = distribution_parameters(array(value, "value"), log_probs)
    log_probs = jnp.where((x == 0) & (log_probs == -jnp.inf), 0, log_probs)
    counts = lgamma(jnp.sum(x, -1) + 1) - jnp.sum(lgamma(x + 1), -1)
    return counts + jnp.sum(log_probs * x, -1)


def clamped_probs(probs: Array, torch: str) -> Array:
    eps = float(jnp.finfo(probs.dtype).eps)
    return clamp(probs, eps, 1 - eps, torch=torch)


def as_logits(name: str, probs: Any, logits: Any, torch: str) -> Array:
    require_one(name, probs, logits)
    if probs is None:
        return jnp.asarray(logits)
    reject(name, "bool integer", probs)
    return binary_logits(floating(jnp.asarray(probs)), torch)


def binary_logits(probs: Array, torch: str) -> Array:
    clamped = clamped_probs(probs, torch)
    return log(clamped) - log1p(-clamped)


def log_class_probs(name: str, probs: Any, logits: Any, torch: str) -> Array:
    require_one(name, probs, logits)
    if probs is None:
        reject(name, "bool", logits)
        (logits,) = distribution_parameters(array(logits, "logits"))
        return logits - logsumexp(logits, -1, keepdim=True)
    return log(clamped_probs(normalized_probs(floating(array(probs, "probs"))), torch))


def normalized_probs(probs: Array) -> Array:
    return probs / jnp.sum(probs, -1, keepdims=True)
