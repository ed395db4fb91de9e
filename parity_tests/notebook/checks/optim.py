"""Checks of the exercises in the notebook optim."""

import jax
import jax.numpy as jnp
import optax
import torch

from parity_tests.notebook.check import holds, names_in


def momentum_by_hand(step):
    library = holds("optax" not in names_in(step), "write the momentum yourself, without optax")
    yield "no library is used", library, True
    w = torch.nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    param, momentum = 1.0, 0.0
    for number in ("one", "two", "three"):
        optimizer.zero_grad()
        (w**2).backward()
        optimizer.step()
        param, momentum = step(param, momentum)
        yield f"w after step {number}", param, w


def skip_a_step(step):
    w = torch.nn.Parameter(torch.tensor(1.0))
    optimizer, tx = torch.optim.Adam([w], lr=0.1), optax.adam(0.1)
    param = jnp.array(1.0)
    state = tx.init(param)
    for grad in (1.0, 0.0, 2.0):
        w.grad = torch.tensor(grad) if grad else None  # torch skips a parameter without a gradient
        optimizer.step()
        param, state = jax.jit(step)(param, state, jnp.array(grad))
        yield f"w after a gradient of {grad:g}", param, w
