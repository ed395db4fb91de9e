"""Losses that are a likelihood or a divergence: torch's reductions, and its floors."""

from __future__ import annotations

import math
import warnings

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, in_opmath, reduce, require, require_floating
from jaxgrad.functional._core.dtypes import reject, reject_each
from jaxgrad.functional.loss._reduce import loss_arguments
from jaxgrad.functional.pointwise.clamp import passing_floor
from jaxgrad.functional.pointwise.two_argument import xlogy_kernel


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

    Gradient conventions: docs/operators.md.
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
        value = jnp.exp(y) * (y - x) if log_target else xlogy_kernel(y, y) - y * x
        total = reduce(value, "sum" if batch else reduction)
        return total / input.shape[0] if batch and input.ndim else total

    return in_opmath(
        loss, require_floating(input, "kl_div"), require_floating(target, "kl_div", "target")
    )


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

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.gaussian_nll_loss`.

    Differs from jax in:
        1. Below eps the gradient by the variance is that at eps (`jnp.maximum(var, eps)`: 0).
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
                f"var is of incorrect size: it has the shape {var.shape}, the input {input.shape}"
            )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid; use 'none', 'mean' or 'sum'")

    def loss(x: jax.Array, y: jax.Array, v: jax.Array) -> jax.Array:
        v = passing_floor(v, eps=eps)
        value = 0.5 * (jnp.log(v) + jnp.square(x - y) / v)
        return reduce(value + 0.5 * math.log(2 * math.pi) if full else value, reduction)

    return in_opmath(loss, input, target, var)


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
    reject("poisson_nll_loss", "bool", input, target)
    if not log_input:
        reject("poisson_nll_loss", "bool", input)
    if full:
        reject("poisson_nll_loss", "bool complex", target)

    def loss(x: jax.Array, y: jax.Array) -> jax.Array:
        value = jnp.exp(x) - y * x if log_input else x - y * jnp.log(x + eps)
        if full:
            stirling = y * jnp.log(y) - y + 0.5 * jnp.log(2 * math.pi * y)
            value = value + jnp.where(y <= 1, 0, stirling)
        return reduce(value, reduction)

    return in_opmath(loss, array(input), array(target, "target"))
