"""Log-gamma, polygamma, incomplete gamma and zeta functions with torch's series and gradients."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative, not_differentiable
from jaxgrad.functional._core.dtypes import reject


def lgamma(input: Array) -> Array:
    """Return the logarithm of the gamma function's absolute value.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(lgamma)(1.0):.4f}")
        -0.5772

    Torch: `torch.lgamma`, `torch.special.gammaln`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At 0 the gradient is -inf (`jax.scipy.special.gammaln`: NaN).
    """
    reject("lgamma", "complex", input)
    return in_opmath(_lgamma, array(input))


@derivative(lambda t, _, x: t * _digamma(x))
def _lgamma(x: Array) -> Array:
    return jax.lax.lgamma(x)


def digamma(input: Array) -> Array:
    """Return the digamma function, the derivative of `lgamma`.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(digamma)(1.0):.4f}")
        1.6449

    Torch: `torch.digamma`, `torch.special.psi`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Below -5.5 the gradient is accurate (9.77 at -9.5; `jax.scipy.special.digamma`: -2.9e12).
        2. The value is -inf at 0 and inf at -0 (`jax.scipy.special.digamma`: NaN).
    """
    reject("digamma", "complex", input)
    return in_opmath(_digamma, array(input))


@derivative(lambda t, _, x: t * _polygamma(x, n=1))
def _digamma(x: Array) -> Array:
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), jax.lax.digamma(x))


def polygamma(n: int, input: Array) -> Array:
    """Return the n-th derivative of `digamma`.

    For n = 1 the result is torch's series, which is accurate to 5e-10.

    Raises:
        RuntimeError: `n` is negative.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{polygamma(1, jnp.array(1.0)):.4f}")
        1.6449

    Torch: `torch.polygamma`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Below -5.5 it is accurate (`jax.scipy.special.polygamma`: trigamma(-9.5) = -2.9e12).
        2. At a pole of even order the value is -inf (`jax.scipy.special.polygamma`: NaN).
    """
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n: n is {n}")
    reject("polygamma", "complex", input)
    return in_opmath(lambda x: _polygamma(x, n=n), array(input))


def _polygamma_derivative(t: Any, _: Any, x: Any, n: int) -> Any:
    return t * _polygamma(x, n=n + 1)


@derivative(_polygamma_derivative)
def _polygamma(x: Array, *, n: int) -> Array:
    if n == 0:
        return _digamma(x)
    if n == 1:
        return _trigamma(x)
    sign = 1 if n % 2 else -1
    return sign * math.factorial(n) * _zeta(jnp.full_like(x, n + 1), x)


def _trigamma(x: Array) -> Array:
    reflected = x < 0.5
    mirror = jnp.where(reflected, -((math.pi / jnp.sin(math.pi * x)) ** 2), 0)
    y = jnp.where(reflected, 1 - x, x)
    total = jnp.zeros_like(x)
    for _ in range(6):
        total = total + 1 / (y * y)
        y = y + 1
    z = 1 / (y * y)
    total = total + (1 + 1 / (2 * y) + z * (1 / 6 - z * (1 / 30 - z / 42))) / y
    return jnp.where(reflected, -(mirror + total), total)


def zeta(input: ArrayLike, other: ArrayLike) -> Array:
    """Return the Hurwitz zeta function, the sum of `(other + k) ** -input` over all k >= 0.

    Raises:
        RuntimeError: The function is differentiated with respect to `input`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{zeta(jnp.array(2.0), 1.0):.4f}")
        1.6449

    Torch: `torch.special.zeta`.

    Differs from jax in:
        1. It is accurate for negative `other` and integer `input` (`jax.scipy.special.zeta`: not
           below -9).
    """
    return in_opmath(_zeta, input, other)


def _zeta_derivative(t: Any, _: Any, s: Any, q: Any) -> Any:
    return t * (-s * _zeta(s + 1, q))


@derivative(not_differentiable("special_zeta: self"), _zeta_derivative)
def _zeta(s: Array, q: Array) -> Array:
    s, q = jnp.broadcast_arrays(s, q)
    integer = jnp.floor(q) == q
    shifts = (q <= 0) & ~integer & (jnp.floor(s) == s) & (s > 1)

    def more(state: Any) -> Array:
        at, _ = state
        return jnp.any(shifts & (at <= 0))

    def step(state: Any) -> Any:
        at, total = state
        here = shifts & (at <= 0)
        return jnp.where(here, at + 1, at), total + jnp.where(here, at**-s, 0)

    start = jnp.where(shifts, q, 1)
    at, total = jax.lax.while_loop(more, step, (start, jnp.zeros_like(q)))
    value = total + jax.lax.zeta(s, jnp.where(shifts, at, q))
    return jnp.where((q <= 0) & integer & (s > 1), jnp.inf, value)


def mvlgamma(input: Array, p: int) -> Array:
    """Return the logarithm of the multivariate gamma function of dimension `p`.

    Raises:
        RuntimeError: `p` is below 1.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{mvlgamma(jnp.array(3.0), 2):.4f}")
        1.5502

    Torch: `torch.mvlgamma`, `torch.special.multigammaln`.
    """
    reject("mvlgamma", "bool", input)
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, it is {p}")

    def total(x: Array) -> Array:
        steps = jnp.arange(p, dtype=x.dtype) * -0.5
        constant = p * (p - 1) / 4 * math.log(math.pi)
        shifted = x[..., None] + steps
        # XLA simplifies -0.0 + 0.0 to -0.0, which would change the sign of a pole.
        shifted = shifted - jax.lax.stop_gradient(jnp.where(shifted == 0, shifted, 0))
        return jnp.sum(_lgamma(shifted), -1) + constant

    return in_opmath(total, array(input))


def igamma(input: Array, other: Array) -> Array:
    """Return the regularised lower incomplete gamma function; `input` has no gradient.

    Raises:
        RuntimeError: The function is differentiated with respect to `input`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(f"{jax.grad(igamma, 1)(jnp.array(1), 2.0):.4f}")
        0.1353

    Torch: `torch.igamma`, `torch.special.gammainc`.

    Differs from jax in:
        1. It raises if it is differentiated with respect to `input`
           (`jax.scipy.special.gammainc`: a number).
    """
    reject("igamma", "bool integer", input, other)
    return in_opmath(_igamma, array(input), array(other, "other"))


def _gamma_density(x: Any, y: Any) -> Any:
    return jnp.exp((x - 1) * jnp.log(y) - y - _lgamma(x))


@derivative(not_differentiable("igamma: input"), lambda t, _, x, y: t * _gamma_density(x, y))
def _igamma(x: Array, y: Array) -> Array:
    return jnp.where((x == 0) & (y > 0), 1, jax.lax.igamma(*jnp.broadcast_arrays(x, y)))


def igammac(input: Array, other: Array) -> Array:
    """Return the regularised upper incomplete gamma function; `input` has no gradient.

    Raises:
        RuntimeError: The function is differentiated with respect to `input`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(f"{jax.grad(igammac, 1)(jnp.array(1), 2.0):.4f}")
        -0.1353

    Torch: `torch.igammac`, `torch.special.gammaincc`.

    Differs from jax in:
        1. It raises if it is differentiated with respect to `input`
           (`jax.scipy.special.gammaincc`: a number).
    """
    reject("igammac", "bool integer", input, other)
    return in_opmath(_igammac, array(input), array(other, "other"))


@derivative(not_differentiable("igammac: input"), lambda t, _, x, y: t * -_gamma_density(x, y))
def _igammac(x: Array, y: Array) -> Array:
    return jnp.where((x == 0) & (y > 0), 0, jax.lax.igammac(*jnp.broadcast_arrays(x, y)))
