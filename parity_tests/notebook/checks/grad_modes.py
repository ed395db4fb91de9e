"""Checks of the exercises in the notebook grad_modes."""

import jax
import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.notebook.live_torch import grads_of


def one_term_of_a_sum(in_torch, in_jax):
    for at in (1.0, 2.0):  # at 2 a constant factor in place of a stopped term is noticed
        point = torch.tensor(at)
        (cube,) = grads_of(lambda x: x**3, at)
        for name, value in (("torch", in_torch(point)), ("JAX", in_jax(at))):
            yield f"the value of your {name} function at {at:g}", value, point**2 + point**3
        found = {"torch": grads_of(in_torch, at)[0], "JAX": jax.grad(in_jax)(at)}
        for name, grad in found.items():
            yield f"the derivative of your {name} function at {at:g}", grad, cube


def stopped_too_early(stopped):
    for at in ([1.0, 2.0], [3.0, -1.0]):
        (grad,) = grads_of(lambda x: (x.detach() ** 2).sum() + 0 * x.sum(), at)
        yield f"the value at {at}", stopped(jnp.array(at)), (torch.tensor(at) ** 2).sum()
        yield f"the gradient at {at}", jax.grad(stopped)(jnp.array(at)), grad


def same_value_other_gradient(loss):
    def in_torch(a, b):
        return a * b.detach() + a.detach()

    for at in ((2.0, 5.0), (3.0, -1.0)):
        yield f"the value at {at}", loss(*at), in_torch(*map(torch.tensor, at))
        for_a, for_b = jaxgrad.grad(loss, (0, 1))(*at)
        in_a, in_b = grads_of(in_torch, *at)
        yield f"the gradient of a at {at}", for_a, in_a
        yield f"the gradient of b at {at}", for_b, in_b
