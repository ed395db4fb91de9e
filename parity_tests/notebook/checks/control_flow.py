"""Checks of the exercises in the notebook control_flow."""

import jax
import torch

from parity_tests.notebook.live_torch import leaf


def branch_on_a_value(f):
    for point in (3.0, -3.0, 0.0):
        x = leaf(point)
        y = x**2 if x > 0 else -x
        y.backward()
        yield f"the value at {point:g} under `jit`", jax.jit(f)(point), y
        yield f"the gradient at {point:g}", jax.jit(jax.grad(f))(point), x.grad


def terms_until_small(total):
    for point in (8.0, 1.0, 300.0):  # 300 has ten terms
        x = leaf(point)
        term, wanted = x, torch.tensor(0.0)
        while term > 0.5:
            wanted = wanted + term
            term = term / 2
        wanted.backward()
        yield f"the sum at {point:g} under `jit`", jax.jit(total)(point), wanted
        yield f"the gradient at {point:g}", jax.jit(jax.grad(total))(point), x.grad
