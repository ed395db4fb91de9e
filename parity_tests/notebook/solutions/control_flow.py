"""Exercises of the notebook control_flow."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from jax import lax


def branch_on_a_value():
    """`x**2 if x > 0 else -x` cannot be compiled in JAX as it stands. Rewrite it, for example with
    `lax.cond`, so that its gradients at 3, -3 and 0 are torch's."""

    def f(x):
        return lax.cond(x > 0, lambda x: x**2, lambda x: -x, x)

    for point, expected in ((3.0, 6), (-3.0, -1), (0.0, -1)):
        x = torch.tensor(point, requires_grad=True)
        (x**2 if x > 0 else -x).backward()
        grad = jax.jit(jax.grad(f))(point)
        print(x.grad, grad)
        assert grad == x.grad.item() == expected


def terms_until_small():
    """torch adds x + x/2 + x/4 + ... while the next term is greater than 0.5, and differentiates
    the sum. Write it in JAX for at most ten terms, so that it compiles and has a gradient."""

    def total(x):
        def step(carry, _):
            total, term = carry
            more = term > 0.5  # a term that is small stays small, so nothing is added after it
            return (jnp.where(more, total + term, total), term / 2), None

        return lax.scan(step, (jnp.zeros_like(x), x), length=10)[0][0]

    x = torch.tensor(8.0, requires_grad=True)
    term, in_torch = x, torch.tensor(0.0)
    while term > 0.5:
        in_torch = in_torch + term
        term = term / 2
    in_torch.backward()
    print(in_torch.item(), x.grad, jax.jit(jax.value_and_grad(total))(8.0))
    assert jax.jit(total)(8.0) == in_torch.item() == 15
    assert jax.jit(jax.grad(total))(8.0) == x.grad.item() == 1 + 1 / 2 + 1 / 4 + 1 / 8
