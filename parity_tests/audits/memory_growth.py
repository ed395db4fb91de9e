"""Measure how memory grows with depth, with and without segmented checkpointing."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


WIDTH, BATCH = 8, 256
DEPTHS = (2, 4, 8, 16, 32, 64)


def layer(h: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
    """Apply one layer, as the body of a scan over the layers' weights."""
    return jnp.sin(h @ w), None


def plain(w: jax.Array, h: jax.Array) -> jax.Array:
    """Return the summed output of all layers; every layer's residuals are saved."""
    return jnp.sum(lax.scan(layer, h, w)[0])


def in_segments(w: jax.Array, h: jax.Array) -> jax.Array:
    """Return the same sum with about sqrt(depth) segments, each recomputed from its input."""
    depth = len(w)
    size = int(depth**0.5)
    count = depth // size
    segment = jax.checkpoint(lambda h, w: lax.scan(layer, h, w))
    h, _ = lax.scan(segment, h, w[: count * size].reshape(count, size, WIDTH, WIDTH))
    return jnp.sum(lax.scan(layer, h, w[count * size :])[0])


def arguments(depth: int) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    """Return the shapes of the weights and of the input."""
    return (
        jax.ShapeDtypeStruct((depth, WIDTH, WIDTH), jnp.float32),
        jax.ShapeDtypeStruct((BATCH, WIDTH), jnp.float32),
    )


def temporary_bytes(fun: Any, depth: int) -> int:
    """Return the peak temporary memory of a compiled gradient in bytes."""
    memory: Any = jax.jit(jax.grad(fun)).lower(*arguments(depth)).compile().memory_analysis()
    return memory.temp_size_in_bytes
