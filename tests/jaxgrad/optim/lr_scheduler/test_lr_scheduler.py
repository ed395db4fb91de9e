"""`jaxgrad.optim.lr_scheduler` against torch.optim.lr_scheduler, step by step."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch.optim import lr_scheduler as torch_lr
from torch.optim.swa_utils import SWALR

from jaxgrad.optim import lr_scheduler as ours
from jaxgrad.optim.lr_scheduler._schedule import quotient


STEPS = 300
NAMES = {
    "ConstantLR": ours.constant_lr,
    "CosineAnnealingLR": ours.cosine_annealing_lr,
    "CosineAnnealingWarmRestarts": ours.cosine_annealing_warm_restarts,
    "CyclicLR": ours.cyclic_lr,
    "ExponentialLR": ours.exponential_lr,
    "LambdaLR": ours.lambda_lr,
    "LinearLR": ours.linear_lr,
    "MultiStepLR": ours.multi_step_lr,
    "MultiplicativeLR": ours.multiplicative_lr,
    "OneCycleLR": ours.one_cycle_lr,
    "PolynomialLR": ours.polynomial_lr,
    "SWALR": ours.swalr,
    "StepLR": ours.step_lr,
}
Spec = tuple[
    str, Any
]  # a scheduler's name and arguments; or of a composition, see `torch_scheduler`


# --- both sides of one configuration --------------------------------------------------------------


def torch_scheduler(spec: Spec, optimizer: Any) -> Any:
    name, kwargs = spec
    if name in ("SequentialLR", "ChainedScheduler"):
        parts = [torch_scheduler(part, optimizer) for part in kwargs["schedulers"]]
        if name == "ChainedScheduler":
            return torch_lr.ChainedScheduler(parts)
        return torch_lr.SequentialLR(optimizer, parts, kwargs["milestones"])
    return (SWALR if name == "SWALR" else getattr(torch_lr, name))(optimizer, **kwargs)


def schedule(spec: Spec, lr: Any) -> Any:
    name, kwargs = spec
    if name in ("SequentialLR", "ChainedScheduler"):
        parts = [schedule(part, lr) for part in kwargs["schedulers"]]
        if name == "ChainedScheduler":
            return ours.chained_scheduler(parts)
        return ours.sequential_lr(lr, parts, kwargs["milestones"])
    return NAMES[name](lr, **kwargs)


def torch_run(spec: Spec, lr: Any, steps: int = STEPS) -> tuple[np.ndarray, np.ndarray, Any]:
    """Learning rates and momenta, (steps, groups), as far as torch goes, and what stopped it."""
    lrs = lr if isinstance(lr, list) else [lr]
    params = [torch.nn.Parameter(torch.zeros(1)) for _ in lrs]
    groups = [{"params": [p], "lr": x} for p, x in zip(params, lrs, strict=True)]
    optimizer = torch.optim.SGD(groups, momentum=0.9)
    rates: list[Any] = []
    momenta: list[Any] = []
    stopped = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # SequentialLR steps before the optimizer does
        try:
            scheduler = torch_scheduler(spec, optimizer)
            for _ in range(steps):
                rates.append([group["lr"] for group in optimizer.param_groups])
                momenta.append([group["momentum"] for group in optimizer.param_groups])
                optimizer.step()
                scheduler.step()
        except (NotImplementedError, ValueError, ZeroDivisionError) as error:
            stopped = error
    return np.array(rates), np.array(momenta), stopped


def columns(values: Any, like: np.ndarray) -> np.ndarray:
    values = np.asarray(values, np.float64).reshape(len(like), -1)
    return np.broadcast_to(values, like.shape)


def assert_same(spec: Spec, lr: Any) -> None:
    """Every step within 1e-13 of scale, 1e-12 being what is promised; and the same end."""
    rates, momenta, error = torch_run(spec, lr)
    if not len(rates):
        with pytest.raises(type(error)):
            schedule(spec, lr)(0)
        return
    made, steps = schedule(spec, lr), np.arange(len(rates))
    found = columns(made(steps), rates)
    bound = 1e-13 * np.abs(rates).max()
    np.testing.assert_allclose(found, rates, rtol=0, atol=bound, err_msg=f"{spec}, lr={lr}")
    if spec[0] in ("OneCycleLR", "CyclicLR"):
        found = columns(made.momentum(steps), momenta)
        np.testing.assert_allclose(found, momenta, rtol=0, atol=1e-14, err_msg=f"{spec}")
    if error is not None:
        with pytest.raises(type(error)):
            made(len(rates))
        assert np.isnan(jax.jit(made)(len(rates))).all(), f"torch raises {error!r}: {spec}"


# --- configurations -------------------------------------------------------------------------------


FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda epoch: 0.97**epoch,
    lambda epoch: 1.0 / (1 + epoch // 7),
    lambda epoch: 0.99,
    lambda epoch: 1 - 0.002 * epoch,
]


def draw(rng: np.random.Generator, name: str, groups: int) -> Spec:
    """Arguments of a scheduler, with the odd ones (0, 1, repeated, not in order) among them."""

    def whole(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    def real(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def each(low: float, high: float) -> Any:
        return [real(low, high) for _ in range(groups)] if groups > 1 else real(low, high)

    def among(*values: Any) -> Any:
        return values[whole(0, len(values) - 1)]

    kwargs: dict[str, Any]
    match name:
        case "LambdaLR" | "MultiplicativeLR":
            functions = [among(*FUNCTIONS) for _ in range(groups)]
            kwargs = dict(lr_lambda=functions if groups > 1 else functions[0])
        case "StepLR":
            kwargs = dict(step_size=whole(1, 120), gamma=real(0.1, 1.1))
        case "MultiStepLR":
            milestones = [whole(0, 250) for _ in range(whole(0, 6))]
            kwargs = dict(milestones=milestones + milestones[:2], gamma=real(0.1, 1.1))
        case "ConstantLR":
            kwargs = dict(factor=real(0.01, 1), total_iters=whole(0, 200))
        case "LinearLR":
            ends = dict(start_factor=real(0.001, 1), end_factor=among(0.0, 1.0, real(0, 1)))
            kwargs = dict(**ends, total_iters=whole(0, 320))
        case "ExponentialLR":
            kwargs = dict(gamma=real(0.9, 1.01))
        case "PolynomialLR":
            kwargs = dict(total_iters=whole(0, 320), power=among(1.0, 2.0, 0.5, 0.0, real(0, 5)))
        case "CosineAnnealingLR":
            kwargs = dict(T_max=among(whole(1, 10), whole(1, 320)), eta_min=among(0, real(0, 0.3)))
        case "CosineAnnealingWarmRestarts":
            kwargs = dict(T_0=whole(1, 100), T_mult=whole(1, 4), eta_min=among(0, real(0, 0.1)))
        case "OneCycleLR":
            kwargs = dict(
                max_lr=each(0.01, 1),
                total_steps=whole(1, 400),
                pct_start=real(0, 1),
                anneal_strategy=among("cos", "linear"),
                base_momentum=each(0.1, 0.85),
                max_momentum=each(0.85, 1),
                div_factor=real(1, 50),
                final_div_factor=10 ** real(0, 5),
                three_phase=among(True, False),
            )
        case "CyclicLR":
            kwargs = dict(
                base_lr=each(0.001, 0.1),
                max_lr=each(0.1, 1),
                step_size_up=whole(1, 100),
                step_size_down=among(None, whole(0, 100)),
                mode=among("triangular", "triangular2", "exp_range"),
                gamma=real(0.9, 1),
                scale_fn=among(None, lambda x: 1 / (1 + 0.1 * x), lambda x: 0.97**x),
                scale_mode=among("cycle", "iterations"),
                base_momentum=each(0.1, 0.85),
                max_momentum=each(0.85, 1),
            )
        case _:
            kwargs = dict(
                swa_lr=each(0.001, 0.5),
                anneal_epochs=among(0, 1, whole(0, 300)),
                anneal_strategy=among("cos", "linear"),
            )
    return name, kwargs


def compose(rng: np.random.Generator, groups: int, depth: int = 0) -> Spec:
    """A tree of schedulers, at most three compositions deep."""
    kind = rng.choice(["SequentialLR", "ChainedScheduler", "leaf"], p=[0.3, 0.3, 0.4])
    if (kind == "leaf" and depth) or depth == 3:
        return draw(rng, str(rng.choice(list(NAMES))), groups)
    size = int(rng.integers(1, 4))
    parts = [compose(rng, groups, depth + 1) for _ in range(size)]
    if kind != "SequentialLR":
        return "ChainedScheduler", dict(schedulers=parts)
    milestones = sorted(int(m) for m in rng.integers(0, 250, size - 1))
    return "SequentialLR", dict(schedulers=parts, milestones=milestones)


def initial_lr(rng: np.random.Generator) -> tuple[Any, int]:
    groups = int(rng.choice([1, 1, 2, 3]))
    lrs = [float(x) for x in rng.uniform(0.001, 1, groups)]
    return (lrs if groups > 1 else lrs[0]), groups


# --- every step -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_scheduler(name):
    """Random settings, one to three parameter groups: torch's learning rate and momentum."""
    for seed in range(5):
        rng = np.random.default_rng([seed, *name.encode()])
        lr, groups = initial_lr(rng)
        assert_same(draw(rng, name, groups), lr)


