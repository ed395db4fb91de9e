"""Exercises of the notebook custom."""

# pyright: reportOptionalMemberAccess=false, reportIncompatibleMethodOverride=false
# torch documents `backward(ctx, grad_output)`, but its type stub has `*grad_outputs`.

import jax
import jax.numpy as jnp
import torch
from jax import lax

import jaxgrad
from jaxgrad import functional


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


def clipped_straight_through():
    """Clamp x to [-1, 1] and round it. Let the gradient pass through the rounding, but not where x
    was clamped, as binary networks do. Can you do it without a custom rule?"""

    def quantize(x):
        bounded = functional.clamp(x, -1, 1)  # gradient 0 outside of the bounds
        return bounded + lax.stop_gradient(jnp.round(bounded) - bounded)

    x = torch.tensor([0.4, -0.7, 3.0], requires_grad=True)
    bounded = x.clamp(-1, 1)
    (5 * (bounded + (bounded.round() - bounded).detach())).sum().backward()
    point = jnp.array([0.4, -0.7, 3.0])
    grad = jax.grad(lambda x: jnp.sum(5 * quantize(x)))(point)
    print(x.grad, quantize(point), grad)
    assert grad.tolist() == x.grad.tolist() == [5, 5, 0]
    # At a bound it is 0 as well, as in torch since 2.14; `jnp.clip` would give 0.5.
    assert jax.grad(quantize)(1.0) == jax.grad(quantize)(-1.0) == 0
