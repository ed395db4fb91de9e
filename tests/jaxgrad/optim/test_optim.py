"""`jaxgrad.optim` against torch.optim: the same gradients, the same parameters and state."""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import optim
from parity_tests.audits import optimizer_runs as optimizers
from parity_tests.audits.optimizer_runs import CONFIGURATIONS, ONE_EACH, SHAPES, different, problem


STEPS = 100
HALF = len(SHAPES)  # the first half of a problem's leaves are float32, the others float64
FUZZ = int(os.environ.get("OPTIM_FUZZ", "12"))  # `make fuzz` runs more


def make(name: str, **options: Any) -> optim.Transformation:
    return getattr(optim, name)(**options)


def against_torch(name: str, options: Any, seed: int, steps: int, live: Any = None) -> None:
    """Bit for bit in exact mode, and close in the fast one, both ways of moving."""
    ours, theirs = options
    params, grads = problem(seed, steps)
    given = optimizers.with_none(grads, live)
    torch_run = functools.partial(
        optimizers.run_torch, name, theirs["options"], schedule=theirs["schedule"]
    )
    with optimizers.ieee_sqrt():
        ieee = torch_run(params, given)
    stock = torch_run(params, given)
    wide = optimizers.in_float64
    oracle = torch_run(wide(params), wide(given))

    exact = optimizers.run_jax(make(name, **ours, exact=True), params, grads, live)
    fast = optimizers.run_jax(make(name, **ours), params, grads, live)

    assert not different(exact, ieee)
    assert optimizers.apart(fast[0][HALF:], stock[0][HALF:], params[HALF:]) < 1e-12
    assert not optimizers.too_far(fast, stock, ieee, oracle)


def plain(options: dict[str, Any]) -> Any:
    return options, dict(options={**options, "foreach": False}, schedule=None)


# --- every option, and options drawn at random ----------------------------------------------------


@pytest.mark.parametrize(
    "name, options",
    [(name, options) for name, listed in CONFIGURATIONS.items() for options in listed],
    ids=str,
)
def test_an_option(name, options):
    """100 steps: every bit of parameters and state in exact mode, rounding in the fast one."""
    against_torch(name, plain({"lr": 0.03, **options}), seed=0, steps=STEPS)


@pytest.mark.parametrize("seed", range(FUZZ))
def test_drawn_options(seed):
    """Options together, the rate a number, a tensor or a schedule, gradients that come and go."""
    rng = np.random.default_rng(seed)
    name, options = optimizers.drawn(rng)
    live = rng.random((30, 2 * HALF)) < 0.8 if rng.random() < 0.5 else None
    lr, ours, theirs, schedule = options.pop("lr"), None, None, None
    kind = rng.choice(["number", "float32", "float64", "schedule"])
    if kind == "number":
        ours = theirs = lr
    elif kind == "schedule":
        rates = lr * rng.uniform(0.5, 1.5, 30)
        theirs, schedule, ours = lr, rates.tolist().__getitem__, jnp.asarray(rates).__getitem__
    else:
        ours, theirs = jnp.asarray(lr, kind), torch.tensor(lr, dtype=getattr(torch, kind))
    settings = (
        {**options, "lr": ours},
        dict(options={**options, "lr": theirs, "foreach": False}, schedule=schedule),
    )
    against_torch(name, settings, seed, 30, live)


@pytest.mark.parametrize("as_optax", [False, True])
@pytest.mark.parametrize("name", ["adam", "nadam", "radam", "asgd"])
def test_small_steps_of_large_parameters(name, as_optax):
    """What decays is rounded before the step is added: a fused sum is 1e-11 of the way off."""
    decay = {"lambd": 0.01} if name == "asgd" else {"weight_decay": 0.01}
    options = {"lr": 1e-5, **decay}
    if name != "asgd":
        options["decoupled_weight_decay"] = True
    params, grads = problem(7, 30, ["float64"])
    params = [30 * p for p in params]
    ours = optimizers.run_jax(make(name, **options), params, grads, as_optax=as_optax)
    with optimizers.ieee_sqrt():
        theirs = optimizers.run_torch(name, {**options, "foreach": False}, params, grads)

    assert optimizers.apart(ours[0], theirs[0], params) < 1e-12


