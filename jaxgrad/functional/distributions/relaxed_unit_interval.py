"""Log-densities on the unit interval and the simplex, including relaxed discrete distributions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST
from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, floating, in_opmath, require_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.activation.sigmoid_tanh_softplus import logsigmoid, sigmoid, softplus
from jaxgrad.functional.distributions._parameters import (
    broadcast_parameters,
    distribution_parameters,
)
from jaxgrad.functional.distributions.discrete import (
    as_logits,
    bernoulli_log_prob,
    categorical_log_prob,
    clamped_probs,
    log_class_probs,
)
from jaxgrad.functional.distributions.normal_laplace_uniform import (
    normal_log_prob,
    uniform_log_prob,
)
from jaxgrad.functional.distributions.positive_chi2_pareto import invert_power
from jaxgrad.functional.pointwise.abs_sign import abs
from jaxgrad.functional.pointwise.clamp_maximum import clamp
from jaxgrad.functional.pointwise.exp_log import log, log1p
from jaxgrad.functional.pointwise.gamma_zeta import lgamma
from jaxgrad.functional.pointwise.pow_sqrt import pow
from jaxgrad.functional.reduction.sum_mean_prod import logsumexp


def kumaraswamy_log_prob(
    value: Array, concentration1: ArrayLike, concentration0: ArrayLike
) -> Array:
    """Log-density of the Kumaraswamy distribution at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{kumaraswamy_log_prob(jnp.array(0.5), 1.0, 3.0):.4f}")
        -0.2877

    Torch: `torch.distributions.Kumaraswamy`.
    """
    reject("kumaraswamy_log_prob", "bool", concentration0)
    x, a, b = distribution_parameters(array(value, "value"), concentration1, concentration0)
    x, first = invert_power(x, 1 / a)
    x, second = invert_power(1 - x, 1 / b)
    return uniform_log_prob(x, 0.0, 1.0) - first - second


def continuous_bernoulli_log_prob(
    value: Array,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    lims: tuple[float, float] = (0.499, 0.501),
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-density of the continuous Bernoulli distribution at a value.

    Args:
        value: Values in [0, 1], of any shape.
        probs: Parameter of the distribution, clamped to `[eps, 1 - eps]`.
        logits: Alternatively, the logit of `probs`; passing both or neither raises a TypeError.
        lims: Range of `probs` in which a Taylor series computes the normalizing constant.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{continuous_bernoulli_log_prob(jnp.array(0.5), 0.5):.4f}")
        0.0000

    Torch: `torch.distributions.ContinuousBernoulli`.
    """
    reject("continuous_bernoulli_log_prob", "bool integer", logits)
    logits = as_logits("continuous_bernoulli_log_prob", probs, logits, torch)
    p = sigmoid(logits) if probs is None else floating(jnp.asarray(probs))
    x, logits, p = distribution_parameters(
        require_floating(value, "continuous_bernoulli_log_prob", "value"), logits, p
    )
    return bernoulli_log_prob(x, logits=logits) + _normalizer(clamped_probs(p, torch), *lims)


def _normalizer(p: Array, low: float, high: float) -> Array:
    stable = (p <= low) | (p > high)
    cut = jnp.where(stable, p, low)
    below, above = jnp.where(cut <= 0.5, cut, 0), jnp.where(cut >= 0.5, cut, 1)
    exact = log(abs(log1p(-cut) - log(cut)))
    exact = exact - jnp.where(cut <= 0.5, log1p(-2 * below), log(2 * above - 1))
    y = pow(p - 0.5, 2)
    return jnp.where(stable, exact, math.log(2) + (4 / 3 + 104 / 45 * y) * y)


