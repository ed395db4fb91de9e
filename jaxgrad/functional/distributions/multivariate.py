"""Log-densities of multivariate normal vectors and of random matrices."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, is_array
from jaxgrad.functional._core.dtypes import reject, reject_each, require_same_dtype
from jaxgrad.functional.distributions._parameters import distribution_parameters, require_one
from jaxgrad.functional.linalg.cholesky import cholesky, cholesky_solve
from jaxgrad.functional.linalg.det import slogdet
from jaxgrad.functional.linalg.solve_lstsq import solve_triangular
from jaxgrad.functional.pointwise.exp_log import log
from jaxgrad.functional.pointwise.gamma_zeta import lgamma, mvlgamma
from jaxgrad.functional.pointwise.pow_sqrt import pow


def low_rank_multivariate_normal_log_prob(
    value: Array, loc: Array, cov_factor: Array, cov_diag: Array
) -> Array:
    """Log-density of the normal distribution with covariance `W @ W.T + diag(d)`.

    Args:
        value: Point, `(*, n)`.
        loc: Mean, `(*, n)`.
        cov_factor: Factor W, `(*, n, k)`.
        cov_diag: Diagonal d, `(*, n)`.

    Example:
        >>> import jax.numpy as jnp
        >>> x, W = jnp.zeros(2), jnp.zeros((2, 1))
        >>> print(f"{low_rank_multivariate_normal_log_prob(x, x, W, jnp.ones(2)):.4f}")
        -1.8379

    Torch: `torch.distributions.LowRankMultivariateNormal`.
    """
    reject_each("low_rank_multivariate_normal_log_prob", "bool", value, loc)
    ratio = array(cov_factor, "cov_factor") / array(cov_diag, "cov_diag")[..., None]
    require_same_dtype("low_rank_multivariate_normal_log_prob", cov_factor=cov_factor, ratio=ratio)
    x, loc, W, d = distribution_parameters(
        array(value, "value"), array(loc, "loc"), array(cov_factor, "cov_factor"),
        array(cov_diag, "cov_diag"), elementwise=False,
    )  # fmt: skip
    x, scaled = x - loc, jnp.swapaxes(W, -1, -2) / d[..., None, :]
    require_same_dtype("low_rank_multivariate_normal_log_prob", cov_factor=W, difference=x)
    factor = cholesky(scaled @ W + jnp.eye(W.shape[-1], dtype=W.dtype))
    distance = jnp.sum(pow(x, 2) / d, -1)
    distance = distance - mahalanobis(factor, jnp.matmul(scaled, x[..., None])[..., 0])
    log_det = 2 * half_log_det(factor) + jnp.sum(log(d), -1)
    return -0.5 * (W.shape[-2] * math.log(2 * math.pi) + log_det + distance)


def wishart_log_prob(
    value: Array,
    df: ArrayLike,
    covariance_matrix: Array | None = None,
    scale_tril: Array | None = None,
    *,
    torch_gradient: bool = False,
) -> Array:
    """Log-density of the Wishart distribution at a covariance matrix.

    Args:
        value: Positive-definite matrix, `(*, n, n)`.
        df: Degrees of freedom, greater than `n - 1`.
        covariance_matrix: Scale matrix, `(*, n, n)`; only its lower triangle is read.
        scale_tril: Alternatively, the Cholesky factor of the scale matrix.
        torch_gradient: Whether the gradient also fills the upper triangle of `scale_tril`, as in
            torch, although the density does not depend on it.

    Raises:
        TypeError: Both or neither of `covariance_matrix` and `scale_tril` are passed.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{wishart_log_prob(jnp.eye(1), 1.0, jnp.eye(1)):.4f}")
        -1.4189

    Torch: `torch.distributions.Wishart`.
    """
    reject("wishart_log_prob", "bool", df)
    factor = cholesky_factor("wishart_log_prob", covariance_matrix, scale_tril)
    require_same_dtype("wishart_log_prob", value=value, factor=factor)
    reject("wishart_log_prob", "integer", value)
    x, df, factor = distribution_parameters(array(value, "value"), df, factor, elementwise=False)
    n = factor.shape[-1]
    solved = cholesky_solve(x, factor, torch_gradient=torch_gradient)
    return (
        -df * (n * math.log(2) / 2 + half_log_det(factor))
        - mvlgamma(df / 2, n)
        + (df - n - 1) / 2 * slogdet(x).logabsdet
        - jnp.trace(solved, axis1=-2, axis2=-1) / 2
    )


def lkj_cholesky_log_prob(value: Array, concentration: ArrayLike = 1.0) -> Array:
    """Log-density of the LKJ distribution at the Cholesky factor of a correlation matrix.

    Args:
        value: Lower triangular matrix with rows of norm 1, `(*, n, n)`.
        concentration: Concentration; 1 gives a uniform density over correlation matrices.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{lkj_cholesky_log_prob(jnp.eye(2)):.4f}")
        -0.6931

    Torch: `torch.distributions.LKJCholesky`.
    """
    reject("lkj_cholesky_log_prob", "bool", concentration)
    # torch adds a dim to the concentration, so a 0-d array takes part in type promotion.
    column = jnp.asarray(concentration)[..., None] if is_array(concentration) else concentration
    x, a = distribution_parameters(array(value, "value"), column, elementwise=False)
    a = jnp.atleast_1d(a)
    n = x.shape[-1]
    diagonal = jnp.diagonal(x, axis1=-2, axis2=-1)[..., 1:]
    order = 2 * (a - 1) + n - jnp.arange(2, n + 1)
    density = jnp.sum(order * log(diagonal), -1)
    alpha = a[..., 0] + 0.5 * (n - 1)
    constant = 0.5 * (n - 1) * math.log(math.pi) + mvlgamma(alpha - 0.5, n - 1)
    return density - (constant - lgamma(alpha) * (n - 1))


def multivariate_normal_log_prob(
    value: Array,
    loc: Array,
    covariance_matrix: Array | None = None,
    scale_tril: Array | None = None,
) -> Array:
    """Log-density of the multivariate normal distribution at a vector.

    Args:
        value: Point, `(*, n)`.
        loc: Mean, `(*, n)`.
        covariance_matrix: Covariance, `(*, n, n)`; only its lower triangle is read.
        scale_tril: Alternatively, the Cholesky factor of the covariance.

    Raises:
        TypeError: Both or neither of `covariance_matrix` and `scale_tril` are passed.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{multivariate_normal_log_prob(jnp.zeros(2), jnp.zeros(2), jnp.eye(2)):.4f}")
        -1.8379

    Torch: `torch.distributions.MultivariateNormal`.
    """
    reject_each("multivariate_normal_log_prob", "bool", value, loc)
    factor = cholesky_factor("multivariate_normal_log_prob", covariance_matrix, scale_tril)
    reject("multivariate_normal_log_prob", "bool integer", factor)
    x, loc, factor = distribution_parameters(
        array(value, "value"), array(loc, "loc"), factor, elementwise=False
    )
    distance = mahalanobis(factor, x - loc)
    return -0.5 * (factor.shape[-1] * math.log(2 * math.pi) + distance) - half_log_det(factor)


def cholesky_factor(name: str, covariance: Any, factor: Any) -> Array:
    """Return the Cholesky factor, computing it if the covariance is passed instead."""
    require_one(name, covariance, factor, "covariance_matrix and scale_tril")
    if factor is not None:
        return array(factor, "scale_tril")
    return cholesky(array(covariance, "covariance_matrix"))


def mahalanobis(factor: Array, x: Array) -> Array:
    """Return `x @ inv(covariance) @ x`, given the Cholesky factor of the covariance."""
    return jnp.sum(pow(solve_triangular(factor, x[..., None], upper=False)[..., 0], 2), -1)


def half_log_det(factor: Array) -> Array:
    """Return half the log-determinant of the covariance."""
    return jnp.sum(log(jnp.diagonal(factor, axis1=-2, axis2=-1)), -1)
