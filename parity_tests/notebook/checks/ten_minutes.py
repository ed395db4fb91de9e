"""Checks of the exercises in the notebook 00_ten_minutes."""

import jax
import jax.numpy as jnp
import torch

from jaxgrad._core.refusals import type_of
from parity_tests.notebook.check import holds
from parity_tests.notebook.live_torch import grads_of, leaf


def two_batches(total):
    w = leaf([1.0, 2.0])
    for x in ([1.0, 1.0], [0.0, 3.0]):
        ((w * torch.tensor(x)).sum() ** 2).backward()
    fault = f"`total` is {type_of(total)} and not a JAX array: compute it with `jax.grad`"
    if total is not ...:
        yield "`total` is a JAX array", holds(isinstance(total, jax.Array), fault), True
    yield "the accumulated gradient", total, w.grad


def bootstrapped_target(loss):
    now, after = [1.0, 2.0], [3.0, -1.0]

    def in_torch(w):
        target = 1 + 0.9 * (w * torch.tensor(after)).sum().detach()
        return ((w * torch.tensor(now)).sum() - target).square()

    for w in ([0.5, 0.5], [-1.0, 2.0]):
        arrays = [jnp.array(value) for value in (w, now, after)]
        yield f"the loss at w = {w}", loss(*arrays), in_torch(torch.tensor(w))
        yield f"the gradient at w = {w}", jax.grad(loss)(*arrays), grads_of(in_torch, w)[0]
