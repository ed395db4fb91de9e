"""Exercises of the notebook actor_critic."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from jax import lax


def train_the_actor_only():
    """The action is `w * 3`, its value is `v * action`, and the actor's loss is minus the value.
    Your colleague stopped the value. Move `stop_gradient` so that w gets a gradient and v does
    not."""

    def loss(w, v):
        return -lax.stop_gradient(v) * (w * 3)

    def too_much(w, v):
        return -lax.stop_gradient(v * (w * 3))  # cuts the path to the actor as well

    w = torch.tensor(2.0, requires_grad=True)
    v = torch.tensor(5.0, requires_grad=True)
    (-v.detach() * (w * 3)).backward()
    for_w, for_v = jax.grad(loss, argnums=(0, 1))(2.0, 5.0)
    print(w.grad, v.grad, for_w, for_v, jax.grad(too_much)(2.0, 5.0))
    assert for_w == w.grad.item() == -15
    assert for_v == 0 and v.grad is None
    assert jax.grad(too_much)(2.0, 5.0) == 0


def follow_slowly():
    """The target network follows the critic as `target = 0.9 * target + 0.1 * critic`. Write it for
    a whole tree of parameters in JAX. Why does JAX not need `no_grad` for it?"""
    critic, target = torch.tensor([1.0, 2.0], requires_grad=True), torch.zeros(2)
    with torch.no_grad():
        target.lerp_(critic, 0.1)

    def follow(target, critic):  # outside of every function that is differentiated
        return jax.tree.map(lambda t, c: 0.9 * t + 0.1 * c, target, critic)

    after = follow({"w": jnp.zeros(2)}, {"w": jnp.array([1.0, 2.0])})
    print(target, after)
    assert jnp.allclose(after["w"], jnp.array(target.tolist()))
