"""Exercises of the notebook 00_ten_minutes."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from jax import lax


def two_batches():
    """The torch program below calls `backward()` twice without clearing `.grad`. Compute in JAX
    what `w.grad` is at the end."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for x in (torch.tensor([1.0, 1.0]), torch.tensor([0.0, 3.0])):
        ((w * x).sum() ** 2).backward()

    def loss(w, x):
        return jnp.sum(w * x) ** 2

    params = jnp.array([1.0, 2.0])
    grads = [jax.grad(loss)(params, jnp.array(x)) for x in ([1.0, 1.0], [0.0, 3.0])]
    total = grads[0] + grads[1]
    print(w.grad, total)
    assert total.tolist() == w.grad.tolist()


def bootstrapped_target():
    """A value function is trained towards `1 + 0.9 * v(after)`, where torch detaches `v(after)`.
    The loss below trains both values. Correct it so that only `v(now)` is trained."""

    def value(w, x):
        return jnp.sum(w * x)

    def loss(w, now, after):
        target = 1 + 0.9 * lax.stop_gradient(value(w, after))
        return (value(w, now) - target) ** 2

    points = jnp.array([1.0, 2.0]), jnp.array([3.0, -1.0])
    w = torch.tensor([0.5, 0.5], requires_grad=True)
    target = 1 + 0.9 * (w * torch.tensor([3.0, -1.0])).sum().detach()
    ((w * torch.tensor([1.0, 2.0])).sum() - target).square().backward()
    grad = jax.grad(loss)(jnp.array([0.5, 0.5]), *points)
    print(w.grad, grad)
    assert jnp.allclose(grad, jnp.array(w.grad.tolist()))
