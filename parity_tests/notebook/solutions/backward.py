"""Exercises of the notebook backward."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch


def rest_of_the_program():
    """With c = a·b and e = c·d at (a, b, d) = (2, 3, 4), torch's `c.retain_grad()` gives de/dc = 4.
    Get it with `jax.grad` alone."""
    a, b, d = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 4.0))
    c = a * b
    c.retain_grad()
    (c * d).backward()

    grad = jax.grad(lambda c, d: c * d)(2.0 * 3.0, 4.0)  # the program after c
    print(c.grad, grad)
    assert grad == c.grad.item() == 4


def weighted_outputs():
    """`y = x**2` has three elements, and torch calls `y.backward(gradient=weights)`. Compute the
    same gradient in two ways: with `jax.vjp`, and with `jax.grad` of a scalar."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x**2).backward(gradient=torch.tensor([1.0, 10.0, 100.0]))

    point, weights = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0, 100.0])
    _, pull_back = jax.vjp(lambda x: x**2, point)
    (by_vjp,) = pull_back(weights)
    by_grad = jax.grad(lambda x: jnp.sum(weights * x**2))(point)
    print(x.grad, by_vjp, by_grad)
    assert x.grad.tolist() == by_vjp.tolist() == by_grad.tolist() == [2, 40, 600]
