"""Exercises of the notebook control_flow."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from jax import lax


def branch_on_a_value():
    """`x**2 if x > 0 else -x` cannot be compiled in JAX as it stands. Write it with `lax.cond`, and
    compare the gradients at 3 and at -3 with torch's."""

    @jax.jit
    def f(x):
        return lax.cond(x > 0, lambda x: x**2, lambda x: -x, x)

    for point, expected in ((3.0, 6), (-3.0, -1)):
        x = torch.tensor(point, requires_grad=True)
        (x**2 if x > 0 else -x).backward()
        grad = jax.grad(f)(point)
        print(x.grad, grad)
        assert grad == x.grad.item() == expected


def halve_until_small():
    """torch runs `while x > 1: x = x / 2` and differentiates it. Write it in JAX for at most ten
    iterations, so that it compiles and has a gradient."""
    x = torch.tensor(10.0, requires_grad=True)
    y = x
    while y > 1:
        y = y / 2
    y.backward()

    @jax.jit
    def halved(x):
        def step(y, _):
            return jnp.where(y > 1, y / 2, y), None  # does nothing once y is small

        return lax.scan(step, x, length=10)[0]

    print(x.grad, jax.grad(halved)(10.0))
    assert jax.grad(halved)(10.0) == x.grad.item() == 1 / 16
