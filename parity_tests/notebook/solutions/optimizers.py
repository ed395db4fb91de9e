"""Exercises of the notebook optimizers."""

# pyright: reportArgumentType=false
# optax types what `apply_updates` returns as any tree.

import jax
import jax.numpy as jnp
import optax
import torch


def adamw_with_torchs_decay():
    """Call `optax.adamw` so that three steps on the loss `w**2` agree with
    `torch.optim.AdamW([w], lr=0.1)`, and show that its defaults do not."""
    w = torch.nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.AdamW([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (w**2).backward()
        optimizer.step()

    def train(tx):
        param = jnp.array(1.0)
        state = tx.init(param)
        for _ in range(3):
            updates, state = tx.update(jax.grad(lambda w: w**2)(param), state, param)
            param = optax.apply_updates(param, updates)
        return param

    tx = optax.adamw(0.1, weight_decay=0.01)
    right, default = train(tx), train(optax.adamw(0.1))
    print(w.item(), right, default)
    assert jnp.allclose(right, w.item(), rtol=1e-5)
    assert not jnp.allclose(default, w.item(), rtol=1e-3)


def rmsprop_with_torchs_defaults():
    """Call `optax.rmsprop` so that its steps agree with `torch.optim.RMSprop([w], lr=0.1,
    eps=0.1)`. Two arguments besides `eps` have other defaults."""
    w = torch.nn.Parameter(torch.tensor(1.0))
    w.grad = torch.tensor(2.0)
    torch.optim.RMSprop([w], lr=0.1, eps=0.1).step()

    def first_step(tx):
        param = jnp.array(1.0)
        updates, _ = tx.update(jnp.array(2.0), tx.init(param))
        return optax.apply_updates(param, updates)

    tx = optax.rmsprop(0.1, decay=0.99, eps=0.1, eps_in_sqrt=False)
    right = first_step(tx)
    default = first_step(optax.rmsprop(0.1, eps=0.1))
    print(w.item(), right, default)
    assert jnp.allclose(right, w.item(), rtol=1e-5)
    assert not jnp.allclose(default, w.item(), rtol=1e-2)