@pytest.mark.parametrize("block", range(4))
def test_schedulers_of_schedulers(block):
    """Random trees of sequential and chained schedulers, torch's odd ones included."""
    for seed in range(8 * block, 8 * block + 8):
        rng = np.random.default_rng(seed)
        lr, groups = initial_lr(rng)
        assert_same(compose(rng, groups), lr)


ODD: dict[str, Spec] = {
    "no iterations, constant": ("ConstantLR", dict(total_iters=0)),
    "no iterations, linear": ("LinearLR", dict(total_iters=0)),
    "no iterations, polynomial": ("PolynomialLR", dict(total_iters=0)),
    "a factor of 0": ("ConstantLR", dict(factor=0.0, total_iters=7)),
    "a milestone at 0": ("MultiStepLR", dict(milestones=[0, 5, 5, 3])),
    "milestones between epochs": ("MultiStepLR", dict(milestones=[2.5, 4.0])),
    "a negative gamma": ("ExponentialLR", dict(gamma=-0.9)),
    "a gamma of 0": ("StepLR", dict(step_size=3, gamma=0.0)),
    "steps of two and a half": ("StepLR", dict(step_size=2.5)),
    "half a cosine in one step": ("CosineAnnealingLR", dict(T_max=1, eta_min=0.05)),
    "a cosine that misses its bottom": ("CosineAnnealingLR", dict(T_max=10.5)),
    "one cycle in one step": ("OneCycleLR", dict(max_lr=1.0, total_steps=1)),
    "no way up": ("OneCycleLR", dict(max_lr=1.0, total_steps=20, pct_start=0.0)),
    "no way down": ("OneCycleLR", dict(max_lr=1.0, total_steps=20, pct_start=1.0)),
    "a first phase of no length": ("OneCycleLR", dict(max_lr=1.0, total_steps=10, pct_start=0.1)),
    "by epochs": ("OneCycleLR", dict(max_lr=1.0, epochs=3, steps_per_epoch=7)),
    "cycles that only rise": (
        "CyclicLR",
        dict(base_lr=0.1, max_lr=1.0, step_size_up=7, step_size_down=0),
    ),
    "cycles that only fall": (
        "CyclicLR",
        dict(base_lr=0.1, max_lr=1.0, step_size_up=0, step_size_down=7),
    ),
    "cycles between steps": ("CyclicLR", dict(base_lr=0.1, max_lr=1.0, step_size_up=2.25)),
    "two of one cycle": (
        "SequentialLR",
        dict(
            schedulers=[
                ("OneCycleLR", dict(max_lr=1.0, total_steps=30)),
                ("OneCycleLR", dict(max_lr=0.5, total_steps=300)),
            ],
            milestones=[20],
        ),
    ),
    "two schedulers at one milestone": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("StepLR", dict(step_size=3)),
                ("CosineAnnealingLR", dict(T_max=30)),
            ],
            milestones=[9, 9],
        ),
    ),
    "milestones out of order": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("StepLR", dict(step_size=3)),
                ("CosineAnnealingLR", dict(T_max=30)),
            ],
            milestones=[20, 9],
        ),
    ),
    "a milestone passed by a scheduler at its end": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("StepLR", dict(step_size=3)),
                ("PolynomialLR", dict(total_iters=5.5)),
            ],
            milestones=[20, 9],
        ),
    ),
    "a milestone passed by a scheduler at zero": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("StepLR", dict(step_size=3)),
                ("PolynomialLR", dict(total_iters=5)),
            ],
            milestones=[20, 9],
        ),
    ),
    "a chain as the second": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("ChainedScheduler", dict(schedulers=[("StepLR", dict(step_size=3))])),
            ],
            milestones=[9],
        ),
    ),
    "one sequence in another": (
        "SequentialLR",
        dict(
            schedulers=[
                (
                    "SequentialLR",
                    dict(
                        schedulers=[
                            ("ExponentialLR", dict(gamma=0.9)),
                            ("SWALR", dict(swa_lr=0.05)),
                        ],
                        milestones=[9],
                    ),
                ),
                ("MultiplicativeLR", dict(lr_lambda=lambda epoch: 0.95)),
            ],
            milestones=[31],
        ),
    ),
    "a milestone that the inner sequence steps over": (  # its second starts before epoch 0
        "SequentialLR",
        dict(
            schedulers=[
                (
                    "SequentialLR",
                    dict(
                        schedulers=[
                            ("ConstantLR", dict(total_iters=30)),
                            ("StepLR", dict(step_size=3)),
                        ],
                        milestones=[2.5],
                    ),
                ),
                ("ExponentialLR", dict(gamma=0.9)),
            ],
            milestones=[40],
        ),
    ),
    "a chain as the first": (
        "SequentialLR",
        dict(
            schedulers=[
                (
                    "ChainedScheduler",
                    dict(
                        schedulers=[
                            ("StepLR", dict(step_size=3, gamma=0.9)),
                            ("MultiStepLR", dict(milestones=[0, 5], gamma=0.8)),
                            ("ConstantLR", dict(factor=0.7, total_iters=4)),
                            ("LinearLR", dict(total_iters=6)),
                            ("PolynomialLR", dict(total_iters=40)),
                            ("ExponentialLR", dict(gamma=0.99)),
                            ("MultiplicativeLR", dict(lr_lambda=lambda epoch: 0.98)),
                            ("CosineAnnealingLR", dict(T_max=1, eta_min=0.01)),
                            ("SWALR", dict(swa_lr=0.2, anneal_epochs=50)),
                        ]
                    ),
                ),
                ("CosineAnnealingWarmRestarts", dict(T_0=7, T_mult=2)),
            ],
            milestones=[31],
        ),
    ),
    "a cosine at its bottom when a warmup ends": (
        "ChainedScheduler",
        dict(
            schedulers=[
                ("CosineAnnealingLR", dict(T_max=7, eta_min=0.05)),
                ("LinearLR", dict(total_iters=7)),
            ]
        ),
    ),
    "averaging when a warmup ends": (
        "ChainedScheduler",
        dict(
            schedulers=[
                ("SWALR", dict(swa_lr=0.05, anneal_epochs=3)),
                ("LinearLR", dict(total_iters=7)),
            ]
        ),
    ),
    "warmup times cosine": (
        "ChainedScheduler",
        dict(
            schedulers=[
                ("LinearLR", dict(total_iters=20)),
                ("CosineAnnealingLR", dict(T_max=70, eta_min=0.01)),
            ]
        ),
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_settings(name):
    """What torch does with them, an exception included."""
    assert_same(ODD[name], 0.3)


@pytest.mark.parametrize("name", [*NAMES, "ReduceLROnPlateau"])
def test_torchs_arguments(name):
    """The same names, order and defaults; the learning rate is in the optimizer's place."""
    theirs = getattr(torch_lr, name, SWALR)
    made = NAMES.get(name, ours.reduce_lr_on_plateau)
    expected, found = (
        [(p.name, p.default) for p in inspect.signature(f).parameters.values()]
        for f in (theirs, made)
    )
    assert found[1:] == expected[1:]


def test_staircases_fall_at_their_steps():
    """At exact multiples too, where the floor of a float quotient, and so optax's, is late."""
    late = 0
    for size in (1, 3, 7, 41, 47, 55, 82, 83, 94, 110, 249, 400):
        steps = np.array([size - 1, size, 3 * size - 1, 3 * size])
        found = ours.step_lr(1.0, step_size=size, gamma=0.5)(steps)
        np.testing.assert_array_equal(found, [1.0, 0.5, 0.25, 0.125], err_msg=f"size {size}")
        with jax.enable_x64(False):
            optax_s = optax.exponential_decay(1.0, size, 0.5, staircase=True)
            late += bool(jnp.any(optax_s(size * jnp.arange(1, 9)) != 0.5 ** jnp.arange(1, 9)))
    assert late > 0, "optax's staircase is right now: say so in step_lr and in the delta table"


# --- eager, jit, vmap, scan; x64 on and off -------------------------------------------------------


FIXED: dict[str, Spec] = {
    name: draw(np.random.default_rng([7, *name.encode()]), name, 1) for name in NAMES
} | {
    name: ODD[name]
    for name in ("two of one cycle", "one sequence in another", "warmup times cosine")
}


@pytest.mark.parametrize("name", FIXED)
def test_transformations(name):
    """A Python int, a numpy one, a traced one, a float that holds one, an array: the same bits."""
    made, steps = schedule(FIXED[name], 0.3), jnp.arange(20)
    expected = [float(made(i)) for i in range(20)]
    ways = {
        "numpy": [made(np.int32(i)) for i in range(20)],
        "float": [made(jnp.float32(i)) for i in range(20)],
        "jit": [jax.jit(made)(i) for i in range(20)],
        "array": made(steps),
        "table": made(steps.reshape(4, 5)).reshape(-1),
        "vmap": jax.jit(jax.vmap(made))(steps),
        "scan": jax.lax.scan(lambda c, i: (c, made(i)), None, steps)[1],
    }
    for way, found in ways.items():
        np.testing.assert_allclose(np.array(found), expected, rtol=1e-15, err_msg=way)


@pytest.mark.parametrize("name", FIXED)
def test_with_x64_off(name):
    """float32, and the float64 value rounded once: also inside of jit and scan."""
    made, steps = schedule(FIXED[name], 0.3), np.arange(100)
    expected = np.asarray(made(steps), np.float32)
    made = schedule(FIXED[name], 0.3)
    with jax.enable_x64(False):
        steps = jnp.asarray(steps)
        ways = {
            "eager": made(steps),
            "jit": jax.jit(made)(steps),
            "scan": jax.lax.scan(lambda c, i: (c, made(i)), None, steps)[1],
        }
    for way, found in ways.items():
        assert found.dtype == jnp.float32, way
        np.testing.assert_array_max_ulp(np.asarray(found), expected, maxulp=1)


def test_division_is_ieee_s():
    """XLA multiplies by the reciprocal of a constant, which is another number for one in three."""
    epochs = np.arange(1000.0)
    for period in (7, 97, 299):

        def exact(t, period=period):
            return quotient(np.pi * t, period)

        expected = np.pi * epochs / period
        np.testing.assert_array_equal(jax.jit(jax.vmap(exact))(epochs), expected)
        np.testing.assert_array_equal([jax.jit(exact)(t) for t in epochs[:100]], expected[:100])
        usual = jax.jit(lambda t, period=period: np.pi * t / period)(epochs)
        assert (np.asarray(usual) != expected).any(), "XLA divides now: quotient may go"


def test_before_the_first_step():
    """A negative step is the first one; torch has none."""
    made = ours.exponential_lr(0.5, 0.9)
    assert made(-3) == made(0) == jax.jit(made)(-1) == 0.5
    cycle = ours.cyclic_lr(0.1, 0.1, 1.0, step_size_up=4)
    assert cycle.momentum(-3) == cycle.momentum(0) == 0.9


def test_the_first_learning_rate_is_not_rounded():
    """No epoch has passed: not even by the way to `eta_min` and back."""
    lengths: list[Any] = [10, 10.5]
    for length in lengths:
        assert ours.cosine_annealing_lr(1e-3, T_max=length, eta_min=0.05)(0) == 1e-3


def test_a_line_that_ends_at_zero():
    """What torch leaves of the learning rate is rounding, and that is not lost."""
    for start, length in ((1.0, 7), (1 / 3, 10), (0.7, 7)):
        spec: Spec = (
            "LinearLR",
            dict(start_factor=start, end_factor=0.0, total_iters=length),
        )
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
        scheduler = torch_scheduler(spec, optimizer)
        for _ in range(length):
            optimizer.step()
            scheduler.step()
        last = optimizer.param_groups[0]["lr"]
        np.testing.assert_allclose(schedule(spec, 0.3)(length), last, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"MultiplicativeLR"}))
