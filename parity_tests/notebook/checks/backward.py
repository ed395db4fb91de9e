"""Checks of the exercises in the notebook backward."""

import jax.numpy as jnp
import torch
from torch.autograd.functional import jacobian

from parity_tests.notebook.check import holds, names_in
from parity_tests.notebook.live_torch import leaf


def rest_of_the_program(grad):
    a, b, d = leaf(2.0), leaf(3.0), leaf(4.0)
    c = a * b
    c.retain_grad()
    (c * d).backward()
    yield "the gradient of c", grad, c.grad


def jacobian_by_rows(rows):
    shortcut = names_in(rows) & {"jacobian", "jacrev", "jacfwd"}
    fault = f"use `jax.vjp` in place of `jax.{min(shortcut, default='')}`"
    yield "the rows come from `jax.vjp`", holds(not shortcut, fault), True

    def in_jax(x):
        return jnp.stack([x[0] * x[1], x[0] + x[1], x[1] ** 2])

    def in_torch(x):
        return torch.stack([x[0] * x[1], x[0] + x[1], x[1] ** 2])

    for x in ([2.0, 3.0], [1.0, -1.0]):
        wanted = jacobian(in_torch, torch.tensor(x))
        yield f"the Jacobian at {x}", rows(in_jax, jnp.array(x)), wanted
    wanted = jacobian(lambda x: x[:2] * x[2], torch.tensor([2.0, 3.0, 4.0]))  # two rows of three
    found = rows(lambda x: x[:2] * x[2], jnp.array([2.0, 3.0, 4.0]))
    yield "the Jacobian of [x0·x2, x1·x2] at [2, 3, 4]", found, wanted
