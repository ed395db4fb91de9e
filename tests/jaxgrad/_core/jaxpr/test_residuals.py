"""`saved_bytes` counts the forward-pass values that are kept for the backward pass."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxgrad import saved_bytes


A = jnp.ones((8, 8))  # 512 bytes in float64


B = jnp.eye(8)
SAVE_DOTS = jax.checkpoint_policies.dots_saveable


def squared(e):
    return e * e


def transposed(e):
    return e * e.T


def steps(f, c):
    return lax.scan(lambda c, _: (f(c), None), c, None, length=3)[0]


SAVED = {
    "sum": (lambda a: a + 1, 0),
    "linear": (lambda a: a * 3, 0),
    "square keeps its input": (lambda a: a * a, 0),
    "sin keeps cos": (jnp.sin, 512),
    "two sines": (lambda a: jnp.sin(jnp.sin(a)), 1024),
    "jit": (jax.jit(lambda a: jnp.sin(jnp.sin(a))), 1024),
    "remat": (jax.checkpoint(lambda a: jnp.sin(jnp.sin(a))), 0),
    "two remats": (lambda a: jax.checkpoint(jnp.sin)(jax.checkpoint(jnp.sin)(a)), 512),
    "exp keeps its result": (jnp.exp, 512),
    "two exps": (lambda a: jnp.exp(a) * jnp.exp(2 * a), 1024),
    "one value twice": (lambda a: squared(jnp.exp(a)), 512),
    "one value twice in jit": (jax.jit(lambda a: squared(jnp.exp(a))), 512),
    "a constant": (lambda a: a @ B, 0),
    "a constant made inside": (lambda a: a @ jnp.ones((8, 8)), 512),
    "relu keeps a mask of bytes, and zeros": (jax.nn.relu, 64 + 512),
    "a transposed argument": (lambda a: jnp.sum(a.T @ a), 0),
    "one value and its transpose": (lambda a: transposed(jnp.exp(a)), 1024),
    "a transposed argument in a scan": (lambda a: steps(lambda c: jnp.exp(c @ a.T), a[0]), 384),
    "slices of an argument": (lambda a: lax.scan(lambda c, r: (c * r, None), a[0], a)[0], 512),
    "cond": (lambda a: lax.cond(a[0, 0] > 0, jnp.exp, lambda a: a, a), 512 + 4),
    "a policy": (jax.checkpoint(lambda a: jnp.sin(a @ a), policy=SAVE_DOTS), 512),
    "a detached factor": (lambda a: lax.stop_gradient(jnp.exp(a)) * a, 512),
    "detached": (lambda a: jnp.sin(lax.stop_gradient(a)), 0),
    "scan": (lambda a: lax.map(jnp.sin, a), 512),
    "vmap": (jax.vmap(jnp.sin), 512),
    "one jit twice": (lambda a: (jax.jit(jnp.sin)(a), jax.jit(jnp.sin)(2 * a)), 1024),
}


@pytest.mark.parametrize(("f", "kept"), SAVED.values(), ids=SAVED)
def test_saved_bytes(f: Any, kept: int) -> None:
    """Arguments and constants are not counted, values are counted once, and remat saves nothing."""
    assert saved_bytes(f, A) == kept


def test_saved_bytes_of_trees_under_jit() -> None:
    """`saved_bytes` needs only shapes, so it returns a number even under jit."""
    f = lambda p, x: jnp.sin(x @ p["w"])  # noqa: E731 # a formula
    assert saved_bytes(f, {"w": A}, A) == 512
    assert (
        saved_bytes(f, {"w": jax.ShapeDtypeStruct((8, 8), jnp.float32)}, jnp.ones((8, 8), "f"))
        == 256
    )
    assert int(jax.jit(lambda p: saved_bytes(f, p, A))({"w": A})) == 512