def test_no_step_costs_more_than_another(name):
    """No loop over the steps, but for MultiplicativeLR, whose factors are anyone's."""
    made = schedule(FIXED[name], 0.3)
    program = str(jax.make_jaxpr(made)(0))
    assert "while" not in program, program


def test_a_traced_learning_rate():
    """The schedule may be made inside jit, and differentiated by the learning rate."""

    def lr_at(lr, step):
        warmup, cosine = ours.linear_lr(lr, total_iters=4), ours.cosine_annealing_lr(lr, T_max=9)
        return ours.sequential_lr(lr, [warmup, cosine], [5])(step)

    for step in (0, 3, 7):
        expected = lr_at(0.3, step)
        np.testing.assert_allclose(jax.jit(lr_at)(0.3, step), expected, rtol=1e-15)
        np.testing.assert_allclose(jax.grad(lr_at)(0.3, step), expected / 0.3, rtol=1e-15)


def test_a_schedule_that_has_not_begun_has_no_gradient():
    """Before its milestone it is an infinity, which is not to meet the zero of its gradient."""

    def first(lr):
        parts = [ours.constant_lr(lr, factor=0.5), ours.exponential_lr(lr, gamma=1e-3)]
        return ours.sequential_lr(lr, parts, [200])(0)

    assert jax.grad(first)(0.3) == 0.5


