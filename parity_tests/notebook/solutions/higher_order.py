"""Exercises of the notebook higher_order."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch


def hessian_times_vector():
    """For `f(x) = x[0]**2 * x[1]` multiply the Hessian at (2, 3) by the vector (1, 0), without
    computing the whole Hessian: in torch with two backward passes, in JAX with `jvp` of `grad`."""

    def f(x):
        return x[0] ** 2 * x[1]

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (grad,) = torch.autograd.grad(f(x), x, create_graph=True)
    (product,) = torch.autograd.grad(grad @ torch.tensor([1.0, 0.0]), x)

    point, vector = jnp.array([2.0, 3.0]), jnp.array([1.0, 0.0])
    _, in_jax = jax.jvp(jax.grad(f), (point,), (vector,))
    print(product, in_jax)
    assert in_jax.tolist() == product.tolist() == [6, 4]


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
