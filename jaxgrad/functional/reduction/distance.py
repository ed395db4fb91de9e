"""Distances between vectors with torch's gradients at equal points."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import (
    array,
    canonical_dim,
    in_opmath,
    is_floating,
    result_type,
)
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, reject_each, require_same_dtype
from jaxgrad.functional.pointwise.clamp_maximum import passing_floor
from jaxgrad.functional.reduction.vector_norm_normalize import p_norm, sgn_kernel


def pairwise_distance(
    x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Array:
    """Return the p-norm of `x1 - x2 + eps` along the last dim.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(pairwise_distance)(jnp.ones(1), jnp.ones(1)))
        [1.]

    Torch: `torch.nn.functional.pairwise_distance`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. For equal points the gradient is that at a difference of eps, or 0 if `eps=0`
           (`jnp.linalg.norm(x1 - x2)`: NaN).
    """
    reject_each("pairwise_distance", "bool", x1, x2)
    options = {"p": p, "eps": eps, "keepdim": keepdim}
    return in_opmath(pairwise, array(x1, "x1"), array(x2, "x2"), **options)


def pairwise(x: Array, y: Array, *, p: float, eps: float, keepdim: bool = False) -> Array:
    """Return the pairwise distance without argument checks."""
    difference = x - y + eps
    axes = (difference.ndim - 1,) if difference.ndim else ()
    return p_norm(difference, p=float(p), axes=axes, keepdim=keepdim)


def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Array:
    """Return the cosine of the angle between vectors, with norms bounded below by `eps`.

    Raises:
        RuntimeError: The common dtype is not a real float.
        IndexError: `dim` is out of range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(cosine_similarity(jnp.eye(4)[0], jnp.ones(4), dim=0))
        0.5

    Torch: `torch.nn.functional.cosine_similarity`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a zero vector the gradient is `x2 / |x2| / eps` (with `jnp.linalg.norm`: NaN;
           `optax.cosine_similarity`: 1 / sqrt(eps)).
    """
    x1, x2 = array(x1, "x1"), array(x2, "x2")
    common = result_type(x1, x2)
    if not jnp.issubdtype(common, jnp.floating):
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {common}"
        )

    def similarity(x: Array, y: Array) -> Array:
        x, y = jnp.broadcast_arrays(x, y)
        axes = (canonical_dim(dim, x.ndim),) if x.ndim else ()
        norms = [p_norm(z, p=2.0, axes=axes, keepdim=True) for z in (x, y)]
        u, v = (z / passing_floor(norm, eps=eps) for z, norm in zip((x, y), norms, strict=True))
        return jnp.sum(u * v, axes)

    return in_opmath(similarity, x1, x2)


def pdist(input: Array, p: float = 2) -> Array:
    """Return the distances between all pairs of rows, each pair once.

    Args:
        input: `(N, D)`.
        p: Order of the norm, not negative.

    Returns:
        `(N * (N - 1) / 2,)`.

    Raises:
        RuntimeError: The input does not have two dims or is not floating, or `p` is negative.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(pdist(jnp.array([[0.0], [1.0], [3.0]])))
        [1. 3. 2.]

    Torch: `torch.nn.functional.pdist`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. For equal rows the gradient is 0 (`jnp.linalg.norm`: NaN, inf or shared).
    """
    reject("pdist", "complex", input)
    input = array(input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not is_floating(input):
        raise RuntimeError(f"pdist only supports floating-point dtypes, not {input.dtype}")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, not {p}")
    left, right = np.triu_indices(len(input), 1)
    return in_opmath(lambda x: _distance(x[left] - x[right], p=float(p)), input)


def cdist(
    x1: Array, x2: Array, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Array:
    """Return the distances between each row of `x1` and each row of `x2`.

    Args:
        x1: `(..., P, D)`.
        x2: `(..., R, D)`.
        p: Order of the norm, not negative.
        compute_mode: Ignored: the distance is always computed from the difference, never by
            torch's matrix product, which loses half of the digits.

    Returns:
        `(..., P, R)`.

    Raises:
        RuntimeError: An input has fewer than two dims or is not floating, the last dims differ, or
            `p` is negative.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(cdist(jnp.array([[0.0], [1.0]]), jnp.array([[3.0]])))
        [[3.]
         [2.]]

    Torch: `torch.cdist`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. For equal rows the gradient is 0 (`jnp.linalg.norm`: NaN, inf or shared).
    """
    reject("cdist", "complex", x1, x2)
    require_same_dtype("cdist", x1=x1, x2=x2)
    del compute_mode
    x1, x2 = array(x1, "x1"), array(x2, "x2")
    for name, x in (("X1", x1), ("X2", x2)):
        if not is_floating(x):
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, not {p}")
    return in_opmath(
        lambda x, y: _distance(x[..., :, None, :] - y[..., None, :, :], p=float(p)), x1, x2
    )


def _distance_derivative(t: Any, distance: Any, d: Any, p: float) -> Any:
    """Follow torch's kernel: gradient 0 at distance 0, and the full gradient for tied elements."""
    if p == 0:
        return None
    norm = distance[..., None]
    if p == 1:
        factor = jnp.where(jnp.isnan(d), d, sgn_kernel(d))
    elif math.isinf(p):
        below = jax.lax.stop_gradient(norm - jnp.abs(d))  # NaN for an infinite maximum
        factor = sgn_kernel(d) * (1 - jnp.minimum(jnp.ceil(below), 1))
    else:
        # Below p = 2 torch's second derivative is 0 at d = 0, where the power has none.
        zero = (norm == 0) | ((d == 0) & (p < 2))
        safe = jnp.where(zero, 1, norm)
        power = d if p == 2 else sgn_kernel(d) * jnp.power(jnp.abs(jnp.where(zero, 1, d)), p - 1)
        factor = jnp.where(zero, 0, power / (safe if p == 2 else jnp.power(safe, p - 1)))
        t = jnp.where(zero, 0, t)
    return jnp.sum(t * factor, -1)


@derivative(_distance_derivative)
def _distance(d: Array, *, p: float) -> Array:
    if not d.size:
        return jnp.zeros(d.shape[:-1], d.dtype)
    if p == 0:
        return jnp.sum(jnp.minimum(jnp.ceil(jnp.abs(d)), 1), -1)  # NaN for NaN, unlike a 0-norm
    return p_norm(d, p=p, axes=(d.ndim - 1,))


def dist(input: Array, other: Array, p: float = 2) -> Array:
    """Return the p-norm of `input - other`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(dist)(jnp.ones(2), jnp.ones(2)))
        [0. 0.]

    Torch: `torch.dist`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. For equal arrays the gradient is 0 (`jnp.linalg.norm(x - y)`: NaN).
    """
    reject("dist", "integer", input, other)
    reject_each("dist", "bool", input, other)

    def distance(x: Array, y: Array) -> Array:
        difference = x - y
        return p_norm(difference, p=float(p), axes=tuple(range(difference.ndim)))

    return in_opmath(distance, array(input), array(other, "other"))
