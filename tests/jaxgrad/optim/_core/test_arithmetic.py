"""The fast arithmetic rounds weight decay as torch does, and keeps infinities."""

from __future__ import annotations

import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.audits import optimizer_runs as runs
from parity_tests.audits.optimizers import OPTIMIZERS
from tests.jaxgrad.optim.shared import single_tensor


DTYPES = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("as_optax", [False, True])
@pytest.mark.parametrize("name", ["adam", "nadam", "radam", "asgd"])
def test_small_steps_of_large_parameters(name, as_optax):
    """Decay is rounded before the step is added; a fused sum would be off by 1e-11 of the step."""
    decay = {"lambd": 0.01} if name == "asgd" else {"weight_decay": 0.01}
    options = {"lr": 1e-5, **decay}
    if name != "asgd":
        options["decoupled_weight_decay"] = True
    params, grads = runs.problem(7, 30, ["float64"])
    params = [30 * p for p in params]
    ours = runs.run_jax(OPTIMIZERS[name].make(**options), params, grads, as_optax=as_optax)
    with runs.ieee_sqrt():
        theirs = runs.run_torch(name, single_tensor(options), params, grads)

    assert runs.relative_difference(ours[0], theirs[0], params) < 1e-12


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("name", "dtype"),
    list(itertools.product(["adamw", "nadam", "radam", "asgd"], DTYPES)),
)
def test_parameters_that_are_not_finite(name, dtype):
    """An infinite parameter that decays stays infinite, and a NaN stays NaN, as in torch.

    The exception is the `update` of AdamW and NAdam, which skips a clamp to save FLOPs: infinite
    parameters become NaN.
    """
    options: dict[str, Any] = {
        "adamw": {"lr": 0.1, "weight_decay": 0.5},
        "asgd": {"lambd": 0.5},
    }.get(name, {"lr": 0.1, "weight_decay": 0.5, "decoupled_weight_decay": True})
    params = [np.array([np.inf, -np.inf, np.nan, 1.0, 6e4]).astype(jnp.dtype(dtype))]
    grads = [[np.ones(5, jnp.dtype(dtype))]] * 2
    theirs = runs.run_torch(name, single_tensor(options), params, grads)[0]
    for exact, as_optax in ((True, False), (False, False), (False, True)):
        tx = OPTIMIZERS[name].make(**options, exact=exact)
        ours = runs.run_jax(tx, params, grads, as_optax=as_optax)[0]
        if as_optax and name in ("adamw", "nadam") and dtype in ("float32", "float64"):
            theirs = [np.where(np.isfinite(x), x, np.nan) for x in theirs]

        rtol = 4 * float(jnp.finfo(dtype).eps)
        for a, b in zip(runs.in_float64(ours), runs.in_float64(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol)