@pytest.mark.parametrize("name", NAMES)
def test_last_epoch(name):
    """A schedule that starts later is the same schedule from there on."""
    spec = FIXED[name]
    whole, rest = schedule(spec, 0.3), schedule((name, spec[1] | {"last_epoch": 4}), 0.3)
    np.testing.assert_array_equal(rest(np.arange(9)), whole(np.arange(5, 14)))


# --- in an optimizer ------------------------------------------------------------------------------


@pytest.mark.parametrize("inject", (False, True))
def test_in_optax(inject):
    """As the learning rate of an optax transformation, under jit: torch's training."""
    spec: Spec = ("OneCycleLR", dict(max_lr=0.5, total_steps=20, cycle_momentum=False))
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    scheduler = torch_scheduler(spec, optimizer)
    made = schedule(spec, 0.1)
    tx = optax.inject_hyperparams(optax.sgd)(made, 0.9) if inject else optax.sgd(made, 0.9)
    w = jnp.array([1.0, -2.0])
    state = tx.init(w)

    @jax.jit
    def step(w, state):
        updates, state = tx.update(jax.grad(lambda w: jnp.sum(w**4))(w), state, w)
        return optax.apply_updates(w, updates), state

    for _ in range(20):
        optimizer.zero_grad()
        (p**4).sum().backward()
        optimizer.step()
        scheduler.step()
        w, state = step(w, state)
    np.testing.assert_allclose(np.asarray(w), p.detach().numpy(), rtol=1e-12)


