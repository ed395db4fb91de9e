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


def jacobian_by_rows():
    """The Jacobian has one row for each output: the gradient of that output. Compute all rows of
    `f` at x with `jax.vjp`, without `jax.jacobian`. Which cotangent selects one output?"""

    def rows(f, x):
        y, pull_back = jax.vjp(f, x)
        return jnp.stack([pull_back(one_output)[0] for one_output in jnp.eye(len(y))])

    def f(x):
        return jnp.stack([x[0] * x[1], x[0] + x[1], x[1] ** 2])

    def in_torch(x):
        return torch.stack([x[0] * x[1], x[0] + x[1], x[1] ** 2])

    whole = torch.autograd.functional.jacobian(in_torch, torch.tensor([2.0, 3.0]))
    found = rows(f, jnp.array([2.0, 3.0]))
    print(whole.tolist(), found.tolist())
    assert found.tolist() == whole.tolist() == [[3, 2], [1, 1], [0, 6]]
