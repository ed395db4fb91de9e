"""Checks of the exercises in the notebook hooks."""

import jax
import jax.numpy as jnp

from parity_tests.notebook.live_torch import leaf


def unit_gradient(loss):
    w = leaf([3.0, 4.0])
    h = 2 * w
    h.register_hook(lambda grad: grad / grad.norm())
    (h**2).sum().backward()
    point = jnp.array([3.0, 4.0])
    yield "the loss", loss(point), (h**2).sum()
    yield "the gradient of w", jax.grad(loss)(point), w.grad
    yield "the gradient of w under `jit`", jax.jit(jax.grad(loss))(point), w.grad


def once_or_per_use(once, per_use):
    for name, answer, split in (("once", once, False), ("per_use", per_use, True)):
        x = leaf(1.0)
        h = 2 * x
        uses = [h.clone(), h.clone()] if split else [h, h]
        for use in uses if split else uses[:1]:
            use.register_hook(lambda grad: grad.clamp(-1, 1))
        (3 * uses[0] - 5 * uses[1]).backward()
        wanted = x.grad.item() if x.grad is not None else None
        right = answer if answer is ... else float(answer) == wanted
        yield f"`{name}` is torch's gradient", right, True
