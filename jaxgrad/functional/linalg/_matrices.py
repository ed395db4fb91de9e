"""Helpers for matrix functions: argument checks, conjugate transposes and triangles."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, is_floating, require


def matrix(name: str, A: Any, *, integers: bool = False) -> Array:
    """Return `A` as an array after checking its number of dims and its dtype."""
    A = array(A, "A")
    if A.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions, it has {A.ndim}"
        )
    if not (is_floating(A) or integers):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype}; "
            "cast it, A.astype(jnp.float32)"
        )
    return A


def square(name: str, A: Any, *, integers: bool = False) -> Array:
    """Return `A` as an array after checking that its last two dims have equal size."""
    A = matrix(name, A, integers=integers)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    return A


def require_regular(message: str, A: Array, result: Array) -> None:
    """Raise RuntimeError if `A` is singular: it is finite, but the result is not."""
    A, result = jax.lax.stop_gradient((A, result))
    require(
        jnp.all(jnp.isfinite(result)) | ~jnp.all(jnp.isfinite(A)),
        RuntimeError(f"{message} because the input matrix is singular."),
    )


def conj_transpose(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def hermitian_from_lower(x: Array) -> Array:
    """Return the Hermitian matrix whose lower triangle is that of `x`."""
    return jnp.tril(x) + conj_transpose(jnp.tril(x, -1))


def broadcast_batches(a: Array, b: Array) -> tuple[Array, Array]:
    """Broadcast the batch dims of two stacks of matrices."""
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:])