@pytest.mark.parametrize("name", ONE_EACH)
def test_as_optax(name):
    """`update` and `apply_updates` go where torch goes."""
    options = ONE_EACH[name]
    params, grads = problem(1, 30)
    ours = optimizers.run_jax(make(name, **options), params, grads, as_optax=True)
    theirs = optimizers.run_torch(name, options, params, grads)

    assert optimizers.apart(ours[0][HALF:], theirs[0][HALF:], params[HALF:]) < 1e-12
    assert optimizers.apart(ours[0], theirs[0], params) < 1e-5


@pytest.mark.parametrize("name", ONE_EACH)
def test_complex_parameters(name):
    """The parts of a complex number are two numbers."""
    params, grads = problem(2, 20, ["complex128"] * 3)
    ours = optimizers.run_jax(make(name, **ONE_EACH[name]), params, grads)
    theirs = optimizers.run_torch(name, ONE_EACH[name], params, grads)

    assert optimizers.apart(ours[0], theirs[0], params) < 1e-12


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ONE_EACH)
def test_half_precision(name, dtype):
    """No further from the float64 run than torch's own, three times; the dtype stays."""
    options = ONE_EACH[name]
    if "eps" in inspect.signature(getattr(optim, name)).parameters:
        options = {**options, "eps": 1e-3}  # 1e-8 is zero in float16
    half = jnp.dtype(dtype)
    params, grads = problem(3, 20, ["float32"] * 2)
    params = [p.astype(half) for p in params]
    grads = [[np.clip(g, -5, 5).astype(half) for g in step] for step in grads]
    ours = optimizers.run_jax(make(name, **options), params, grads)[0]
    theirs = optimizers.run_torch(name, {**options, "foreach": False}, params, grads)[0]
    wide = optimizers.in_float64
    truth = optimizers.run_torch(name, options, wide(params), wide(grads))[0]

    assert all(a.dtype == half for a in ours)
    for a, b, c in zip(wide(ours), wide(theirs), truth, strict=True):
        floor = 4 * float(jnp.finfo(half).eps) * np.max(np.abs(c))
        assert np.max(np.abs(a - c)) <= max(3 * np.max(np.abs(b - c)), floor)


