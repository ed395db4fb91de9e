"""Exercises of the notebook custom."""

# pyright: reportOptionalMemberAccess=false, reportIncompatibleMethodOverride=false
# torch documents `backward(ctx, grad_output)`, but its type stub has `*grad_outputs`.

import jax
import jax.numpy as jnp
import torch
from jax import lax

import jaxgrad


def slower_gradient():
    """This `autograd.Function` is the identity and multiplies the gradient by 0.1. Port it with
    `jaxgrad.from_function`, and compare the gradient of its square at 3."""

    class Slower(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad_output):
            return 0.1 * grad_output

    x = torch.tensor(3.0, requires_grad=True)
    (Slower.apply(x) ** 2).backward()

    class SlowerInJax:
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad_output):
            return 0.1 * grad_output

    slower = jaxgrad.from_function(SlowerInJax)
    grad = jax.grad(lambda x: slower(x) ** 2)(3.0)
    print(x.grad, grad)
    assert jnp.allclose(grad, x.grad.item())
    assert jnp.allclose(grad, 0.6)


def binary_weights():
    """A network uses the signs of its weights. Write the straight-through estimator in JAX, so that
    each weight gets the gradient of its sign, and show what the plain sign gives."""
    w = torch.tensor([0.3, -2.0], requires_grad=True)
    sign = w + (w.sign() - w).detach()
    (sign * torch.tensor([1.0, 10.0])).sum().square().backward()

    def loss(sign):
        return jnp.sum(sign * jnp.array([1.0, 10.0])) ** 2

    def straight_through(w):
        return w + lax.stop_gradient(jnp.sign(w) - w)

    point = jnp.array([0.3, -2.0])
    grad = jax.grad(lambda w: loss(straight_through(w)))(point)
    plain = jax.grad(lambda w: loss(jnp.sign(w)))(point)
    print(w.grad, grad, plain)
    assert jnp.allclose(grad, jnp.array(w.grad.tolist()))
    assert plain.tolist() == [0, 0]
