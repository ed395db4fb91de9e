"""Checks of the exercises in the notebook hooks."""

import jax
import jax.numpy as jnp

from parity_tests.notebook.check import holds, names_in, number
from parity_tests.notebook.live_torch import leaf


HINTS = {
    "once": "Add the gradients of both uses of `h` first, clamp the sum, and multiply by dh/dx",
    "per_use": "Clamp the gradient of each use of `h` first, add them, and multiply by dh/dx",
}
HOOK = "Hook `h`: its gradient gets length 1, and that of `w` twice the length"
UNUSED = "Use the value that `jaxgrad.hook` returns: `h = jaxgrad.hook(h, fn)`"


def unit_gradient(loss):
    for at in ([3.0, 4.0], [-5.0, 12.0]):
        w, point = leaf(at), jnp.array(at)
        h = 2 * w
        h.register_hook(lambda grad: grad / grad.norm())
        (h**2).sum().backward()
        yield f"the loss at {at}", loss(point), (h**2).sum(), "A hook leaves the value of `h` alone"
        grad = jax.grad(loss)(point)
        unchanged = "hook" in names_in(loss) and bool(jnp.allclose(grad, 8 * point))
        hint = UNUSED if unchanged else HOOK
        yield f"the gradient at {at}", grad, w.grad, hint
        yield f"the gradient at {at} under `jit`", jax.jit(jax.grad(loss))(point), w.grad


def once_or_per_use(once, per_use):
    for name, answer, split in (("once", once, False), ("per_use", per_use, True)):
        x = leaf(1.0)
        h = 2 * x
        uses = [h.clone(), h.clone()] if split else [h, h]
        for use in uses if split else uses[:1]:
            use.register_hook(lambda grad: grad.clamp(-1, 1))
        (3 * uses[0] - 5 * uses[1]).backward()
        wanted = x.grad.item() if x.grad is not None else None
        fault = f"`{name}` = {answer} is not torch's gradient of x. {HINTS[name]}"
        yield f"`{name}` is torch's gradient", holds(number(name, answer) == wanted, fault), True
