"""`jaxgrad.optim.adafactor` matches `torch.optim.Adafactor`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import jaxgrad
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
RECORD = OPTIMIZERS["adafactor"]
SHAPES = [(7, 5), (33,), (), (2, 3, 4), (1, 6)]


def assert_matches_torch(ours: Any, theirs: Any, schedule: Any, seed: int, steps: int) -> None:
    """Assert that parameters and states differ from torch's only by rounding."""
    rng = np.random.default_rng(seed)
    dtypes = [str(rng.choice(["float32", "float64"])) for _ in SHAPES * 2]
    params, grads = runs.problem(seed, steps, dtypes, SHAPES)
    live: Any = rng.random((steps, len(params))) < 0.8 if seed % 2 else None
    torch_grads, wide = runs.with_none(grads, live), runs.in_float64

    def in_torch(params: Any, grads: Any, **options: Any) -> Any:
        return runs.run_torch("adafactor", {**theirs, **options}, params, grads, schedule)

    stock = in_torch(params, torch_grads)
    eps1, eps2 = theirs.get("eps", (None, 1e-3))
    if eps1 is None:  # torch uses the epsilon of the first parameter with a gradient
        eps1 = float(np.finfo(dtypes[0]).eps)
    oracle = in_torch(wide(params), wide(torch_grads), eps=(eps1, eps2))
    run = runs.run_jax(optim.adafactor(**ours), params, grads, live, quick=True)
    high = [i for i, dtype in enumerate(dtypes) if dtype == "float64"]

    assert (
        runs.relative_difference(*([x[i] for i in high] for x in (run[0], stock[0], params)))
        < 1e-12
    )
    for i, state in enumerate(stock[1]):
        assert state.keys() == run[1][i].keys()
        for name, value in state.items():
            tight = 1e-12 if dtypes[i] == "float64" else 1e-5
            np.testing.assert_allclose(run[1][i][name], value, rtol=tight, atol=0)
    if live is None:
        other = in_torch(params, torch_grads, foreach=True)
        low = [i for i, dtype in enumerate(dtypes) if dtype == "float32"]
        jax_run, truth, *torch_runs = [
            ([r[0][i] for i in low], [{}] * len(low)) for r in (run, oracle, stock, other)
        ]
        assert not runs.excess_errors(jax_run, truth, torch_runs)


class TestAdafactor(AggregatingTests, NoneTests):
    name = "adafactor"
    make = staticmethod(optim.adafactor)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("options", RECORD.configurations, ids=str)
def test_configuration(options):
    """With every option, 100 steps agree with torch on vectors and matrices in both dtypes."""
    options = {"lr": 0.03, **options}
    assert_matches_torch(options, options, None, seed=2, steps=STEPS)


@pytest.mark.parametrize("seed", range(FUZZ_EXPENSIVE))
def test_drawn_options(seed):
    """Random combinations of options, learning rates and missing gradients agree with torch."""
    rng = np.random.default_rng(seed)
    options = RECORD.draw(rng)
    ours, theirs, schedule = draw_learning_rate(rng, float(10 ** rng.uniform(-3, 0)), 30)
    assert_matches_torch({**options, "lr": ours}, {**options, "lr": theirs}, schedule, seed, 30)


def test_the_default_epsilon_is_that_of_the_first_gradient():
    """Without eps[0] all parameters use the machine epsilon of the first one with a gradient."""
    params = [np.ones(2, "float32"), np.ones(2, "float64")]
    small = [np.full(2, 1e-9, "float32"), np.full(2, 1e-9)]
    moves = []
    for current in (small, [None, small[1]]):
        stock = runs.run_torch("adafactor", {}, params, [current])
        live = [[g is not None for g in current]]
        ours = runs.run_jax(optim.adafactor(), params, [small], live)
        np.testing.assert_allclose(ours[0][1], stock[0][1], rtol=1e-15)
        tx, now = optim.adafactor(), [jnp.asarray(p) for p in params]
        by_none, _ = tx.step(current, tx.init(now), now)
        np.testing.assert_array_equal(by_none[1], ours[0][1])
        moves.append(1 - ours[0][1][0])

    assert moves[0] < 0.1 * moves[1], moves


def test_an_unused_parameter_does_not_decay():
    """`jaxgrad.value_and_grad` gives an unused parameter None, so Adafactor does not decay it."""
    tx = optim.adafactor(lr=0.1, weight_decay=0.1)
    params = {"u": jnp.ones(2), "w": jnp.ones((2, 3))}
    _, grads = jaxgrad.value_and_grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    out, state = tx.step(grads, tx.init(params), params)

    assert (out["u"] == 1).all() and state.step["u"] == 0 and state.step["w"] == 1


@pytest.mark.parametrize("options, dtype", [({}, "complex128")], ids=str)
def test_parameters_that_torch_rejects(options, dtype):
    """`init` raises the error that torch raises at the first step, with torch's message."""
    leaf = torch.zeros(2, 2, dtype=getattr(torch, dtype), requires_grad=True)
    leaf.grad = torch.ones_like(leaf)
    with pytest.raises((ValueError, RuntimeError)) as theirs:
        torch.optim.Adafactor([leaf], **options).step()
    with pytest.raises(type(theirs.value)) as ours:
        RECORD.make(**options).init(jnp.zeros((2, 2), dtype))

    assert str(ours.value).startswith(str(theirs.value)), f"{ours.value}\n{theirs.value}"
