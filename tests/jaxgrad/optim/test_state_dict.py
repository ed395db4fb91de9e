"""Optimizer state converts from and to torch's `state_dict`."""

from __future__ import annotations

import sys
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from jaxgrad import optim
from tests.jaxgrad.optim.shared import GRADS, PARAMS, assert_same, run


def test_a_step_count_from_torch_1_11():
    """A Python step count, as torch before 1.12 stored it, becomes float32."""
    entry = {"step": 3.0, "exp_avg": np.ones(2), "exp_avg_sq": np.ones(2)}
    theirs = {"state": {0: entry}, "param_groups": [{"params": [0]}]}
    state: Any = optim.state_from_torch(optim.adam(), [jnp.ones(2)], theirs)

    assert state.step[0].dtype == np.float32 and state.step[0] == 3


def test_a_parameter_without_state():
    """A missing entry, or one whose momentum buffer is None, converts to the initial state."""
    tx, params = optim.sgd(momentum=0.9, dampening=0.5), [jnp.ones(2)]
    for entries in ({}, {0: {"momentum_buffer": None}}):
        theirs = {"state": entries, "param_groups": [{"params": [0]}]}
        state: Any = optim.state_from_torch(tx, params, theirs)

        assert not state.started[0] and not state.momentum_buffer[0].any()


def test_a_state_without_torch(monkeypatch):
    """Without torch imported, the state is converted to writable numpy arrays and back."""
    monkeypatch.setitem(sys.modules, "torch", None)
    tx, params = optim.sgd(momentum=0.9), [jnp.array([1.0, 2.0])]
    _, state = tx.step([jnp.array([0.5, -0.5])], tx.init(params), params)
    fresh = {"state": {}, "param_groups": [{"params": [0]}]}
    saved = optim.state_to_torch(state, params, fresh)
    buffer = saved["state"][0]["momentum_buffer"]

    assert type(buffer) is np.ndarray and buffer.flags.writeable
    np.testing.assert_array_equal(buffer, [0.5, -0.5])
    assert_same(optim.state_from_torch(tx, params, saved), state)


def test_state_of_groups_in_a_chain():
    """A state inside an optax chain converts by names or by order, and its schedule continues."""
    options = [{"lr": jnp.asarray([0.1] * 3 + [0.2] * 3).__getitem__}, {"weight_decay": 0.3}]
    tx = optim.param_groups(optim.adamw, options, {"u": 0, "w": 1}, lr=0.03)
    params, state = run(tx, GRADS, 3)
    u, w = (torch.zeros(PARAMS[k].shape, dtype=torch.float64, requires_grad=True) for k in "uw")
    theirs = torch.optim.AdamW([{"params": [w]}, {"params": [u]}])
    saved = optim.state_to_torch(state, params, theirs.state_dict(), order=["w", "u"])
    theirs.load_state_dict(saved)
    chained = optax.chain(optax.identity(), tx)
    back = optim.state_from_torch(chained, params, theirs.state_dict(), {"u": 1, "w": 0})

    assert_same(back[1], state)


def test_mismatches_are_explained():
    """The error for a mismatch names the parameter and the remedy."""
    tx = optim.adam()
    w = torch.zeros(2, 1, requires_grad=True)
    theirs = torch.optim.Adam([w])
    w.grad = torch.ones(2, 1)
    theirs.step()
    bare = theirs.state_dict()
    params = {"w": jnp.ones((1, 2))}
    with pytest.raises(
        ValueError, match=r"stores no names, .* of its 1 parameters is 'w' \(the leaf 'w'\): pass"
    ):
        optim.state_from_torch(tx, params, bare)
    with pytest.raises(
        ValueError, match=r"^'w' corresponds to torch's 3, .* torch's indices are \[0\]"
    ):
        optim.state_from_torch(tx, params, bare, {"w": 3})
    with pytest.raises(
        ValueError, match=r"corresponds to torch's 'w', .* parameters. The names are 'v'"
    ):
        optim.state_from_torch(tx, params, bare, order=["v"])
    with pytest.raises(
        ValueError, match=r"exp_avg of 'w' has shape \(2, 1\), here it has \(1, 2\)"
    ):
        optim.state_from_torch(tx, params, bare, {"w": 0})
    with pytest.raises(
        ValueError, match=r"'w' has no 'max_exp_avg_sq', it has \['step', 'exp_avg'"
    ):
        optim.state_from_torch(optim.adam(amsgrad=True), params, bare, {"w": (0, (1, 0))})
