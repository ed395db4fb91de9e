"""Checks of the exercises in the notebook memory."""

import jax
import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.notebook.live_torch import leaf


def two_segments(in_segments):
    h, w = torch.ones(2, 3), leaf([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for _ in range(8):
        h = torch.tanh(h @ w)
    h.sum().backward()

    def whole(w):
        h = jnp.ones((2, 3))
        for _ in range(8):
            h = jnp.tanh(h @ w)
        return jnp.sum(h)

    eye = jnp.eye(3)
    yield "the value", in_segments(eye), h.sum()
    yield "the gradient of w", jax.grad(in_segments)(eye), w.grad

    def two(w):
        half = jax.checkpoint(lambda h: jnp.tanh(jnp.tanh(jnp.tanh(jnp.tanh(h @ w) @ w) @ w) @ w))
        return jnp.sum(half(half(jnp.ones((2, 3)))))

    kept, before, segments = (
        int(jaxgrad.saved_bytes(fun, eye)) for fun in (in_segments, whole, two)
    )
    yield f"the number of bytes that are kept ({before} without segments)", kept, segments


def uneven_micro_batches(weights):
    def grad(x):
        return jax.grad(lambda w: jnp.mean((w * jnp.array(x)) ** 2))(2.0)

    for rows in ([1.0, 2.0, 3.0, 4.0, 10.0], [5.0, 1.0, 1.0, 1.0, 1.0]):
        w = leaf(2.0)
        ((w * torch.tensor(rows)) ** 2).mean().backward()
        found = weights[0] * grad(rows[:3]) + weights[1] * grad(rows[3:])
        yield f"the weighted sum of the two gradients for the rows {rows}", found, w.grad
