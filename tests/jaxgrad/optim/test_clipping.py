"""`jaxgrad.optim.clip_grad_norm` and `clip_grad_value` clip inside optax chains as torch does."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

import jaxgrad
from jaxgrad import optim


INF = float("inf")
START = {"a": np.array([1.0, -2.0]), "b": np.array([[3.0], [0.5]]), "c": np.array([0.25])}
GROUPS = {"a": "slow", "b": "fast", "c": "slow"}
RATES = {"slow": 0.01, "fast": 0.1}


def loss(w: Any) -> Any:
    return (w["a"] ** 4).sum() + (w["a"].sum() * w["b"]).sum() ** 2 + w["b"].sum()  # c is unused


def torch_train(clip: Any) -> dict[str, np.ndarray]:
    """Train two parameter groups with SGD for ten steps, calling `clip(optimizer)` in each step."""
    w = {name: torch.nn.Parameter(torch.tensor(x)) for name, x in START.items()}
    groups = [
        {"params": [w[name] for name in w if GROUPS[name] == group], "lr": rate}
        for group, rate in RATES.items()
    ]
    optimizer = torch.optim.SGD(groups, momentum=0.9)
    for _ in range(10):
        optimizer.zero_grad()
        loss(w).backward()
        clip(optimizer)
        optimizer.step()
    return {name: p.detach().numpy() for name, p in w.items()}


def jax_train(tx: optax.GradientTransformation) -> Any:
    w = jax.tree.map(jnp.asarray, START)
    state = tx.init(w)

    @jax.jit
    def step(w, state):
        grads = jaxgrad.grad(loss)(w)
        assert grads["c"] is None
        updates, state = tx.update(grads | {"c": jnp.zeros(1)}, state, w)
        return optax.apply_updates(w, updates), state

    for _ in range(10):
        w, state = step(w, state)
    return w


def all_params(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"]]


@pytest.mark.parametrize("norm_type", (2.0, 1.0, 3.0, INF))
def test_all_groups_together(norm_type):
    """Before `optax.partition`, all parameters are clipped by their joint norm."""
    expected = torch_train(lambda optimizer: clip_grad_norm_(all_params(optimizer), 0.7, norm_type))
    groups = optax.partition({k: optax.sgd(lr, 0.9) for k, lr in RATES.items()}, GROUPS)
    result = jax_train(optax.chain(optim.clip_grad_norm(0.7, norm_type), groups))
    for name, x in expected.items():
        np.testing.assert_allclose(result[name], x, rtol=1e-13)


@pytest.mark.parametrize("norm_type", (2.0, 1.0, 3.0, INF))
def test_each_group_by_its_own_norm(norm_type):
    """Inside `optax.partition`, each group is clipped by its own norm, as in a loop in torch."""
    maxima = {"slow": 0.7, "fast": 0.2}

    def clip(optimizer):
        for group, maximum in zip(optimizer.param_groups, maxima.values(), strict=True):
            clip_grad_norm_(group["params"], maximum, norm_type)

    expected = torch_train(clip)
    chains: Any = {
        k: optax.chain(optim.clip_grad_norm(maxima[k], norm_type), optax.sgd(lr, 0.9))
        for k, lr in RATES.items()
    }
    result = jax_train(optax.partition(chains, GROUPS))
    for name, x in expected.items():
        np.testing.assert_allclose(result[name], x, rtol=1e-13)


def test_by_value():
    """`clip_grad_value` clips every element, as torch's `clip_grad_value_` does."""
    expected = torch_train(lambda optimizer: clip_grad_value_(all_params(optimizer), 0.3))
    groups = optax.partition({k: optax.sgd(lr, 0.9) for k, lr in RATES.items()}, GROUPS)
    result = jax_train(optax.chain(optim.clip_grad_value(0.3), groups))
    for name, x in expected.items():
        np.testing.assert_allclose(result[name], x, rtol=1e-13)


@pytest.mark.parametrize("make", (optim.clip_grad_norm, optim.clip_grad_value))
def test_none_and_dtypes(make):
    """None stays None, gradients keep their dtypes, and the maximum may follow a schedule."""
    grads = {"w": jnp.array([3.0, -4.0], "bfloat16"), "b": None, "v": jnp.array([2.0], "float32")}
    tx = make(1.0)
    clipped, state = jax.jit(tx.update)(grads, tx.init(grads))
    assert clipped["b"] is None and jax.tree.leaves(state) == []
    assert (clipped["w"].dtype, clipped["v"].dtype) == (jnp.bfloat16, jnp.float32)
    scheduled: Any = optax.inject_hyperparams(make)(lambda step: 1.0 + step)
    same, _ = scheduled.update(grads, scheduled.init(grads))
    np.testing.assert_array_equal(same["v"], clipped["v"])
