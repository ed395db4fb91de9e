"""Exercises of the notebook grad_modes."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from jax import lax


def one_term_of_a_sum():
    """At x = 1 the derivative of x² + x³ is 5. Stop one term in both frameworks, without
    `no_grad`, so that the derivative is 3."""
    x = torch.tensor(1.0, requires_grad=True)
    ((x**2).detach() + x**3).backward()

    grad = jax.grad(lambda x: lax.stop_gradient(x**2) + x**3)(1.0)
    print(x.grad, grad)
    assert grad == x.grad.item() == 3


def stopped_too_early():
    """A colleague wrote `x = lax.stop_gradient(x)` and then `jax.grad(f)(x)`, and the gradient is
    still there. Explain why, and stop it."""

    def f(x):
        return jnp.sum(x**2)

    x = lax.stop_gradient(jnp.array([1.0, 2.0]))  # a plain array: it carries no record to cut
    print(jax.grad(f)(x))
    assert jax.grad(f)(x).tolist() == [2, 4]

    def stopped(x):
        return f(lax.stop_gradient(x))  # inside of the function that is differentiated

    print(jax.grad(stopped)(x))
    assert jax.grad(stopped)(x).tolist() == [0, 0]