@pytest.mark.parametrize("name", ONE_EACH)
def test_gradients_that_are_not_finite(name):
    """Infinities and NaNs end up where torch's do, and the other elements do not feel them."""
    options = {**ONE_EACH[name], "weight_decay": 0.0}
    if name == "rprop":
        del options["weight_decay"]
    params, grads = problem(5, 8)
    for step, value in ((2, np.inf), (4, np.nan), (5, -np.inf)):
        for grad in grads[step]:
            grad.reshape(-1)[step : step + 1] = value
    with optimizers.ieee_sqrt():
        theirs = optimizers.run_torch(name, plain(options)[1]["options"], params, grads)
    exact = optimizers.run_jax(make(name, **options, exact=True), params, grads)
    fast = optimizers.run_jax(make(name, **options), params, grads)

    assert not different(exact, theirs)
    for a, b in zip(fast[0], theirs[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


@pytest.mark.parametrize("name", ONE_EACH)
def test_signs_of_zero(name):
    """Of parameters, gradients and what comes of them, from the first step on."""
    zeros = np.array([0.0, 0.0, -0.0, -0.0, 1.0, 1.0]), np.array([0.0, -0.0, 0.0, -0.0, 0.0, -0.0])
    params, grads = [zeros[0]], [[zeros[1]]] * 3
    with optimizers.ieee_sqrt():
        theirs = optimizers.run_torch(name, plain(ONE_EACH[name])[1]["options"], params, grads)
    ours = optimizers.run_jax(make(name, **ONE_EACH[name], exact=True), params, grads)

    assert not different(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["adam", "adamax", "adamw", "nadam", "radam"])
def test_betas_that_are_tensors(name, dtype):
    """Their powers, sums and quotients are rounded to their own dtype, as torch's are."""
    betas, params, grads = (0.9, 0.99), *problem(6, 30)
    ours = {"lr": 0.03, "betas": tuple(jnp.asarray(x, dtype) for x in betas)}
    tensors = tuple(torch.tensor(x, dtype=getattr(torch, dtype)) for x in betas)
    with optimizers.ieee_sqrt():  # also of the scalars, which are tensors here
        theirs = optimizers.run_torch(
            name, {"lr": 0.03, "betas": tensors, "foreach": False}, params, grads
        )
    exact = optimizers.run_jax(make(name, **ours, exact=True), params, grads)
    fast = optimizers.run_jax(make(name, **ours), params, grads)

    assert not different(exact, theirs)
    assert optimizers.apart(fast[0][HALF:], theirs[0][HALF:], params[HALF:]) < 1e-12


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["adamw", "nadam", "radam", "asgd"])
def test_parameters_that_are_not_finite(name, dtype):
    """An infinite parameter that decays stays infinite, and a NaN stays one.

    But for `update` of AdamW and NAdam, whose flops are optax's: there it is NaN.
    """
    options: dict[str, Any] = {
        "adamw": {"lr": 0.1, "weight_decay": 0.5},
        "asgd": {"lambd": 0.5},
    }.get(name, {"lr": 0.1, "weight_decay": 0.5, "decoupled_weight_decay": True})
    params = [np.array([np.inf, -np.inf, np.nan, 1.0, 6e4]).astype(jnp.dtype(dtype))]
    grads = [[np.ones(5, jnp.dtype(dtype))]] * 2
    theirs = optimizers.run_torch(name, {**options, "foreach": False}, params, grads)[0]
    for exact, as_optax in ((True, False), (False, False), (False, True)):
        tx = make(name, **options, exact=exact)
        ours = optimizers.run_jax(tx, params, grads, as_optax=as_optax)[0]
        if as_optax and name in ("adamw", "nadam") and dtype in ("float32", "float64"):
            theirs = [np.where(np.isfinite(x), x, np.nan) for x in theirs]

        rtol = 4 * float(jnp.finfo(dtype).eps)
        for a, b in zip(optimizers.in_float64(ours), optimizers.in_float64(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sum_halfway_between_two_numbers(dtype):
    """To the even one; but a product just short of it decides, though a wider sum hides it."""
    eps = np.finfo(dtype).eps
    odd_and_even = 1 + eps * np.arange(16)
    params = [np.asarray(np.concatenate([odd_and_even, -odd_and_even]), dtype)]
    for rate, move in (2.0, eps / 4), (1 + eps, (1 - eps) * eps / 2):
        for sign in (1, -1):
            grads = [[np.full_like(params[0], sign * move)]]
            theirs = optimizers.run_torch("sgd", {"lr": rate, "foreach": False}, params, grads)
            ours = optimizers.run_jax(make("sgd", lr=rate, exact=True), params, grads)

            assert not different(ours, theirs)


def test_exact_with_x64_off():
    """The same bits of float32 where float64 is off: the scalars are doubles all the same."""
    params, grads = problem(4, 20, ["float32"] * 4)
    for name in ("adam", "nadam", "asgd"):
        with optimizers.ieee_sqrt():
            theirs = optimizers.run_torch(name, plain(ONE_EACH[name])[1]["options"], params, grads)
        with jax.enable_x64(False):
            ours = optimizers.run_jax(make(name, **ONE_EACH[name], exact=True), params, grads)

        assert not different(ours, theirs), name
