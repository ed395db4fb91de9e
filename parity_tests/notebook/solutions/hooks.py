"""Exercises of the notebook hooks."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch

import jaxgrad


def unit_gradient():
    """In the loss below, scale the gradient of the hidden layer h to length 1 on its way back. The
    loss stays the same, and the function must still compile."""

    def scaled(grad):
        return grad / jnp.linalg.norm(grad)

    def loss(w):
        h = jaxgrad.hook(2 * w, scaled)
        return jnp.sum(h**2)

    w = torch.tensor([3.0, 4.0], requires_grad=True)
    h = 2 * w
    h.register_hook(lambda grad: grad / grad.norm())
    (h**2).sum().backward()
    grad = jax.jit(jax.grad(loss))(jnp.array([3.0, 4.0]))
    print(w.grad, grad)
    assert jnp.allclose(grad, jnp.array(w.grad.tolist()))


def once_or_per_use():
    """`h = 2 * x` is used as `3 * h - 5 * h`, and a hook clamps a gradient to [-1, 1]. Predict the
    gradient of x if the hook is applied to `h` once, and if it is applied at each use."""

    def clamped(h):
        return jaxgrad.hook(h, lambda grad: jnp.clip(grad, -1, 1))

    def hooked_once(x):
        h = clamped(2 * x)
        return 3 * h - 5 * h

    def hooked_per_use(x):
        h = 2 * x
        return 3 * clamped(h) - 5 * clamped(h)

    once, per_use = jax.grad(hooked_once)(1.0), jax.grad(hooked_per_use)(1.0)
    print(once, per_use)
    assert once == -2  # the sum -2 is clamped to -1, then multiplied by 2
    assert per_use == 0  # 3 and -5 are clamped to 1 and -1, and cancel