# --- ReduceLROnPlateau ----------------------------------------------------------------------------


def metrics(rng: np.random.Generator) -> np.ndarray:
    """A curve that falls, stays, jumps, and has NaN and infinities in it."""
    values = 3 * np.exp(-np.arange(120) / 20) + rng.normal(size=120) * rng.choice([0, 1e-4, 0.1])
    values = np.where(rng.random(120) < 0.3, np.round(values, 1), values)
    values[rng.random(120) < 0.02] = rng.choice([np.nan, np.inf, -np.inf])
    return values * rng.choice([1.0, -1.0])


@pytest.mark.parametrize("x64", (True, False))
@pytest.mark.parametrize("seed", range(12))
def test_reduce_lr_on_plateau(seed, x64):
    """Random options and metrics, in a scan: the learning rate, the best metric, all counters."""
    rng = np.random.default_rng(seed)
    lr, groups = initial_lr(rng)
    floors = [0.0, 1e-3, float(rng.uniform(0, 0.2))]
    options: dict[str, Any] = dict(
        mode=str(rng.choice(["min", "max"])),
        factor=float(rng.choice([0.1, 0.5, 0.9, 0.0])),
        patience=int(rng.integers(0, 6)),
        threshold=float(rng.choice([1e-4, 0.0, 0.1, 1.0])),
        threshold_mode=str(rng.choice(["rel", "abs"])),
        cooldown=int(rng.integers(0, 5)),
        min_lr=[*floors][:groups] if groups > 1 else float(rng.choice(floors)),
        eps=float(rng.choice([1e-8, 0.0, 1e-3])),
    )
    values = metrics(rng).astype("float64" if x64 else "float32")
    lrs = lr if isinstance(lr, list) else [lr]
    params = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": x} for x in lrs]
    optimizer = torch.optim.SGD(params)
    theirs, expected = torch_lr.ReduceLROnPlateau(optimizer, **options), []
    for value in values:
        theirs.step(float(value))
        counters = (theirs.num_bad_epochs, theirs.cooldown_counter, theirs.last_epoch)
        expected.append((list(theirs.get_last_lr()), theirs.best, *counters))

    plateau = ours.reduce_lr_on_plateau(lr, **options)

    def step(state, value):
        state = plateau.update(state, value)
        return state, state

    with jax.enable_x64(x64):
        _, found = jax.jit(lambda v: jax.lax.scan(step, plateau.init(), v))(jnp.asarray(values))
    rates, best, bad, cooldown, epochs = map(np.array, zip(*expected, strict=True))
    eps = 1e-15 if x64 else 6e-8
    np.testing.assert_allclose(np.asarray(found.lr).reshape(rates.shape), rates, rtol=eps, atol=0)
    np.testing.assert_array_equal(np.asarray(found.best), best)
    for name, want in (
        ("num_bad_epochs", bad),
        ("cooldown_counter", cooldown),
        ("last_epoch", epochs),
    ):
        np.testing.assert_array_equal(np.asarray(getattr(found, name)), want, err_msg=name)


