"""Matrix norms, `torch.norm` and `torch.linalg.norm`, with torch's gradients at zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array, DTypeLike
from jaxgrad.functional._core.arguments import Dim, array, canonical_dim, canonical_dims, in_opmath
from jaxgrad.functional._core.lapack import nan_if_infinite
from jaxgrad.functional.reduction.amax_max import amax_kernel, amin_kernel
from jaxgrad.functional.reduction.vector_norm_normalize import cast_for_norm, p_norm, vector_norm


def norm(
    input: Array,
    p: float | str | None = "fro",
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the p-norm over the elements, even for matrices; `"fro"` is the 2-norm.

    Args:
        input: Float or complex array of any shape.
        p: A number, `"fro"`, or `"nuc"` for the nuclear norm of matrices.
        dim: Dim or dims to reduce; None for all.
        keepdim: Whether to keep the reduced dims with size 1.
        dtype: Dtype to cast the input to first, of the same dtype class and not narrower.

    Raises:
        RuntimeError: The input is neither float nor complex, is empty although the norm has
            no identity, or cannot be cast to `dtype` without narrowing.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(norm)(jnp.zeros(2)), jax.grad(jnp.linalg.norm)(jnp.zeros(2)))
        [0. 0.] [nan nan]

    Torch: `torch.norm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At zeros the gradient is 0 (`jnp.linalg.norm`: NaN).
        2. `norm(matrix, p)` is the norm of the elements (`jnp.linalg.norm`: the operator norm).
    """
    if p == "nuc":
        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    order = 2 if p in ("fro", None) else float(p)
    return vector_norm(input, order, dim, keepdim, dtype=dtype)


def linalg_norm(
    input: Array,
    ord: float | str | None = None,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return a vector norm, or a matrix norm if there are two dims and an `ord`.

    Args:
        input: Float or complex array of any shape, or of one or two dims if only `ord` is given.
        ord: Order, as for `vector_norm` or `matrix_norm`; None for the 2-norm of all elements.
        dim: One dim for vectors, two for matrices, None for all.
        keepdim: Whether to keep the reduced dims with size 1.
        dtype: Dtype to cast the input to first, of the same dtype class and not narrower.

    Raises:
        RuntimeError: The number of dims or the `ord` is invalid, or the input cannot be cast to
            `dtype` without narrowing.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(linalg_norm)(jnp.zeros(2)))
        [0. 0.]

    Torch: `torch.linalg.norm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At zeros the gradient is 0 (`jnp.linalg.norm`: NaN).
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
            f"linalg.matrix_norm: the norm {ord!r} is a matrix norm; give two dims, not {dims}"
        )
    return vector_norm(input, ord, dims, keepdim, dtype=dtype)


def matrix_norm(
    input: Array,
    ord: float | str = "fro",
    dim: Sequence[int] | int = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return a norm of each matrix in the input.

    Args:
        input: Float or complex array with at least two dims.
        ord: `"fro"`, `"nuc"`, 2 or -2 (largest, smallest singular value), 1 or -1 (largest,
            smallest column sum), inf or -inf (largest, smallest row sum).
        dim: The two dims of the matrices.
        keepdim: Whether to keep the reduced dims with size 1.
        dtype: Dtype to cast the input to first, of the same dtype class and not narrower.

    Raises:
        IndexError: The least of no singular values, rows or columns is needed.
        RuntimeError: The `ord` is not supported, `dim` is not two different dims, or the input
            cannot be cast to `dtype` without narrowing.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(matrix_norm)(jnp.zeros((2, 2))))
        [[0. 0.]
         [0. 0.]]

    Torch: `torch.linalg.matrix_norm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At zeros the gradient is 0 (`jnp.linalg.norm`: NaN).
    """
    input = cast_for_norm("linalg.matrix_norm", array(input), dtype)
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


def _matrix_norm(x: Array, *, ord: Any, dims: tuple[int, int], keepdim: bool) -> Array:
    least_of = {-2: dims, -1: dims[1:], -math.inf: dims[:1]}.get(ord, ())
    if any(not x.shape[d] for d in least_of):
        raise IndexError(
            f"linalg.matrix_norm: Expected the dims of order {ord} to have non-zero size, but the "
            f"shape is {list(x.shape)}"
        )
    if ord in ("nuc", 2, -2):
        values = jnp.linalg.svd(nan_if_infinite(jnp.moveaxis(x, dims, (-2, -1))), compute_uv=False)
        if ord == "nuc" or (ord == 2 and not values.shape[-1]):
            result = jnp.sum(values, -1)
        else:
            result = jnp.max(values, -1) if ord > 0 else jnp.min(values, -1)
        return jnp.expand_dims(result, sorted(dims)) if keepdim else result
    summed, chosen = dims if abs(ord) == 1 else dims[::-1]
    sums = p_norm(x, p=1.0, axes=(summed,), keepdim=True)
    if ord > 0 and not sums.shape[chosen]:
        result = jnp.sum(sums, chosen, keepdims=True)  # an empty matrix has norm 0
    else:
        result = (amax_kernel if ord > 0 else amin_kernel)(sums, axes=(chosen,))
    return result if keepdim else jnp.squeeze(result, dims)
