"""Scalars follow torch's promotion rules for Python numbers and 0-dim tensors."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import optim
from parity_tests.audits import optimizer_runs as runs
from parity_tests.audits.optimizers import OPTIMIZERS
from parity_tests.runner.settings import USUAL
from tests.jaxgrad.optim.shared import (
    GRADS,
    HALF,
    assert_same,
    run,
    single_tensor,
    torch_steps,
    torch_training,
)


ADAMS = ["adam", "adamax", "adamw", "nadam", "radam"]


@pytest.mark.sampled(21)
@pytest.mark.parametrize(("name", "dtype"), list(itertools.product(ADAMS, ["float32", "float64"])))
def test_betas_that_are_tensors(name, dtype):
    """Powers, sums and quotients of tensor betas are rounded to their own dtype, as in torch."""
    betas, params, grads = (0.9, 0.99), *runs.problem(6, 30)
    ours = {"lr": 0.03, "betas": tuple(jnp.asarray(x, dtype) for x in betas)}
    tensors = tuple(torch.tensor(x, dtype=getattr(torch, dtype)) for x in betas)
    with runs.ieee_sqrt():  # torch takes roots of these scalars too
        theirs = runs.run_torch(name, single_tensor({"lr": 0.03, "betas": tensors}), params, grads)
    exact = runs.run_jax(OPTIMIZERS[name].make(**ours, exact=True), params, grads)
    fast = runs.run_jax(OPTIMIZERS[name].make(**ours), params, grads, quick=True)

    assert not runs.differing(exact, theirs)
    assert runs.relative_difference(fast[0][HALF:], theirs[0][HALF:], params[HALF:]) < 1e-12


@pytest.mark.sampled(3)
@pytest.mark.parametrize("beta", [0.3, 0.5, 0.9])
def test_betas_that_are_arrays(beta):
    """Array betas give the same results as floats, on both sides of 1/2, where `lerp` switches."""
    by_arrays, _ = run(optim.adam(0.1, (jnp.asarray(beta), jnp.asarray(0.9))), GRADS)

    assert_same(by_arrays, run(optim.adam(0.1, (beta, 0.9)), GRADS)[0], 1e-12)


def in_double(state: Any) -> Any:
    """Convert the scalars of a state to float64."""
    return jax.tree.map(lambda x: x.astype(np.float64) if x.ndim == 0 else x, state)


@pytest.mark.parametrize("name", ["nadam", "asgd"])
def test_scalars_under_a_float64_default_dtype(name):
    """Scalars cast to float64 or loaded from torch stay float64, with torch's bits."""
    options = OPTIMIZERS[name].representative
    rng = np.random.default_rng(0)
    params = [rng.standard_normal(3).astype(np.float32)]
    grads = [rng.standard_normal(3).astype(np.float32) for _ in range(6)]
    torch.set_default_dtype(torch.float64)
    try:
        with runs.ieee_sqrt():
            leaves, optimizer = torch_training(name, options, params)
            torch_steps(leaves, optimizer, [[g] for g in grads[:3]])
            saved, middle = optimizer.state_dict(), leaves[0].detach().numpy().copy()
            saved = {**saved, "state": {0: {k: v.clone() for k, v in saved["state"][0].items()}}}
            torch_steps(leaves, optimizer, [[g] for g in grads[3:]])
    finally:
        torch.set_default_dtype(torch.float32)
    tx = getattr(optim, name)(**options, exact=True)
    fresh = in_double(tx.init({"u": jnp.asarray(params[0])}))
    taken = optim.state_from_torch(tx, {"u": jnp.asarray(middle)}, saved)

    step = jax.jit(tx.step, compiler_options=USUAL)
    for state, p, rest in ((fresh, params[0], grads), (taken, middle, grads[3:])):
        now = {"u": jnp.asarray(p)}
        for g in rest:
            now, state = step({"u": jnp.asarray(g)}, state, now)  # noqa: PLW2901
        assert (now["u"] == leaves[0].detach().numpy()).all()
        for field, value in optimizer.state[leaves[0]].items():
            ours = np.asarray(getattr(state, field)["u"])
            assert runs.same_bits(ours, value.numpy()), field
