"""Checks of the exercises in the notebook grad_modes."""

import jax
import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.notebook.live_torch import grads_of


def one_term_of_a_sum(in_torch, in_jax):
    (cube,) = grads_of(lambda x: x**3, 1.0)
    one = torch.tensor(1.0)
    for name, value in (("torch", in_torch(one)), ("JAX", in_jax(1.0))):
        yield f"the value of your function in {name}", value, one**2 + one**3
    yield "the derivative of your torch function", grads_of(in_torch, 1.0)[0], cube
    yield "the derivative of your JAX function", jax.grad(in_jax)(1.0), cube


def stopped_too_early(stopped):
    x = torch.tensor([1.0, 2.0])
    (grad,) = grads_of(lambda x: (x.detach() ** 2).sum() + 0 * x.sum(), [1.0, 2.0])
    yield "the value", stopped(jnp.array([1.0, 2.0])), (x**2).sum()
    yield "the gradient", jax.grad(stopped)(jnp.array([1.0, 2.0])), grad


def same_value_other_gradient(loss):
    def in_torch(a, b):
        return a * b.detach() + a.detach()

    yield "the value", loss(2.0, 5.0), in_torch(torch.tensor(2.0), torch.tensor(5.0))
    for_a, for_b = jaxgrad.grad(loss, (0, 1))(2.0, 5.0)
    in_a, in_b = grads_of(in_torch, 2.0, 5.0)
    yield "the gradient of a", for_a, in_a
    yield "the gradient of b", for_b, in_b