# --- errors ---------------------------------------------------------------------------------------


REFUSED: dict[str, tuple[Spec, str]] = {
    "factor": (("ConstantLR", dict(factor=1.5)), "Got factor=1.5"),
    "negative factor": (("ConstantLR", dict(factor=-1)), "Got factor=-1"),
    "start_factor": (("LinearLR", dict(start_factor=0.0)), "Got start_factor=0.0"),
    "end_factor": (("LinearLR", dict(end_factor=2.0)), "Got end_factor=2.0"),
    "T_0": (("CosineAnnealingWarmRestarts", dict(T_0=0)), "but got 0"),
    "T_0 that is no int": (("CosineAnnealingWarmRestarts", dict(T_0=1.5)), "but got 1.5"),
    "T_mult": (("CosineAnnealingWarmRestarts", dict(T_0=1, T_mult=0)), "but got 0"),
    "eta_min": (("CosineAnnealingWarmRestarts", dict(T_0=1, eta_min="x")), "but got x of type"),
    "total_steps": (("OneCycleLR", dict(max_lr=1.0, total_steps=-3)), "but got -3"),
    "epochs": (("OneCycleLR", dict(max_lr=1.0, epochs=0, steps_per_epoch=2)), "but got 0"),
    "steps_per_epoch": (("OneCycleLR", dict(max_lr=1.0, epochs=2, steps_per_epoch=-1)), "got -1"),
    "no steps": (("OneCycleLR", dict(max_lr=1.0, epochs=2)), "steps_per_epoch=None"),
    "no epochs": (("OneCycleLR", dict(max_lr=1.0, steps_per_epoch=2)), "epochs=None"),
    "pct_start": (("OneCycleLR", dict(max_lr=1.0, total_steps=9, pct_start=2.0)), "but got 2.0"),
    "strategy": (
        ("OneCycleLR", dict(max_lr=1.0, total_steps=9, anneal_strategy="x")),
        "instead got x",
    ),
    "mode": (("CyclicLR", dict(base_lr=0.1, max_lr=1.0, mode="x")), "got mode='x'"),
    "anneal_strategy": (("SWALR", dict(swa_lr=0.1, anneal_strategy="x")), "instead got x"),
    "anneal_epochs": (("SWALR", dict(swa_lr=0.1, anneal_epochs=-1)), "got -1"),
    "lambdas": (
        ("LambdaLR", dict(lr_lambda=[FUNCTIONS[0]] * 3)),
        "Expected 2 lr_lambdas, but got 3",
    ),
    "no function": (("MultiplicativeLR", dict(lr_lambda=3)), "should be a function, but got int"),
    "no schedulers": (("SequentialLR", dict(schedulers=[], milestones=[])), "but got no scheduler"),
    "nothing to chain": (("ChainedScheduler", dict(schedulers=[])), "but got no scheduler"),
    "milestones": (
        ("SequentialLR", dict(schedulers=[FIXED["StepLR"]], milestones=[3])),
        "number of schedulers 1 and the number of milestones to be equal to 1",
    ),
    "max_lr": (
        ("OneCycleLR", dict(max_lr=[1.0] * 3, total_steps=9)),
        "has 3 values, param_groups has 2",
    ),
    "base_lr": (
        ("CyclicLR", dict(base_lr=[1.0] * 3, max_lr=1.0)),
        "has 3 values, param_groups has 2",
    ),
    "swa_lr": (("SWALR", dict(swa_lr=[1.0] * 3)), "has 3 values, param_groups has 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_refuses(name):
    """The same exception with torch's words, and the value that was given."""
    spec, value = REFUSED[name]
    params = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": 0.1} for _ in range(2)]
    optimizer = torch.optim.SGD(params, momentum=0.9)
    with pytest.raises((TypeError, ValueError, IndexError)) as theirs:
        torch_scheduler(spec, optimizer)
    kind = (
        ValueError if name == "nothing to chain" else theirs.type
    )  # torch: IndexError by accident
    with pytest.raises(kind, match=re.escape(value)) as found:
        schedule(spec, [0.1, 0.1])
    words = re.split(r"[.,:]|0 |got", str(theirs.value))[0]
    assert name == "nothing to chain" or words in str(found.value)


def test_a_plateau_that_torch_refuses():
    """Its factor, its modes, and a list of another length."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    refused: list[tuple[dict[str, Any], str, str]] = [
        (dict(factor=1.0), "Factor should be < 1.0.", "Got factor=1.0"),
        (dict(mode="x"), "mode x is unknown!", "'min' or 'max'"),
        (dict(threshold_mode="x"), "threshold mode x is unknown!", "'rel' or 'abs'"),
        (dict(min_lr=[0.1, 0.2]), "min_lrs, got 2", "expected 1 "),
    ]
    for kwargs, words, value in refused:
        with pytest.raises(ValueError, match=re.escape(words)):
            torch_lr.ReduceLROnPlateau(optimizer, **kwargs)
        with pytest.raises(ValueError, match=re.escape(words)) as found:
            ours.reduce_lr_on_plateau([0.1], **kwargs)
        assert value in str(found.value)


def test_what_cannot_be_put_together():
    """A plateau, something else, another learning rate, a schedule that starts later."""
    one, plateau = ours.step_lr(0.1, 3), ours.reduce_lr_on_plateau(0.1)
    makes: list[Callable[[Any], Any]] = [
        ours.chained_scheduler,
        lambda parts: ours.sequential_lr(0.1, parts, [5]),
    ]
    for make in makes:
        with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau`.* index 1"):
            make([one, plateau])
        with pytest.raises(TypeError, match="index 1 should be a schedule .*, but got function"):
            make([one, lambda step: 0.1])
        with pytest.raises(ValueError, match=r"index 1 with lr=0.2, .* different from lr=0.1"):
            make([one, ours.step_lr(0.2, 3)])
        with pytest.raises(ValueError, match="the one at index 1 has last_epoch=3"):
            make([one, ours.step_lr(0.1, 3, last_epoch=3)])


def test_settings_that_divide_by_zero():
    """torch finds out at a later step; what can never work is refused at once."""
    with pytest.raises(ValueError, match="step_size must not be 0, got 0"):
        ours.step_lr(0.1, 0)
    with pytest.raises(ValueError, match="T_max must not be 0, got 0"):
        ours.cosine_annealing_lr(0.1, 0)
    with pytest.raises(ValueError, match="Invalid learning rate: -0.1"):
        ours.step_lr(-0.1, 3)
    with pytest.raises(ValueError, match="last_epoch must be -1 or more, got -2"):
        ours.step_lr(0.1, 3, last_epoch=-2)


def test_after_the_last_step():
    """One cycle ends: torch's words, also in a sequence; no momentum where none is cycled."""
    made = ours.one_cycle_lr(0.1, max_lr=1.0, total_steps=10, cycle_momentum=False)
    words = "Tried to step 11 times. The specified number of total steps is 10"
    for step in (11, np.array([3, 50])):
        with pytest.raises(ValueError, match=re.escape(words)):
            made(step)
    cycled = ours.one_cycle_lr(0.1, max_lr=1.0, total_steps=10)
    for at in (jax.jit(cycled), jax.jit(cycled.momentum)):  # which cannot raise
        np.testing.assert_array_equal(np.isnan(at(np.array([0, 10, 11]))), [False, False, True])
    with pytest.raises(ValueError, match=re.escape(words)):
        ours.sequential_lr(0.1, [ours.constant_lr(0.1), made], [5])(16)
    parts = [ours.constant_lr(0.1), ours.chained_scheduler([ours.constant_lr(0.1)])]
    with pytest.raises(NotImplementedError, match="ChainedScheduler at a milestone; put it first"):
        ours.sequential_lr(0.1, parts, [5])(5)
    with pytest.raises(ZeroDivisionError, match="divided by factor=0.0"):
        ours.constant_lr(0.1, factor=0.0)(5)
    with pytest.raises(ZeroDivisionError, match="pct_start \\* total_steps - 1 = 0.1 \\* 10 - 1"):
        ours.one_cycle_lr(0.1, max_lr=1.0, total_steps=10, pct_start=0.1)
    with pytest.raises(ZeroDivisionError, match="got step_size_up=0, step_size_down=3"):
        ours.cyclic_lr(0.1, 0.1, 1.0, step_size_up=0, step_size_down=3)
    for none in (made, ours.cyclic_lr(0.1, 0.1, 1.0, cycle_momentum=False)):
        with pytest.raises(ValueError, match="because cycle_momentum=False"):
            none.momentum(3)


UNTRACEABLE: dict[str, Callable[[Any], Any]] = {
    "min": lambda epoch: min(1.0, epoch / 3),
    "if": lambda epoch: 0.1 if epoch < 3 else 1.0,
    "index": lambda epoch: [1.0, 0.5][epoch],
    "float": float,
    "numpy": np.cos,
}


@pytest.mark.parametrize("name", UNTRACEABLE)
def test_functions_must_be_traceable(name):
    """The error names the argument, and says what to write instead; eagerly too."""
    function = UNTRACEABLE[name]
    for make in (
        lambda: ours.lambda_lr(0.1, function),
        lambda: ours.multiplicative_lr(0.1, function),
    ):
        with pytest.raises(TypeError, match=r"lr_lambda must be traceable.* jnp\.where for `if`"):
            make()(3)
    with pytest.raises(TypeError, match=r"scale_fn must be traceable"):
        ours.cyclic_lr(0.1, 0.1, 1.0, scale_fn=function)(3)


def test_the_learning_rate_comes_first():
    """In a chain too, if one likes."""
    parts = [ours.constant_lr(0.1), ours.step_lr(0.1, 3)]
    chain: Any = ours.chained_scheduler
    first, last = (chain(*args)(np.arange(9)) for args in ((0.1, parts), (parts, 0.1)))
    np.testing.assert_array_equal(first, last)
