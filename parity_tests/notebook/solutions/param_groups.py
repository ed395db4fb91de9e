"""Exercises of the notebook param_groups."""

# pyright: reportIndexIssue=false
# optax types what `apply_updates` returns as any tree.

import jax.numpy as jnp
import optax
import torch

from jaxgrad import optim


def biases_without_decay():
    """Take a step of SGD in which the weight decays by 0.5 and the bias does not, with two groups
    in torch and in JAX."""
    weight, bias = (torch.nn.Parameter(torch.tensor(1.0)) for _ in range(2))
    groups = [{"params": [weight], "weight_decay": 0.5}, {"params": [bias]}]
    weight.grad = bias.grad = torch.tensor(1.0)
    torch.optim.SGD(groups, lr=0.1).step()

    tx = optim.param_groups(
        optim.sgd, {"weight": {"weight_decay": 0.5}, "bias": {}}, lambda path: path, lr=0.1
    )
    params = {"weight": jnp.array(1.0), "bias": jnp.array(1.0)}
    grads = {"weight": jnp.array(1.0), "bias": jnp.array(1.0)}
    after, _ = tx.step(grads, tx.init(params), params)
    print(weight.item(), bias.item(), after["weight"], after["bias"])
    assert jnp.allclose(after["weight"], weight.item()) and jnp.allclose(after["bias"], bias.item())
    assert after["weight"] < after["bias"]


def frozen_but_moving():
    """A colleague freezes `l1` with `optax.masked(optax.sgd(0.1), {"l1": False, "l2": True})`.
    Where does `l1` go if all parameters and gradients are 1? Then write an optimizer that keeps
    `l1` and trains `l2` with a learning rate of 0.1 and a weight decay of 0.5."""
    ones = {"l1": jnp.array(1.0), "l2": jnp.array(1.0)}
    masked = optax.masked(optax.sgd(0.1), {"l1": False, "l2": True})
    updates, _ = masked.update(ones, masked.init(ones))
    l1_of_colleague = optax.apply_updates(ones, updates)["l1"]

    groups = [{"lr": 0.1, "weight_decay": 0.5}]
    tx = optim.param_groups(optim.sgd, groups, {"l1": "frozen", "l2": 0})
    after, _ = tx.step(ones, tx.init(ones), ones)

    l1, l2 = (torch.nn.Parameter(torch.tensor(1.0)) for _ in range(2))
    l1.requires_grad_(False)
    l2.grad = torch.tensor(1.0)
    torch.optim.SGD([l1, l2], lr=0.1, weight_decay=0.5).step()
    print("masked:", l1_of_colleague, "frozen:", after["l1"], after["l2"])
    assert l1_of_colleague == 2  # the raw gradient was added
    assert after["l1"] == l1.item() == 1 and jnp.allclose(after["l2"], l2.item())
