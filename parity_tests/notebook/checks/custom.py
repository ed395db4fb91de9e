"""Checks of the exercises in the notebook custom."""

import jax
import jax.numpy as jnp
import torch

from parity_tests.notebook.check import as_numbers, holds
from parity_tests.notebook.live_torch import grads_of


class Slower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):  # pyright: ignore[reportIncompatibleMethodOverride]
        return 0.1 * grad_output


def slower_gradient(slower):
    yield "the value at 3", slower(jnp.array(3.0)), Slower.apply(torch.tensor(3.0))
    wanted = grads_of(lambda x: Slower.apply(x) ** 2, 3.0)[0]
    yield "the gradient of its square at 3", jax.grad(lambda x: slower(x) ** 2)(3.0), wanted


def clipped_straight_through(quantize):
    def in_torch(x):
        bounded = x.clamp(-1, 1)
        return bounded + (bounded.round() - bounded).detach()

    x = [0.4, -0.7, 3.0, -2.0]
    yield f"the value at {x}", quantize(jnp.array(x)), in_torch(torch.tensor(x))
    wanted = grads_of(lambda x: (5 * in_torch(x)).sum(), x)[0]
    found = jax.grad(lambda x: jnp.sum(5 * quantize(x)))(jnp.array(x))
    yield "the gradient of five times its sum", found, wanted
    ends = as_numbers(jax.grad(lambda x: jnp.sum(quantize(x)))(jnp.array([1.0, -1.0])))
    fault = (
        f"the gradient at the bounds, [1, -1], is {ends}. Binary networks have weights that lie "
        "exactly there. torch's clamp gives 0 at a bound (1 up to torch 2.13), `jnp.clip` gives "
        "half. Use `jaxgrad.functional.clamp`"
    )
    yield "the gradient at the bounds is torch's", holds(set(ends) in ({0}, {1}), fault), True
