"""`elementwise` applies a rule to every leaf unless its gradient is None or `live` is False."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import optim
from parity_tests.audits.optimizers import OPTIMIZERS
from tests.jaxgrad.optim.shared import GRADS, PARAMS, assert_same, run


def torch_none(name: str, options: dict[str, Any], grads: Any) -> tuple[Any, Any]:
    """Return the parameter (3, -1) after ten steps in torch, and its state."""
    u = torch.tensor([3.0, -1.0], dtype=torch.float64, requires_grad=True)
    torch_class: Any = OPTIMIZERS[name].torch
    optimizer = torch_class([u], **options)
    for i in range(10):
        grad = grads(i)
        u.grad = None if grad is None else torch.tensor(grad, dtype=torch.float64)
        optimizer.step()
    return u.detach().numpy(), optimizer.state[u]


PATTERNS = {
    "always None": lambda i: None,
    "always zero": lambda i: [0.0, 0.0],
    "None at 4-7": lambda i: None if 4 <= i <= 7 else [1.0, -0.5],
    "zero at 4-7": lambda i: [0.0, 0.0] if 4 <= i <= 7 else [1.0, -0.5],
    "None at first": lambda i: None if i < 3 else [1.0, -0.5],
}
DECAYED = {
    "sgd": dict(lr=0.1, weight_decay=0.1, momentum=0.9, dampening=0.3),
    "adamw": dict(lr=0.1, weight_decay=0.1),
    "asgd": dict(lr=0.1, lambd=0.1, t0=2.0),
    "rprop": dict(lr=0.1),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("live", [False, True], ids=["None", "live"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", DECAYED)
def test_none_is_not_zero(name, pattern, live):
    """As in torch, None changes nothing, while a zero gradient decays parameter and momentum."""
    options, grads = DECAYED[name], PATTERNS[pattern]
    theirs, state = torch_none(name, options, grads)
    tx = getattr(optim, name)(**options)
    u = jnp.array([3.0, -1.0])
    first = ours = tx.init(u)
    step = jax.jit(tx.step)
    for i in range(10):
        grad = grads(i)
        if live:  # one compiled program for all steps
            current = jnp.asarray([9.0, 9.0] if grad is None else grad)
            u, ours = step(current, ours, u, live=jnp.asarray(grad is not None))
        else:
            u, ours = step(None if grad is None else jnp.asarray(grad), ours, u)

    np.testing.assert_allclose(u, theirs, rtol=1e-13)
    for field, value in state.items():
        np.testing.assert_allclose(getattr(ours, field), value.numpy(), rtol=1e-12, err_msg=field)
    if not state:
        assert_same(ours, first)


def test_the_update_for_none_is_zero():
    """Where the gradient is None, `update` returns zeros for optax to add."""
    tx: Any = optim.adamw(0.1)
    updates, _ = tx.update({"u": None, "w": GRADS["w"]}, tx.init(PARAMS), PARAMS)

    assert not updates["u"].any() and updates["w"].all()


def test_live_is_a_prefix():
    """One bool in `live` may cover a subtree and may be traced; False freezes it as None does."""
    params = {"trunk": PARAMS, "head": jnp.ones(3)}
    grads = {"trunk": GRADS, "head": jnp.ones(3)}
    tx = optim.adamw(0.1)
    by_none = run(tx, {"trunk": {"u": None, "w": None}, "head": jnp.ones(3)}, params=params)
    known = jax.jit(lambda g, s, p: tx.step(g, s, p, live={"trunk": False, "head": True}))
    state, final = tx.init(params), params
    for _ in range(10):
        final, state = known(grads, state, final)

    assert_same((final, state), by_none)
    live = {"trunk": jnp.array(False), "head": jnp.array(True)}
    assert_same(run(tx, grads, params=params, live=live), by_none, 1e-15)


def test_none_and_odd_leaves():
    """Parameters may be None, integers with float0 gradients, empty arrays and Python numbers."""
    params = {"none": None, "n": jnp.array(3), "empty": jnp.zeros((0, 2)), "x": 2.0}
    grads = {
        "none": None,
        "n": np.zeros((), jax.dtypes.float0),
        "empty": jnp.zeros((0, 2)),
        "x": 1.0,
    }
    tx = optim.sgd(0.5, momentum=0.9)
    out, _ = tx.step(grads, tx.init(params), params)

    assert out["none"] is None and out["n"] == 3 and out["x"] == 1.5


def test_a_gradient_of_the_wrong_shape():
    """The error for a gradient of the wrong shape names the parameter and both shapes."""
    tx = optim.sgd()
    with pytest.raises(
        ValueError, match=r"the gradient of 'u' has shape \(3,\), but the parameter has"
    ):
        tx.step({**GRADS, "u": jnp.ones(3)}, tx.init(PARAMS), PARAMS)
