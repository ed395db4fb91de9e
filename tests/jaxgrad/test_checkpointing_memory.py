"""How memory grows with depth: as the depth without checkpoints, as its root with them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxgrad
from benchmarks.growth import slope


WIDTH, BATCH = 8, 256


def layer(h, w):
    return jnp.sin(h @ w), None


def plain(w, h):
    return jnp.sum(lax.scan(layer, h, w)[0])


def in_segments(w, h):
    """About the root of the depth as many segments, each computed again from its input."""
    depth = len(w)
    size = int(depth**0.5)
    count = depth // size
    segment = jax.checkpoint(lambda h, w: lax.scan(layer, h, w))
    h, _ = lax.scan(segment, h, w[: count * size].reshape(count, size, WIDTH, WIDTH))
    return jnp.sum(lax.scan(layer, h, w[count * size :])[0])


def arguments(depth):
    return (
        jax.ShapeDtypeStruct((depth, WIDTH, WIDTH), jnp.float32),
        jax.ShapeDtypeStruct((BATCH, WIDTH), jnp.float32),
    )


def temporary(fun, depth):
    """The peak of temporary memory of a compiled gradient."""
    memory: Any = jax.jit(jax.grad(fun)).lower(*arguments(depth)).compile().memory_analysis()
    return memory.temp_size_in_bytes


DEPTHS = (2, 4, 8, 16, 32, 64)
SQUARES = (4, 16, 64)


@pytest.mark.parametrize(("fun", "low", "high"), [(plain, 0.98, 1.02), (in_segments, 0.4, 0.75)])
def test_kept_bytes_grow(fun, low, high):
    """What is kept from forward to backward: the power of the depth, from 2 to 64 layers."""
    kept = [jaxgrad.saved_bytes(fun, *arguments(depth)) for depth in DEPTHS]
    power = slope(DEPTHS, kept)
    print(f"{fun.__name__}: {dict(zip(DEPTHS, kept, strict=True))}, depth ** {power:.2f}")

    assert low <= power <= high, f"{kept} bytes at depths {DEPTHS}"


@pytest.mark.parametrize(("fun", "low", "high"), [(plain, 0.8, 1.1), (in_segments, 0.3, 0.75)])
def test_the_peak_grows(fun, low, high):
    """The compiled step's temporary memory, what is computed again included."""
    peaks = [temporary(fun, depth) for depth in SQUARES]
    power = slope(SQUARES, peaks)
    print(f"{fun.__name__}: {dict(zip(SQUARES, peaks, strict=True))}, depth ** {power:.2f}")

    assert low <= power <= high, f"{peaks} bytes at depths {SQUARES}"


def test_the_gradient_is_the_same():
    """Segments change what is kept and nothing else."""
    rng = np.random.default_rng(0)
    w, h = (jnp.asarray(rng.standard_normal(shape)) for shape in ((7, WIDTH, WIDTH), (4, WIDTH)))

    np.testing.assert_allclose(jax.grad(in_segments)(w, h), jax.grad(plain)(w, h), rtol=1e-10)
