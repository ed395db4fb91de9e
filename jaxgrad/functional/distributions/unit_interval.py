"""Log-probabilities on the unit interval and on the simplex: relaxations of 0 and 1 among them."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, floating, in_opmath, require_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.activation.sigmoid import logsigmoid, sigmoid, softplus
from jaxgrad.functional.distributions._parameters import _expanded, distribution_parameters
from jaxgrad.functional.distributions.discrete import (
    _clamped,
    _log_classes,
    _logits,
    bernoulli_log_prob,
    categorical_log_prob,
)
from jaxgrad.functional.distributions.positive_half_line import unpowered
from jaxgrad.functional.distributions.real_line import normal_log_prob, uniform_log_prob
from jaxgrad.functional.pointwise.clamp import clamp
from jaxgrad.functional.pointwise.exp_log import log, log1p
from jaxgrad.functional.pointwise.gamma import lgamma
from jaxgrad.functional.pointwise.powers import pow
from jaxgrad.functional.pointwise.sign import abs
from jaxgrad.functional.reduction.sum import logsumexp


def kumaraswamy_log_prob(
    value: Array, concentration1: ArrayLike, concentration0: ArrayLike
) -> Array:
    """The logarithm of Kumaraswamy's density at a value.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{kumaraswamy_log_prob(jnp.array(0.5), 1.0, 3.0):.4f}")
        -0.2877

    Torch: `torch.distributions.Kumaraswamy`.
    """
    reject("kumaraswamy_log_prob", "bool", concentration0)
    x, a, b = distribution_parameters(array(value, "value"), concentration1, concentration0)
    x, first = unpowered(x, 1 / a)
    x, second = unpowered(1 - x, 1 / b)
    return uniform_log_prob(x, 0.0, 1.0) - first - second


def continuous_bernoulli_log_prob(
    value: Array,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    lims: tuple[float, float] = (0.499, 0.501),
) -> Array:
    """The logarithm of the continuous Bernoulli density at a value.

    Args:
        value: In [0, 1], of any shape.
        probs: The parameter, clamped to `[eps, 1 - eps]`.
        logits: Or its logit.
        lims: Between them the normalizing constant is a series.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{continuous_bernoulli_log_prob(jnp.array(0.5), 0.5):.4f}")
        0.0000

    Torch: `torch.distributions.ContinuousBernoulli`.
    """
    reject("continuous_bernoulli_log_prob", "bool integer", logits)
    given = _logits("continuous_bernoulli_log_prob", probs, logits)
    p = sigmoid(given) if probs is None else floating(jnp.asarray(probs))
    x, given, p = distribution_parameters(
        require_floating(value, "continuous_bernoulli_log_prob", "value"), given, p
    )
    return bernoulli_log_prob(x, logits=given) + _normalizer(_clamped(p), *lims)


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
) -> Array:
    """The logarithm of the density of a relaxed 0 or 1.

    Args:
        value: In [0, 1], of any shape.
        temperature: 0: nearly discrete.
        probs: The probability of 1, clamped to `[eps, 1 - eps]`.
        logits: Or its logit.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{relaxed_bernoulli_log_prob(jnp.array(0.5), 1.0, 0.5):.4f}")
        0.0000

    Torch: `torch.distributions.RelaxedBernoulli`.
    """
    reject("relaxed_bernoulli_log_prob", "bool", logits)
    logits = _logits("relaxed_bernoulli_log_prob", probs, logits)
    x = require_floating(value, "relaxed_bernoulli_log_prob", "value")
    x, temperature, logits = distribution_parameters(x, temperature, logits)
    limits = jnp.finfo(x.dtype)
    x = clamp(x, float(limits.tiny), 1 - float(limits.eps))
    x = log(x) - log1p(-x)
    each, logits = _expanded(x, logits)
    difference = logits - each * temperature
    score = log(temperature) + difference - 2 * in_opmath(_log1p_exp, difference)
    return softplus(-x) + softplus(x) + score


# Where exp is nearly as large as a number can be, XLA has 0 for its inverse, and torch has not.
@derivative(lambda t, _, x: t * _share(x))
def _log1p_exp(x: Array) -> Array:
    return jnp.log1p(jnp.exp(x))


@derivative(lambda t, y, _: t * (y * (1 - y)))
def _share(x: Array) -> Array:
    return jnp.where(jnp.isinf(jnp.exp(x)), jnp.nan, jax.lax.logistic(x))


def relaxed_one_hot_categorical_log_prob(
    value: Array, temperature: ArrayLike, probs: Array | None = None, logits: Array | None = None
) -> Array:
    """The logarithm of the density of a relaxed one-hot vector.

    Args:
        value: `(*, classes)`, of sum 1.
        temperature: 0: nearly discrete; a number or `()`.
        probs: `(*, classes)`, over their sum and clamped to `[eps, 1 - eps]`.
        logits: Or these.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> half = jnp.array([0.5, 0.5])
        >>> print(f"{relaxed_one_hot_categorical_log_prob(half, 1.0, half):.4f}")
        0.0000

    Torch: `torch.distributions.RelaxedOneHotCategorical`.
    """
    logits = _log_classes("relaxed_one_hot_categorical_log_prob", probs, logits)
    x, temperature, logits = distribution_parameters(array(value, "value"), temperature, logits)
    classes, x = logits.shape[-1], log(x)
    constant = lgamma(jnp.full_like(temperature, classes)) + log(temperature) * (classes - 1)
    score = logits - x * temperature
    score = jnp.sum(score - logsumexp(score, -1, keepdim=True), -1)
    return score + constant - jnp.sum(x, -1)


def one_hot_categorical_log_prob(
    value: Array, probs: Array | None = None, logits: Array | None = None
) -> Array:
    """The logarithm of a class's probability, the class as the largest of a vector.

    Args:
        value: `(*, classes)`, ones at the classes.
        probs: `(*, classes)`, over their sum and clamped to `[eps, 1 - eps]`.
        logits: Or these.

    Raises:
        TypeError: There are both or neither of probs and logits.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{one_hot_categorical_log_prob(jnp.eye(2)[0], jnp.array([0.5, 0.5])):.4f}")
        -0.6931

    Torch: `torch.distributions.OneHotCategorical`.
    """
    reject("one_hot_categorical_log_prob", "complex", value)
    return categorical_log_prob(jnp.argmax(array(value, "value"), -1), probs, logits)


def logistic_normal_log_prob(value: Array, loc: ArrayLike, scale: ArrayLike) -> Array:
    """The logarithm of the logistic-normal density at a point of the simplex.

    Args:
        value: `(*, n + 1)`, of sum 1.
        loc: `(*, n)`, of what breaks the stick.
        scale: `(*, n)`.

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
    rest = clamp(1 - jnp.cumsum(y, -1), min=float(jnp.finfo(y.dtype).tiny))
    x = log(y) - log(rest) + jnp.log(left)
    z = x - jnp.log(left)
    step = jnp.sum(-z + logsigmoid(z) + log(y), -1)
    return jnp.sum(normal_log_prob(x, loc, scale), -1) - step
