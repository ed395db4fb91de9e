"""`jaxgrad.optim.muon` matches `torch.optim.Muon`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from jaxgrad import optim
from parity_tests.audits import optimizer_runs as runs
from parity_tests.audits.optimizers import OPTIMIZERS
from tests.jaxgrad.optim.shared import (
    FUZZ_EXPENSIVE,
    AggregatingTests,
    NoneTests,
    draw_learning_rate,
)


STEPS = 100
RECORD = OPTIMIZERS["muon"]
MATRICES = [(5, 7), (24, 10), (16, 16), (1, 6), (40, 33)]


def zeropower(grad: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """Run torch's Newton-Schulz iteration, but in the dtype of the gradient."""
    a, b, c = coefficients
    tall = grad.size(0) > grad.size(1)
    x = grad.T if tall else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


def assert_matches_torch(
    monkeypatch: Any, ours: Any, theirs: Any, schedule: Any, seed: int, steps: int
) -> None:
    """Assert that the error is at most three times that of torch's own bfloat16 iteration."""
    dtypes = ["float32", "float64"] * len(MATRICES)
    params, grads = runs.problem(seed, steps, dtypes, MATRICES)
    rng = np.random.default_rng(seed)
    live: Any = rng.random((steps, len(params))) < 0.8 if seed % 2 else None
    torch_grads, wide = runs.with_none(grads, live), runs.in_float64
    stock = runs.run_torch("muon", theirs, params, torch_grads, schedule)
    with monkeypatch.context() as patch:
        patch.setattr("torch.optim._muon._zeropower_via_newtonschulz", zeropower)
        truth = runs.run_torch("muon", theirs, wide(params), wide(torch_grads), schedule)
    run = runs.run_jax(optim.muon(**ours), params, grads, live, quick=True)

    for i, start in enumerate(params):
        own = np.abs(stock[0][i] - truth[0][i]).max()
        error = np.abs(run[0][i] - truth[0][i]).max()
        moved = np.abs(truth[0][i] - start).max()
        assert error <= max(3 * own, 4 * 2**-8 * moved), f"{MATRICES[i % 5]}: {error}, {own}"
        tight = 1e-12 if dtypes[i] == "float64" else 1e-5
        buffer = stock[1][i]["momentum_buffer"]
        scale = np.abs(buffer).max()
        np.testing.assert_allclose(run[1][i]["momentum_buffer"], buffer, atol=tight * scale, rtol=0)


class TestMuon(AggregatingTests, NoneTests):
    name = "muon"
    make = staticmethod(optim.muon)
    close = 1e-2  # the iteration is in bfloat16


@pytest.mark.sampled(7)
@pytest.mark.parametrize("options", RECORD.configurations, ids=str)
def test_configuration(options, monkeypatch):
    """With every option, 100 steps agree with torch on wide and tall matrices in both dtypes."""
    options = {"lr": 0.03, **options}
    assert_matches_torch(monkeypatch, options, options, None, seed=0, steps=STEPS)


@pytest.mark.parametrize("seed", range(FUZZ_EXPENSIVE))
def test_drawn_options(seed, monkeypatch):
    """Random combinations of options, learning rates and missing gradients agree with torch."""
    rng = np.random.default_rng(seed)
    options = RECORD.draw(rng)
    ours, theirs, schedule = draw_learning_rate(rng, float(10 ** rng.uniform(-3, -1)), 30)
    options = {**options, "lr": ours}, {**options, "lr": theirs}
    assert_matches_torch(monkeypatch, *options, schedule, seed, 30)


def test_parameters_must_be_matrices():
    """`init` raises torch's error for a vector, and names the alternatives."""
    text = "Muon only supports 2D parameters whereas we found a parameter with size: "
    with pytest.raises(ValueError, match=text):
        torch.optim.Muon([torch.zeros(3, requires_grad=True)])
    with pytest.raises(ValueError, match=text + r"\(3,\). Give the others to another optimizer"):
        optim.muon().init({"b": jnp.zeros(3)})


def test_exact_momentum():
    """In exact mode the momentum is bit-identical to torch's, although matrix products are not."""
    params, grads = runs.problem(0, 20, ["float32", "float64"], MATRICES)
    stock = runs.run_torch("muon", {}, params, grads)
    run = runs.run_jax(optim.muon(exact=True), params, grads)

    for ours, theirs in zip(run[1], stock[1], strict=True):
        assert runs.same_bits(ours["momentum_buffer"], theirs["momentum_buffer"])


def test_muon_beside_adamw():
    """In `optax.partition`, Muon updates the matrices as it would alone, and AdamW the rest."""
    params = {"w": jnp.ones((4, 3)), "b": jnp.ones(3)}
    grads = {"w": jnp.arange(12.0).reshape(4, 3), "b": jnp.arange(3.0)}
    muon, adamw = optim.muon(0.1), optim.adamw(0.01)
    tx = optax.partition({"muon": muon, "adamw": adamw}, {"w": "muon", "b": "adamw"})
    updates, _ = jax.jit(tx.update)(grads, tx.init(params), params)
    together: Any = optax.apply_updates(params, updates)

    for name, alone in (("w", muon), ("b", adamw)):
        expected, _ = alone.step(grads[name], alone.init(params[name]), params[name])
        np.testing.assert_allclose(together[name], expected, rtol=1e-14)


@pytest.mark.parametrize(
    "options, dtype",
    [
        (dict(ns_steps=100), "float64"),
        (dict(ns_coefficients=(1.0, 2.0)), "float64"),
        ({}, "complex128"),
    ],
    ids=str,
)
def test_parameters_that_torch_rejects(options, dtype):
    """`init` raises the error that torch raises at the first step, with torch's message."""
    leaf = torch.zeros(2, 2, dtype=getattr(torch, dtype), requires_grad=True)
    leaf.grad = torch.ones_like(leaf)
    with pytest.raises((ValueError, RuntimeError)) as theirs:
        torch.optim.Muon([leaf], **options).step()
    with pytest.raises(type(theirs.value)) as ours:
        RECORD.make(**options).init(jnp.zeros((2, 2), dtype))

    assert str(ours.value).startswith(str(theirs.value)), f"{ours.value}\n{theirs.value}"
