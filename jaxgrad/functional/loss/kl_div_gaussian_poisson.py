"""Likelihood and divergence losses, with torch's reductions and its lower bound on variances."""

from __future__ import annotations

import math
import warnings

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, reduce, require, require_floating
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.loss._reduce import loss_arguments
from jaxgrad.functional.pointwise.clamp_maximum import passing_floor
from jaxgrad.functional.pointwise.xlogy_entr import xlogy_kernel


def kl_div(
    input: Array, target: Array, *, reduction: str = "mean", log_target: bool = False
) -> Array:
    """Kullback-Leibler divergence, `target * (log(target) - input)` for each element.

    Args:
        input: Logarithms of probabilities, of any shape.
        target: Probabilities, or their logarithms if `log_target`.
        reduction: `"none"`, `"mean"` (over all elements), `"batchmean"` or `"sum"`.
        log_target: Whether `target` contains logarithms.

    Raises:
        ValueError: `reduction` is not one of the four.

    Example:
        >>> import jax.numpy as jnp
        >>> half = jnp.array([[0.5, 0.5]])
        >>> print(f"{kl_div(jnp.zeros((1, 2)), half, reduction='batchmean'):.4f}")
        -0.6931

    Torch: `torch.nn.functional.kl_div`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. `"mean"` divides by the number of elements (`optax.losses.kl_divergence` sums over the
           last dim).
    """
    if reduction == "mean":
        warnings.warn(
            "reduction='mean' divides by the number of elements; 'batchmean' divides by the batch "
            "size, as the divergence is defined",
            stacklevel=2,
        )
    batch = reduction == "batchmean"

    def loss(x: Array, y: Array) -> Array:
        value = jnp.exp(y) * (y - x) if log_target else xlogy_kernel(y, y) - y * x
        total = reduce(value, "sum" if batch else reduction)
        return total / input.shape[0] if batch and input.ndim else total

    return in_opmath(
        loss, require_floating(input, "kl_div"), require_floating(target, "kl_div", "target")
    )


def gaussian_nll_loss(
    input: Array,
    target: Array,
    var: Array | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Array:
    """Negative log-likelihood of a normal distribution whose variance is clamped to `eps`.

    Args:
        input: Means, of any shape.
        target: Samples, which broadcast with the input.
        var: Variances, of the input's shape, without its last dim, or of size 1 in one dim.
        full: Whether to add the constant term.
        eps: Smallest variance; the clamp does not stop the gradient.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: A variance is negative (under `jit` only with `checkify`), `var` has none of
            the three shapes, or `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> one = jnp.ones(1)
        >>> print(jax.grad(gaussian_nll_loss, 2)(0 * one, one, 4 * one))
        [0.09375]

    Torch: `torch.nn.functional.gaussian_nll_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Below `eps` the gradient with respect to the variance is the gradient at `eps`
           (`jnp.maximum(var, eps)`: 0).
    """
    reject_each("gaussian_nll_loss", "bool", input, target)
    input, target = loss_arguments("gaussian_nll_loss", input, target, complex=True)
    if isinstance(var, float):
        var = jnp.full_like(input, var)
    var = require_floating(var, "gaussian_nll_loss", "var")
    require(~jnp.any(var < 0), ValueError("var has negative entry/entries"))
    if var.shape != input.shape:
        if var.shape == input.shape[:-1]:
            var = var[..., None]
        elif var.ndim != input.ndim or (
            sum(b for a, b in zip(input.shape, var.shape, strict=True) if a != b) != 1
        ):
            raise ValueError(
                f"var is of incorrect size: var has the shape {var.shape}, input {input.shape}"
            )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid; use 'none', 'mean' or 'sum'")

    def loss(x: Array, y: Array, v: Array) -> Array:
        v = passing_floor(v, eps=eps)
        value = 0.5 * (jnp.log(v) + jnp.square(x - y) / v)
        return reduce(value + 0.5 * math.log(2 * math.pi) if full else value, reduction)

    return in_opmath(loss, input, target, var)


def poisson_nll_loss(
    input: Array,
    target: Array,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Array:
    """Negative log-likelihood of a Poisson distribution.

    Args:
        input: Rates, or their logarithms if `log_input`.
        target: Counts, which broadcast with the input.
        log_input: Whether `input` contains logarithms.
        full: Whether to add Stirling's approximation of `log(target!)`, for counts above 1.
        eps: Added to the rate before taking its logarithm.
        reduction: `"none"`, `"mean"` or `"sum"`.

    Raises:
        ValueError: `reduction` is not one of the three.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(poisson_nll_loss)(jnp.zeros(2), jnp.array([1.0, 3.0])))
        [ 0. -1.]

    Torch: `torch.nn.functional.poisson_nll_loss`.
    """
    reject("poisson_nll_loss", "bool", input, target)
    if not log_input:
        reject("poisson_nll_loss", "bool", input)
    if full:
        reject("poisson_nll_loss", "bool complex", target)

    def loss(x: Array, y: Array) -> Array:
        value = jnp.exp(x) - y * x if log_input else x - y * jnp.log(x + eps)
        if full:
            stirling = y * jnp.log(y) - y + 0.5 * jnp.log(2 * math.pi * y)
            value = value + jnp.where(y <= 1, 0, stirling)
        return reduce(value, reduction)

    return in_opmath(loss, array(input), array(target, "target"))
