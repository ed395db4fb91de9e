"""Losses of one element at a time: torch's reductions, its gradients at kinks and clamps.

A gradient by a class weight, where torch has none, raises torch's error.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._arguments import array, in_opmath, is_complex, promoted, reduce, require, result_type
from ._rule import derivative, not_differentiable
from .activations import _logsigmoid
from .pointwise import _abs, _clamp_min, _xlogy


EPSILON = float(np.float32(1e-12))  # torch's kernel has it as a float, also in float64


def l1_loss(
    input: jax.Array,
    target: jax.Array,
    *,
    reduction: str = "mean",
    weight: jax.Array | None = None,
) -> jax.Array:
    """The absolute difference, with gradient 0 where it is 0.

    Args:
        input: Of any shape.
        target: Of the same shape; another one broadcasts, with a warning.
        reduction: `"none"`, `"mean"` or `"sum"`.
        weight: A weight for each element; the mean is then divided by their sum.

    Raises:
        ValueError: The weight has another shape, or the reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(l1_loss)(jnp.array([1.0, 3.0]), jnp.array([1.0, 2.0])))
        [0.  0.5]

    Torch: `torch.nn.functional.l1_loss`.

    Differs from jax in:
        1. Where both are equal the gradient is 0 (`jnp.abs(x - y)`: 1).
    """
    return _regression("l1_loss", _l1, input, target, reduction, weight, weighs_mean=True)


def _l1(difference: jax.Array) -> jax.Array:
    return jnp.abs(difference) if is_complex(difference) else _abs(difference)


def mse_loss(
    input: jax.Array,
    target: jax.Array,
    *,
    reduction: str = "mean",
    weight: jax.Array | None = None,
) -> jax.Array:
    """The squared difference, without a factor of a half.

    Args:
        input: Of any shape.
        target: Of the same shape; another one broadcasts, with a warning.
        reduction: `"none"`, `"mean"` or `"sum"`.
        weight: A weight for each element; the mean is then divided by their sum.

    Raises:
        ValueError: The weight has another shape, or the reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(mse_loss)(jnp.array([1.0, 3.0]), jnp.array([1.0, 2.0])))
        [0. 1.]

    Torch: `torch.nn.functional.mse_loss`.

    Differs from jax in:
        1. `optax.l2_loss` is half of it.
    """
    return _regression(
        "mse_loss", lambda d: d * d, input, target, reduction, weight, weighs_mean=True
    )


def smooth_l1_loss(
    input: jax.Array, target: jax.Array, *, reduction: str = "mean", beta: float = 1.0
) -> jax.Array:
    """Half the squared difference over beta, and linear from beta on.

    Raises:
        RuntimeError: Beta is negative.
        ValueError: The reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(smooth_l1_loss)(jnp.array([0.5, 3.0]), jnp.zeros(2)))
        [0.25 0.5 ]

    Torch: `torch.nn.functional.smooth_l1_loss`.

    Differs from jax in:
        1. `optax.huber_loss(delta=beta)` is beta times it.
        2. The gradient at an infinity is 1 or -1 (`jnp.where` of the two branches: NaN).
    """
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta. Got: {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _regression(
        "smooth_l1_loss", lambda d: _smooth_l1(d, beta=beta), input, target, reduction, None
    )


def _smooth_l1_derivative(t: Any, _: Any, d: Any, beta: float) -> Any:
    return t * jnp.where(jnp.abs(d) < beta, d / beta, jax.lax.stop_gradient(_sign(d)))


@derivative(_smooth_l1_derivative)
def _smooth_l1(d: jax.Array, *, beta: float) -> jax.Array:
    size = jnp.abs(d)
    return jnp.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta)


def _sign(d: jax.Array) -> jax.Array:
    return jnp.where(jnp.isnan(d), d, jnp.sign(d))


def huber_loss(
    input: jax.Array,
    target: jax.Array,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: jax.Array | None = None,
) -> jax.Array:
    """Half the squared difference, and linear from delta on.

    Args:
        input: Of any shape.
        target: Of the same shape; another one broadcasts, with a warning.
        reduction: `"none"`, `"mean"` or `"sum"`.
        delta: Where it becomes linear.
        weight: A weight for each element; the mean is over the number of elements.

    Raises:
        RuntimeError: Delta is not positive.
        ValueError: The weight has another shape, or the reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(huber_loss)(jnp.array([0.5, 3.0]), jnp.zeros(2)))
        [0.25 0.5 ]

    Torch: `torch.nn.functional.huber_loss`.

    Differs from jax in:
        1. The gradient at an infinity is delta (`jnp.where` of the two branches: NaN).
    """
    if delta <= 0:
        raise RuntimeError(
            f"huber_loss does not support non-positive values for delta. Got: {delta}"
        )
    return _regression(
        "huber_loss", lambda d: _huber(d, delta=delta), input, target, reduction, weight
    )


@derivative(
    lambda t, _, d, delta: (
        t * jnp.where(jnp.abs(d) < delta, d, jax.lax.stop_gradient(_sign(d)) * delta)
    )
)
def _huber(d: jax.Array, *, delta: float) -> jax.Array:
    size = jnp.abs(d)
    return jnp.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def _regression(
    name: str,
    loss: Any,
    input: Any,
    target: Any,
    reduction: str,
    weight: Any,
    *,
    weighs_mean: bool = False,
) -> jax.Array:
    """A loss of the difference, with the weights and the reduction."""
    input, target = _floats(name, input, target)
    if input.shape != target.shape:
        warnings.warn(
            f"the target has the shape {target.shape}, the input {input.shape}; they broadcast, "
            "which is rarely meant",
            stacklevel=3,
        )
    if weight is None:
        return in_opmath(lambda x, y: reduce(loss(x - y), reduction), input, target)
    if jnp.shape(weight) != input.shape:
        raise ValueError(
            f"Weights and input must have the same size, but they have {jnp.shape(weight)} and "
            f"{input.shape}"
        )

    def weighted(x: jax.Array, y: jax.Array, w: jax.Array) -> jax.Array:
        value = loss(x - y) * w
        if weighs_mean and reduction == "mean":
            return jnp.sum(value) / jnp.sum(w)
        return reduce(value, reduction)

    return in_opmath(weighted, input, target, array(weight, "weight"))


def binary_cross_entropy(
    input: jax.Array,
    target: jax.Array,
    weight: jax.Array | None = None,
    *,
    reduction: str = "mean",
) -> jax.Array:
    """The cross entropy of probabilities, its logarithms not below -100.

    Args:
        input: Probabilities, of any shape.
        target: Probabilities, of the same shape.
        weight: A weight that broadcasts to it; it has no gradient.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        RuntimeError: A probability is not in [0, 1]. Under `jit` only with `checkify`.
        ValueError: The shapes differ, or the reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(binary_cross_entropy)(jnp.array([0.5, 1.0]), jnp.ones(2)))
        [-1.  0.]

    Torch: `torch.nn.functional.binary_cross_entropy`.

    Differs from jax in:
        1. At 0 and 1 the loss is at most 100 and the gradient finite, 1e12 where it is wrong
           (`-log(p)`: inf, NaN).
    """
    input, target = _floats("binary_cross_entropy", input, target)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({list(target.shape)}) that is different to the input size "
            f"({list(input.shape)}) is deprecated. Please ensure they have the same size."
        )
    for name, x in (("input", input), ("target", target)):
        require(
            jnp.all((x >= 0) & (x <= 1)),
            RuntimeError(f"all elements of {name} should be between 0 and 1"),
        )

    def loss(x: jax.Array, y: jax.Array, *w: jax.Array) -> jax.Array:
        return reduce(_scaled(_binary(x, y), *w), reduction)

    return in_opmath(loss, input, target, *_constants(weight=weight))


@derivative(lambda t, _, x, y: t * _binary_slope(x, y), lambda t, _, x, __: t * -_log_odds(x))
def _binary(x: jax.Array, y: jax.Array) -> jax.Array:
    floor = jnp.asarray(-100, x.dtype)
    return (y - 1) * jnp.maximum(jnp.log1p(-x), floor) - y * jnp.maximum(jnp.log(x), floor)


@derivative(
    lambda t, _, x, y: (
        t * ((x * x - 2 * x * y + y) / (jnp.square(x + 1e-12) * jnp.square(1 - x + 1e-12)))
    ),
    lambda t, _, x, __: t * -(1 / jax.lax.stop_gradient(jnp.maximum((1 - x) * x, 1e-12))),
)
def _binary_slope(x: jax.Array, y: jax.Array) -> jax.Array:
    return (x - y) / jnp.maximum((1 - x) * x, EPSILON)


@derivative(lambda t, _, x: t / (x * (1 - x)))
def _log_odds(x: jax.Array) -> jax.Array:
    return jnp.log(x / (1 - x))


def binary_cross_entropy_with_logits(
    input: jax.Array,
    target: jax.Array,
    weight: jax.Array | None = None,
    *,
    reduction: str = "mean",
    pos_weight: jax.Array | None = None,
) -> jax.Array:
    """The cross entropy of the sigmoid of logits.

    Args:
        input: Logits, of any shape.
        target: Probabilities, of the same shape.
        weight: A weight that broadcasts to it; it has no gradient.
        reduction: `"none"`, `"mean"` or `"sum"`.
        pos_weight: A weight of the positive part that broadcasts to it; it has no gradient.

    Raises:
        ValueError: The shapes differ, or the reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(binary_cross_entropy_with_logits)(jnp.zeros(2), jnp.array([0.0, 1.0])))
        [ 0.25 -0.25]

    Torch: `torch.nn.functional.binary_cross_entropy_with_logits`.

    Differs from jax in:
        1. `optax.sigmoid_binary_cross_entropy` has neither weight.
    """
    input, target = _floats("binary_cross_entropy_with_logits", input, target)
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({list(target.shape)}) must be the same as input size "
            f"({list(input.shape)})"
        )
    weights = _constants(weight=weight, pos_weight=pos_weight)

    def loss(x: jax.Array, y: jax.Array, *w: jax.Array) -> jax.Array:
        value = _logits(x, y) if pos_weight is None else _weighted_logits(x, y, w[-1])
        return reduce(_scaled(value, *w[: int(weight is not None)]), reduction)

    return in_opmath(loss, input, target, *weights)


@derivative(lambda t, _, x, y: t * (jax.lax.logistic(x) - y), lambda t, _, x, __: t * -x)
def _logits(x: jax.Array, y: jax.Array) -> jax.Array:
    return (1 - y) * x - _logsigmoid(x)


@derivative(
    lambda t, _, x, y, w: t * ((w * y + 1 - y) * jax.lax.logistic(x) - w * y),
    lambda t, _, x, __, w: t * (_logsigmoid(-x) - _logsigmoid(x) * w),
    None,
)
def _weighted_logits(x: jax.Array, y: jax.Array, w: jax.Array) -> jax.Array:
    return (1 - y) * x - _logsigmoid(x) * ((w - 1) * y + 1)


def _constants(**weights: Any) -> list[jax.Array]:
    """The weights that are given, each of which raises when it is differentiated."""
    return [constant(w, name) for name, w in weights.items() if w is not None]


def constant(x: Any, name: str) -> jax.Array:
    """An array that torch does not differentiate by."""

    def same(x: jax.Array) -> jax.Array:
        return x

    return derivative(not_differentiable(name))(same)(array(x, name))


def _scaled(loss: jax.Array, *weight: jax.Array) -> jax.Array:
    return loss * weight[0] if weight else loss


def kl_div(
    input: jax.Array, target: jax.Array, *, reduction: str = "mean", log_target: bool = False
) -> jax.Array:
    """The Kullback-Leibler divergence of each element, `target * (log(target) - input)`.

    Args:
        input: Logarithms of probabilities, of any shape.
        target: Probabilities, or their logarithms with `log_target`.
        reduction: `"none"`, `"mean"` (of all elements), `"batchmean"` or `"sum"`.
        log_target: Whether the target is logarithms.

    Raises:
        ValueError: The reduction is none of the four.

    Example:
        >>> import jax.numpy as jnp
        >>> half = jnp.array([[0.5, 0.5]])
        >>> print(f"{kl_div(jnp.zeros((1, 2)), half, reduction='batchmean'):.4f}")
        -0.6931

    Torch: `torch.nn.functional.kl_div`.

    Differs from jax in:
        1. `"mean"` divides by all elements (`optax.losses.kl_divergence` sums over the last dim).
    """
    if reduction == "mean":
        warnings.warn(
            "reduction='mean' divides by the number of elements; 'batchmean' divides by the batch "
            "size, as the divergence is defined",
            stacklevel=2,
        )
    batch = reduction == "batchmean"

    def loss(x: jax.Array, y: jax.Array) -> jax.Array:
        value = jnp.exp(y) * (y - x) if log_target else _xlogy(y, y) - y * x
        total = reduce(value, "sum" if batch else reduction)
        return total / input.shape[0] if batch and input.ndim else total

    return in_opmath(loss, *_floats("kl_div", input, target))


def gaussian_nll_loss(
    input: jax.Array,
    target: jax.Array,
    var: jax.Array | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> jax.Array:
    """The negative log-likelihood of a normal distribution, its variance not below eps.

    Args:
        input: Means, of any shape.
        target: Samples, broadcasting with it.
        var: Variances: of the input's shape, without its last dim, or 1 in one dim.
        full: Whether the constant is added.
        eps: The least variance; the gradient passes below it too.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: A variance is negative (under `jit` only with `checkify`), its shape is none
            of the three, or the reduction is.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> one = jnp.ones(1)
        >>> print(jax.grad(gaussian_nll_loss, 2)(0 * one, one, 4 * one))
        [0.09375]

    Torch: `torch.nn.functional.gaussian_nll_loss`.

    Differs from jax in:
        1. Below eps the gradient by the variance is that at eps (`jnp.maximum(var, eps)`: 0).
    """
    input, target = _floats("gaussian_nll_loss", input, target)
    if isinstance(var, float):
        var = jnp.full_like(input, var)
    var = array(var, "var")
    require(~jnp.any(var < 0), ValueError("var has negative entry/entries"))
    if var.shape != input.shape:
        if var.shape == input.shape[:-1]:
            var = var[..., None]
        elif var.ndim != input.ndim or (
            sum(b for a, b in zip(input.shape, var.shape, strict=True) if a != b) != 1
        ):
            raise ValueError(
                f"var is of incorrect size: it has the shape {var.shape}, the input {input.shape}"
            )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid; use 'none', 'mean' or 'sum'")

    def loss(x: jax.Array, y: jax.Array, v: jax.Array) -> jax.Array:
        v = passing_floor(v, eps=eps)
        value = 0.5 * (jnp.log(v) + jnp.square(x - y) / v)
        return reduce(value + 0.5 * math.log(2 * math.pi) if full else value, reduction)

    return in_opmath(loss, input, target, var)


@derivative(lambda t, *_, **__: t)
def passing_floor(x: jax.Array, *, eps: float) -> jax.Array:
    """The input, not below eps; the gradient passes as if there were no bound."""
    return jnp.maximum(x, eps)


def poisson_nll_loss(
    input: jax.Array,
    target: jax.Array,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> jax.Array:
    """The negative log-likelihood of a Poisson distribution.

    Args:
        input: Rates, or their logarithms with `log_input`.
        target: Counts, broadcasting with it.
        log_input: Whether the input is logarithms.
        full: Whether Stirling's approximation of the constant is added, for counts above 1.
        eps: Added to the rate before its logarithm.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: The reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(poisson_nll_loss)(jnp.zeros(2), jnp.array([1.0, 3.0])))
        [ 0. -1.]

    Torch: `torch.nn.functional.poisson_nll_loss`.
    """

    def loss(x: jax.Array, y: jax.Array) -> jax.Array:
        value = jnp.exp(x) - y * x if log_input else x - y * jnp.log(x + eps)
        if full:
            stirling = y * jnp.log(y) - y + 0.5 * jnp.log(2 * math.pi * y)
            value = value + jnp.where(y <= 1, 0, stirling)
        return reduce(value, reduction)

    return in_opmath(loss, array(input), array(target, "target"))


def hinge_embedding_loss(
    input: jax.Array, target: jax.Array, margin: float = 1.0, *, reduction: str = "mean"
) -> jax.Array:
    """The input where the target is 1; where it is -1, what it lacks to the margin.

    Args:
        input: Distances, of any shape.
        target: 1 and -1, broadcasting with it.
        margin: The margin.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: The reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(hinge_embedding_loss)(jnp.array([1.0]), jnp.array([-1])))
        [-1.]

    Torch: `torch.nn.functional.hinge_embedding_loss`.

    Differs from jax in:
        1. At the margin the gradient is -1 (`jnp.maximum(0, margin - x)`: -0.5).
    """
    target = array(target, "target")

    def loss(x: jax.Array) -> jax.Array:
        lack = _clamp_min(margin - x, jnp.asarray(0, x.dtype))
        value = jnp.where(target != 1, lack, 0) + jnp.where(target != -1, x, 0)
        return reduce(value, reduction)

    return in_opmath(loss, *_floats("hinge_embedding_loss", input))


def margin_ranking_loss(
    input1: jax.Array,
    input2: jax.Array,
    target: jax.Array,
    margin: float = 0,
    *,
    reduction: str = "mean",
) -> jax.Array:
    """What the first lacks to be a margin above the second where the target is 1, or below at -1.

    Raises:
        RuntimeError: The three have different numbers of dims.
        ValueError: The reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> one = jnp.ones(1)
        >>> print(jax.grad(margin_ranking_loss)(one, one, one))
        [-1.]

    Torch: `torch.nn.functional.margin_ranking_loss`.

    Differs from jax in:
        1. At the margin the gradient is whole (`jnp.maximum(0, ...)`: half).
    """
    arrays = [array(input1, "input1"), array(input2, "input2"), array(target, "target")]
    if len({x.ndim for x in arrays}) > 1:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"{', '.join(str(list(x.shape)) for x in arrays)}"
        )

    def loss(a: jax.Array, b: jax.Array, y: jax.Array) -> jax.Array:
        return reduce(_clamp_min(-y * (a - b) + margin, jnp.asarray(0, a.dtype)), reduction)

    return in_opmath(loss, *promoted(*arrays))


def soft_margin_loss(input: jax.Array, target: jax.Array, *, reduction: str = "mean") -> jax.Array:
    """`log(1 + exp(-target * input))`; it overflows as torch's does.

    Raises:
        RuntimeError: It is differentiated by the target.
        ValueError: The reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(soft_margin_loss)(jnp.zeros(1), jnp.ones(1)))
        [-0.5]

    Torch: `torch.nn.functional.soft_margin_loss`.

    Differs from jax in:
        1. From -709 on (float32: -88) the loss is inf and the gradient NaN (`jax.nn.softplus`:
           linear and 1).
    """

    def loss(x: jax.Array, y: jax.Array) -> jax.Array:
        return reduce(_soft_margin(x, y), reduction)

    return in_opmath(loss, *_floats("soft_margin_loss", input, target))


def _soft_margin_derivative(t: Any, _: Any, x: Any, y: Any) -> Any:
    z = jnp.exp(-y * x)
    return t * (-y * z / (z + 1))


@derivative(_soft_margin_derivative, not_differentiable("target"))
def _soft_margin(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.log1p(jnp.exp(-y * x))


def multilabel_soft_margin_loss(
    input: jax.Array,
    target: jax.Array,
    weight: jax.Array | None = None,
    *,
    reduction: str = "mean",
) -> jax.Array:
    """The binary cross entropy of logits, averaged over the last dim.

    Args:
        input: Logits, `(..., C)`.
        target: Zeros and ones, broadcasting with it.
        weight: A weight for each class, or what broadcasts.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: The reduction is none of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(multilabel_soft_margin_loss)(jnp.zeros((1, 2)), jnp.eye(1, 2)))
        [[-0.25  0.25]]

    Torch: `torch.nn.functional.multilabel_soft_margin_loss`.
    """

    def loss(x: jax.Array, y: jax.Array, *w: jax.Array) -> jax.Array:
        value = -(y * _logsigmoid(x) + (1 - y) * _logsigmoid(-x))
        return reduce(jnp.sum(_scaled(value, *w), -1) / x.shape[-1], reduction)

    weights = [] if weight is None else [array(weight, "weight")]
    pair = _floats("multilabel_soft_margin_loss", input, target)
    return in_opmath(loss, *pair, *weights)


def _floats(name: str, input: Any, target: Any = None) -> list[jax.Array]:
    """The arrays of a loss, of which one must be of floats."""
    arrays = [array(input)] + ([] if target is None else [array(target, "target")])
    dtype = result_type(*arrays)
    if not jnp.issubdtype(dtype, jnp.inexact):
        raise NotImplementedError(
            f"{name} is not implemented for {dtype}; convert the input to a float"
        )
    return arrays
