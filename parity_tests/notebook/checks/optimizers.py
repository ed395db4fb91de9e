"""Checks of the exercises in the notebook optimizers."""

import jax
import jax.numpy as jnp
import optax
import torch


def _steps(tx, optimizer, w):
    param = jnp.array(1.0)
    state = tx.init(param)
    for number in ("one", "two", "three"):
        optimizer.zero_grad()
        (w**2).backward()
        optimizer.step()
        updates, state = tx.update(jax.grad(lambda w: w**2)(param), state, param)
        param = optax.apply_updates(param, updates)
        yield f"w after step {number}", param, w


def adamw_with_torchs_decay(tx):
    w = torch.nn.Parameter(torch.tensor(1.0))
    yield from _steps(tx, torch.optim.AdamW([w], lr=0.1), w)


def rmsprop_with_torchs_defaults(tx):
    w = torch.nn.Parameter(torch.tensor(1.0))
    yield from _steps(tx, torch.optim.RMSprop([w], lr=0.1, eps=0.1), w)
