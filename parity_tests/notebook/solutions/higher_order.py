"""Exercises of the notebook higher_order."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch


def penalty_on_curvature():
    """Write a penalty for a function `f(w, x)`: the square of its second derivative with respect to
    x. Then it can be differentiated with respect to w."""

    def penalty(f, w, x):
        curvature = jax.grad(jax.grad(f, argnums=1), argnums=1)
        return curvature(w, x) ** 2

    def f(w, x):
        return w * x**3

    w, x = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
    (slope,) = torch.autograd.grad(f(w, x), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, x, create_graph=True)
    (curvature**2).backward()
    grad = jax.grad(penalty, argnums=1)(f, 1.0, 1.0)
    print(w.grad, grad)
    assert jnp.allclose(grad, w.grad.item())
    assert jnp.allclose(grad, 72)


def norm_at_zero():
    """The gradient of `jnp.linalg.norm` at zero is NaN. Write a norm whose gradient there is 0, as
    in torch, and correct elsewhere. A single `jnp.where` is not enough: why?"""

    def norm(x):
        square = jnp.sum(x**2)
        positive = square > 0
        root = jnp.sqrt(jnp.where(positive, square, 1.0))  # never at 0, where its slope is infinite
        return jnp.where(positive, root, 0.0)

    def once(x):  # the backward pass multiplies 0 by infinity
        square = jnp.sum(x**2)
        return jnp.where(square > 0, jnp.sqrt(square), 0.0)

    x = torch.zeros(2, requires_grad=True)
    torch.linalg.vector_norm(x).backward()
    zero = jnp.zeros(2)
    print(x.grad, jax.grad(norm)(zero), jax.grad(once)(zero))
    assert jax.grad(norm)(zero).tolist() == x.grad.tolist() == [0, 0]
    assert jnp.isnan(jax.grad(once)(zero)).all()
    assert jnp.allclose(jax.grad(norm)(jnp.array([3.0, 4.0])), jnp.array([0.6, 0.8]))
