"""Checks of the exercises in the notebook param_groups."""

from typing import Any

import jax.numpy as jnp
import optax
import torch

from parity_tests.notebook.check import holds


def _after(tx, names) -> Any:
    """Take a step from parameters of 1 with gradients of 1, with jaxgrad's optimizer or optax's."""
    params: Any = {name: jnp.array(1.0) for name in names}
    if hasattr(tx, "step"):
        return tx.step(params, tx.init(params), params)[0]
    return optax.apply_updates(params, tx.update(params, tx.init(params), params)[0])


def biases_without_decay(tx):
    weight, bias = (torch.nn.Parameter(torch.tensor(1.0)) for _ in range(2))
    groups = [{"params": [weight], "weight_decay": 0.5}, {"params": [bias]}]
    weight.grad = bias.grad = torch.tensor(1.0)
    torch.optim.SGD(groups, lr=0.1).step()
    after = _after(tx, ("weight", "bias"))
    yield "the weight after a step", after["weight"], weight
    yield "the bias after a step", after["bias"], bias


def frozen_but_moving(l1_of_colleague, tx):
    l1, l2 = (torch.nn.Parameter(torch.tensor(1.0)) for _ in range(2))
    l1.grad, l2.grad = None, torch.tensor(1.0)
    torch.optim.SGD([l1, l2], lr=0.1, weight_decay=0.5).step()
    ones = {"l1": jnp.array(1.0), "l2": jnp.array(1.0)}
    masked = optax.masked(optax.sgd(0.1), {"l1": False, "l2": True})
    updates, _ = masked.update(ones, masked.init(ones))
    wrong: Any = optax.apply_updates(ones, updates)
    fault = (
        f"your colleague's `l1` is not {l1_of_colleague} after the step. Ask which update "
        "`optax.masked` returns for a leaf that it does not transform, and add it to 1"
    )
    right = holds(bool(l1_of_colleague == wrong["l1"]), fault)
    yield "your prediction for your colleague's `l1` is right", right, True
    after = _after(tx, ("l1", "l2"))
    yield "l1 after a step", after["l1"], l1
    yield "l2 after a step", after["l2"], l2
