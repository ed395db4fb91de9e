"""What matrix functions share: torch's errors for shapes, adjoints and triangles."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, is_floating, require


def matrix(name: str, A: Any, *, integers: bool = False) -> Array:
    """An argument of at least two dims, of floats or complex numbers."""
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
    """An argument of square matrices."""
    A = matrix(name, A, integers=integers)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    return A


def require_regular(message: str, A: Array, found: Array) -> None:
    A, found = jax.lax.stop_gradient((A, found))
    require(
        jnp.all(jnp.isfinite(found)) | ~jnp.all(jnp.isfinite(A)),
        RuntimeError(f"{message} because the input matrix is singular."),
    )


def conj_transpose(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def hermitian_from_lower(x: Array) -> Array:
    """The Hermitian matrix with this lower triangle."""
    return jnp.tril(x) + conj_transpose(jnp.tril(x, -1))


def broadcast_batches(a: Array, b: Array) -> tuple[Array, Array]:
    """Two matrices whose leading dims are broadcast."""
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:])
