"""Norms of matrices, and torch's two functions called `norm`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import Dim, array, canonical_dim, canonical_dims, in_opmath
from jaxgrad.functional._core.lapack import nan_if_infinite
from jaxgrad.functional.reduction.amax_max import _amax, _amin
from jaxgrad.functional.reduction.vector_norm import _as_dtype, p_norm, vector_norm


def norm(
    input: jax.Array,
    p: float | str | None = "fro",
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> jax.Array:
    """The p-norm of the elements, also of a matrix; `"fro"` is 2.

    Args:
        input: Of any shape; integers raise.
        p: A number, `"fro"` or `"nuc"`.
        dim: One dim, several, or None for all.
        keepdim: Whether the dims stay, with size 1.
        dtype: Cast to this first: real or complex as the input is, and not narrower.

    Raises:
        RuntimeError: The input is of integers, or empty where the norm has no identity, or the
            dtype does not hold it.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(norm)(jnp.zeros(2)), jax.grad(jnp.linalg.norm)(jnp.zeros(2)))
        [0. 0.] [nan nan]

    Gradient conventions: docs/operators.md.
    Torch: `torch.norm`.

    Differs from jax in:
        1. Of zeros the gradient is 0 (`jnp.linalg.norm`: NaN).
        2. `norm(matrix, p)` is that of the elements (`jnp.linalg.norm`: of the operator).
    """
    if p == "nuc":
        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    order = 2 if p in ("fro", None) else float(p)
    return vector_norm(input, order, dim, keepdim, dtype=dtype)


def linalg_norm(
    input: jax.Array,
    ord: float | str | None = None,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> jax.Array:
    """The norm of a vector, or of a matrix where there are two dims and an `ord`.

    Args:
        input: Of any shape; of one or two dims where `ord` is given and `dim` is not.
        ord: None is 2, over all elements; else that of `vector_norm` or of `matrix_norm`.
        dim: One dim for a vector, two for a matrix, None for all.
        keepdim: Whether the dims stay, with size 1.
        dtype: Cast to this first: real or complex as the input is, and not narrower.

    Raises:
        RuntimeError: There are more than two dims, the `ord` is none of these, or the dtype does
            not hold the input.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(linalg_norm)(jnp.zeros(2)))
        [0. 0.]

    Gradient conventions: docs/operators.md.
    Torch: `torch.linalg.norm`.

    Differs from jax in:
        1. Of zeros the gradient is 0 (`jnp.linalg.norm`: NaN).
    """
    input = array(input)
    if dim is not None and not isinstance(dim, int) and len(tuple(dim)) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dim}"
        )
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if dim is None and input.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.ndim}D."
        )
    dims = canonical_dims(dim, input.ndim)
    if len(dims) == 2:
        return matrix_norm(input, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(
            f"linalg.matrix_norm: the norm {ord!r} is that of a matrix; give two dims, not {dims}"
        )
    return vector_norm(input, ord, dims, keepdim, dtype=dtype)


def matrix_norm(
    input: jax.Array,
    ord: float | str = "fro",
    dim: Sequence[int] | int = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> jax.Array:
    """The norm of matrices.

    Args:
        input: At least two dims.
        ord: `"fro"`, `"nuc"`, or 2, -2 (singular values), 1, -1 (columns), inf, -inf (rows).
        dim: The dims of the matrix.
        keepdim: Whether the dims stay, with size 1.
        dtype: Cast to this first: real or complex as the input is, and not narrower.

    Raises:
        RuntimeError: The `ord` is none of these, there are not two different dims, or the dtype
            does not hold the input.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(matrix_norm)(jnp.zeros((2, 2))))
        [[0. 0.]
         [0. 0.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.linalg.matrix_norm`.

    Differs from jax in:
        1. Of zeros the gradient is 0 (`jnp.linalg.norm`: NaN).
    """
    input = _as_dtype("linalg.matrix_norm", array(input), dtype)
    if input.ndim < 2 or isinstance(dim, int) or len(tuple(dim)) != 2:
        raise RuntimeError(
            f"linalg.matrix_norm: dim must be a 2-tuple of a tensor with at least 2 dims, but it "
            f"is {dim} of {input.ndim}"
        )
    first, second = (canonical_dim(d, input.ndim) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({first}, {second})")
    if ord == "fro":
        return vector_norm(input, 2, (first, second), keepdim)
    if ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return in_opmath(_matrix_norm, input, ord=ord, dims=(first, second), keepdim=keepdim)


def _matrix_norm(x: jax.Array, *, ord: Any, dims: tuple[int, int], keepdim: bool) -> jax.Array:
    if ord in ("nuc", 2, -2):
        values = jnp.linalg.svd(nan_if_infinite(jnp.moveaxis(x, dims, (-2, -1))), compute_uv=False)
        if ord == "nuc":
            found = jnp.sum(values, -1)
        else:
            found = jnp.max(values, -1) if ord > 0 else jnp.min(values, -1)
        return jnp.expand_dims(found, sorted(dims)) if keepdim else found
    summed, chosen = dims if abs(ord) == 1 else dims[::-1]
    sums = p_norm(x, p=1.0, axes=(summed,), keepdim=True)
    if ord > 0 and not sums.shape[chosen]:
        found = jnp.sum(sums, chosen, keepdims=True)  # of nothing 0
    else:
        found = (_amax if ord > 0 else _amin)(sums, axes=(chosen,))
    return found if keepdim else jnp.squeeze(found, dims)
