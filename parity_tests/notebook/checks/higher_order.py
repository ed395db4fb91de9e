"""Checks of the exercises in the notebook higher_order."""

import jax
import jax.numpy as jnp
import torch

from parity_tests.notebook.live_torch import leaf


def penalty_on_curvature(penalty):
    def f(w, x):
        return w * x**3

    for w_, x_ in ((1.0, 1.0), (2.0, 0.5)):
        w, x = leaf(w_), leaf(x_)
        (slope,) = torch.autograd.grad(f(w, x), x, create_graph=True)
        (curvature,) = torch.autograd.grad(slope, x, create_graph=True)
        (curvature**2).backward()
        yield f"the penalty at w = {w_:g}, x = {x_:g}", penalty(f, w_, x_), curvature**2
        what = f"the gradient of the penalty with respect to w at w = {w_:g}, x = {x_:g}"
        yield what, jax.grad(penalty, argnums=1)(f, w_, x_), w.grad


def norm_at_zero(norm):
    for x in ([0.0, 0.0], [3.0, 4.0], [1e-6, 0.0]):  # an epsilon under the root is wrong near 0
        tensor = leaf(x)
        length = torch.linalg.vector_norm(tensor)
        length.backward()
        yield f"the norm of {x}", norm(jnp.array(x)), length
        yield f"the gradient of the norm at {x}", jax.grad(norm)(jnp.array(x)), tensor.grad
