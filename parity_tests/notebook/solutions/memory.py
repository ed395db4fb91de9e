"""Exercises of the notebook memory."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from torch.utils.checkpoint import checkpoint

import jaxgrad


def two_segments():
    """Eight layers `h = tanh(h @ w)` keep their intermediate values. Checkpoint them in two
    segments of four layers, so that fewer bytes are kept and the gradient stays torch's."""
    h = torch.ones(2, 3)
    w = torch.eye(3, requires_grad=True)

    def four_layers(h):
        for _ in range(4):
            h = torch.tanh(h @ w)
        return h

    for _ in range(2):
        h = checkpoint(four_layers, h, use_reentrant=False)
    h.sum().backward()

    def layers(w, h):
        for _ in range(4):
            h = jnp.tanh(h @ w)
        return h

    def plain(w):
        return jnp.sum(layers(w, layers(w, jnp.ones((2, 3)))))

    def in_segments(w):
        segment = jax.checkpoint(layers)
        return jnp.sum(segment(w, segment(w, jnp.ones((2, 3)))))

    kept = [int(jaxgrad.saved_bytes(fun, jnp.eye(3))) for fun in (plain, in_segments)]
    print("kept without segments and with them:", kept)
    assert kept[1] < kept[0]
    assert jnp.allclose(jax.grad(in_segments)(jnp.eye(3)), jnp.array(w.grad.tolist()))


def uneven_micro_batches():
    """Five rows are processed as micro-batches of three and two. With which weights do the
    gradients of the two mean losses add up to the gradient of the mean over all rows?"""
    rows, weights = [1.0, 2.0, 3.0, 4.0, 10.0], (3 / 5, 2 / 5)
    w = torch.tensor(2.0, requires_grad=True)
    for weight, batch in zip(weights, torch.tensor(rows).split(3), strict=True):
        (weight * (w * batch).square().mean()).backward()

    def grad(x):
        return jax.grad(lambda w: jnp.mean((w * x) ** 2))(2.0)

    x = jnp.array(rows)
    weighted = weights[0] * grad(x[:3]) + weights[1] * grad(x[3:])
    mean_of_means = (grad(x[:3]) + grad(x[3:])) / 2
    print(w.grad, weighted, mean_of_means)
    assert jnp.allclose(weighted, grad(x)) and jnp.allclose(weighted, w.grad.item())
    assert not jnp.allclose(mean_of_means, grad(x))