def relaxed_bernoulli_log_prob(
    value: Array,
    temperature: ArrayLike,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-density of a relaxed Bernoulli variable.

    Args:
        value: Values in [0, 1], of any shape.
        temperature: Temperature; near 0 the variable is nearly discrete.
        probs: Probability of 1, clamped to `[eps, 1 - eps]`.
        logits: Alternatively, the logit of `probs`; passing both or neither raises a TypeError.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{relaxed_bernoulli_log_prob(jnp.array(0.5), 1.0, 0.5):.4f}")
        0.0000

    Torch: `torch.distributions.RelaxedBernoulli`.
    """
    reject("relaxed_bernoulli_log_prob", "bool", logits)
    logits = as_logits("relaxed_bernoulli_log_prob", probs, logits, torch)
    x = require_floating(value, "relaxed_bernoulli_log_prob", "value")
    x, temperature, logits = distribution_parameters(x, temperature, logits)
    limits = jnp.finfo(x.dtype)
    x = clamp(x, float(limits.tiny), 1 - float(limits.eps), torch=torch)
    x = log(x) - log1p(-x)
    expanded, logits = broadcast_parameters(x, logits)
    difference = logits - expanded * temperature
    score = log(temperature) + difference - 2 * in_opmath(_log1p_exp, difference)
    return softplus(-x) + softplus(x) + score


# When `exp` is close to overflow, XLA flushes its reciprocal to 0; torch does not.
@derivative(lambda t, _, x: t * _logistic(x))
def _log1p_exp(x: Array) -> Array:
    return jnp.log1p(jnp.exp(x))


@derivative(lambda t, y, _: t * (y * (1 - y)))
def _logistic(x: Array) -> Array:
    return jnp.where(jnp.isinf(jnp.exp(x)), jnp.nan, jax.lax.logistic(x))


def relaxed_one_hot_categorical_log_prob(
    value: Array,
    temperature: ArrayLike,
    probs: Array | None = None,
    logits: Array | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-density of a relaxed one-hot categorical variable.

    Args:
        value: Point on the simplex, `(*, classes)`.
        temperature: Temperature, a number or `()`; near 0 the variable is nearly discrete.
        probs: Class weights, `(*, classes)`; first normalized, then clamped to `[eps, 1 - eps]`.
        logits: Or unnormalized log-probabilities; passing both or neither raises a TypeError.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> half = jnp.array([0.5, 0.5])
        >>> print(f"{relaxed_one_hot_categorical_log_prob(half, 1.0, half):.4f}")
        0.0000

    Torch: `torch.distributions.RelaxedOneHotCategorical`.
    """
    logits = log_class_probs("relaxed_one_hot_categorical_log_prob", probs, logits, torch)
    x, temperature, logits = distribution_parameters(array(value, "value"), temperature, logits)
    classes, x = logits.shape[-1], log(x)
    constant = lgamma(jnp.full_like(temperature, classes)) + log(temperature) * (classes - 1)
    score = logits - x * temperature
    score = jnp.sum(score - logsumexp(score, -1, keepdim=True), -1)
    return score + constant - jnp.sum(x, -1)


def one_hot_categorical_log_prob(
    value: Array,
    probs: Array | None = None,
    logits: Array | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Log-probability of a class, given as a one-hot vector.

    Args:
        value: One-hot vectors, `(*, classes)`.
        probs: Class weights, `(*, classes)`; first normalized, then clamped to `[eps, 1 - eps]`.
        logits: Or unnormalized log-probabilities; passing both or neither raises a TypeError.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{one_hot_categorical_log_prob(jnp.eye(2)[0], jnp.array([0.5, 0.5])):.4f}")
        -0.6931

    Torch: `torch.distributions.OneHotCategorical`.
    """
    reject("one_hot_categorical_log_prob", "complex", value)
    label = jnp.argmax(array(value, "value"), -1)
    return categorical_log_prob(label, probs, logits, torch=torch)


def logistic_normal_log_prob(
    value: Array, loc: ArrayLike, scale: ArrayLike, *, torch: str = NEWEST
) -> Array:
    """Log-density of the logistic-normal distribution at a point on the simplex.

    Args:
        value: Point on the simplex, `(*, n + 1)`.
        loc: Mean of the normal distribution before the stick-breaking transform, `(*, n)`.
        scale: Standard deviation of that normal distribution, `(*, n)`.
        torch: Version whose gradient is computed; it changed in 2.14 for clamped probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{logistic_normal_log_prob(jnp.array([0.5, 0.5]), 0.0, 1.0):.4f}")
        0.4674

    Torch: `torch.distributions.LogisticNormal`.
    """
    reject("logistic_normal_log_prob", "bool", loc)
    y = require_floating(value, "logistic_normal_log_prob", "value")
    y, loc, scale = distribution_parameters(y, loc, scale, elementwise=False)
    y, left = y[..., :-1], jnp.arange(y.shape[-1] - 1, 0, -1, dtype=y.dtype)
    rest = clamp(1 - jnp.cumsum(y, -1), min=float(jnp.finfo(y.dtype).tiny), torch=torch)
    x = log(y) - log(rest) + jnp.log(left)
    z = x - jnp.log(left)
    log_slope = jnp.sum(-z + logsigmoid(z) + log(y), -1)
    return jnp.sum(normal_log_prob(x, loc, scale), -1) - log_slope
