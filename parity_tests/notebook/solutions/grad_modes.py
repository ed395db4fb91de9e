"""Exercises of the notebook grad_modes."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from jax import lax

import jaxgrad


def one_term_of_a_sum():
    """At x = 1 the derivative of x² + x³ is 5. Stop one term in both frameworks, so
    that the derivative is 3x², which is 3, and the value stays 2."""

    def in_torch(x):
        return (x**2).detach() + x**3

    def in_jax(x):
        return lax.stop_gradient(x**2) + x**3

    x = torch.tensor(1.0, requires_grad=True)
    in_torch(x).backward()
    grad = jax.grad(in_jax)(1.0)
    print(x.grad, grad)
    assert grad == x.grad.item() == 3


def stopped_too_early():
    """A colleague wrote `x = lax.stop_gradient(x)` and then `jax.grad(f)(x)`, and the gradient is
    still there. Explain why, and write `stopped`, which returns what f returns and has a gradient
    of zero."""

    def f(x):
        return jnp.sum(x**2)

    x = lax.stop_gradient(jnp.array([1.0, 2.0]))  # a plain array: it carries no record to cut
    print(jax.grad(f)(x))
    assert jax.grad(f)(x).tolist() == [2, 4]

    def stopped(x):
        return f(lax.stop_gradient(x))  # inside of the function that is differentiated

    print(jax.grad(stopped)(x))
    assert jax.grad(stopped)(x).tolist() == [0, 0]


def same_value_other_gradient():
    """Write a loss of a and b whose value is a·b + a. Its gradient with respect to a is b, not
    b + 1, and `jaxgrad.grad` returns `None` for b."""

    def loss(a, b):
        return a * lax.stop_gradient(b) + lax.stop_gradient(a)

    for_a, for_b = jaxgrad.grad(loss, (0, 1))(2.0, 5.0)
    a, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 5.0))
    (a * b.detach() + a.detach()).backward()
    print(a.grad, b.grad, for_a, for_b)
    assert loss(2.0, 5.0) == 12
    assert for_a == a.grad.item() == 5 and for_b is b.grad is None
