"""Log-probabilities of counts and classes: torch's formulas, and so its edges.

Nothing is checked, and arguments broadcast, as in `log_probs`.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, floating, require_floating
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.activation.sigmoid import logsigmoid, sigmoid
from jaxgrad.functional.distributions._parameters import (
    _expanded,
    _given,
    _one,
    distribution_parameters,
)
from jaxgrad.functional.loss.binary import binary_cross_entropy_with_logits
from jaxgrad.functional.pointwise.clamp import clamp
from jaxgrad.functional.pointwise.exp_log import exp, log, log1p
from jaxgrad.functional.pointwise.gamma import lgamma
from jaxgrad.functional.pointwise.sign import abs
from jaxgrad.functional.pointwise.two_argument import xlogy
from jaxgrad.functional.reduction.sum import logsumexp


def poisson_log_prob(value: Array, rate: ArrayLike) -> Array:
    """The logarithm of Poisson's probability of a count.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{poisson_log_prob(jnp.array(0.0), 1.0):.4f}")
        -1.0000

    Torch: `torch.distributions.Poisson`.
    """
    reject("poisson_log_prob", "bool", rate)
    x, rate = _expanded(*distribution_parameters(array(value, "value"), rate))
    return xlogy(x, rate) - rate - lgamma(x + 1)


def bernoulli_log_prob(
    value: Array, probs: ArrayLike | None = None, logits: ArrayLike | None = None
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
    reject("bernoulli_log_prob", "bool integer", logits)
    logits = _logits("bernoulli_log_prob", probs, logits)
    x, logits = _expanded(
        *distribution_parameters(require_floating(value, "bernoulli_log_prob", "value"), logits)
    )
    return -binary_cross_entropy_with_logits(logits, x, reduction="none")


def geometric_log_prob(
    value: Array, probs: ArrayLike | None = None, logits: ArrayLike | None = None
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
    reject("geometric_log_prob", "bool", probs)
    _one("geometric_log_prob", probs, logits)
    probs = sigmoid(floating(jnp.asarray(logits))) if probs is None else probs
    x, p = distribution_parameters(array(value, "value"), probs)
    failing = jnp.where((p == 1) & (x == 0), 0, p)
    return x * log1p(-failing) + log(p)


def binomial_log_prob(
    value: Array,
    total_count: ArrayLike = 1,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
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
    reject_each("binomial_log_prob", "bool", value, logits)
    logits = _logits("binomial_log_prob", probs, logits)
    x, n, logits = _given(value, total_count, logits)
    positive = (clamp(logits, min=0) + logits - clamp(logits, max=0)) / 2
    normalizer = n * positive + n * log1p(exp(-abs(logits))) - lgamma(n + 1)
    return x * logits - lgamma(x + 1) - lgamma(n - x + 1) - normalizer


def negative_binomial_log_prob(
    value: Array,
    total_count: ArrayLike,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
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
    reject("negative_binomial_log_prob", "bool integer", logits)
    logits = _logits("negative_binomial_log_prob", probs, logits)
    x, n, logits = _given(value, total_count, logits)
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
    reject("multinomial_log_prob", "complex", logits)
    known = _log_classes("multinomial_log_prob", probs, logits)
    x, known = distribution_parameters(array(value, "value"), known)
    known = jnp.where((x == 0) & (known == -jnp.inf), 0, known)
    counts = lgamma(jnp.sum(x, -1) + 1) - jnp.sum(lgamma(x + 1), -1)
    return counts + jnp.sum(known * x, -1)


def _clamped(probs: Array) -> Array:
    eps = float(jnp.finfo(probs.dtype).eps)
    return clamp(probs, eps, 1 - eps)


def _logits(name: str, probs: Any, logits: Any) -> Array:
    _one(name, probs, logits)
    if probs is None:
        return jnp.asarray(logits)
    reject(name, "bool integer", probs)
    return _binary_logits(floating(jnp.asarray(probs)))


def _binary_logits(probs: Array) -> Array:
    clamped = _clamped(probs)
    return log(clamped) - log1p(-clamped)


def _log_classes(name: str, probs: Any, logits: Any) -> Array:
    _one(name, probs, logits)
    if probs is None:
        reject(name, "bool", logits)
        (logits,) = distribution_parameters(array(logits, "logits"))
        return logits - logsumexp(logits, -1, keepdim=True)
    return log(_clamped(_normalized(floating(array(probs, "probs")))))


def _normalized(probs: Array) -> Array:
    return probs / jnp.sum(probs, -1, keepdims=True)
