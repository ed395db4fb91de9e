"""Tests that every scheduler passes, as base classes, and the comparison with torch they share."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler as torch_lr
from torch.optim.swa_utils import SWALR

from jaxgrad.optim import lr_scheduler as jax_lr
from parity_tests.runner.settings import USUAL


STEPS = 300
NAMES = {
    "ConstantLR": jax_lr.constant_lr,
    "CosineAnnealingLR": jax_lr.cosine_annealing_lr,
    "CosineAnnealingWarmRestarts": jax_lr.cosine_annealing_warm_restarts,
    "CyclicLR": jax_lr.cyclic_lr,
    "ExponentialLR": jax_lr.exponential_lr,
    "LambdaLR": jax_lr.lambda_lr,
    "LinearLR": jax_lr.linear_lr,
    "MultiStepLR": jax_lr.multi_step_lr,
    "MultiplicativeLR": jax_lr.multiplicative_lr,
    "OneCycleLR": jax_lr.one_cycle_lr,
    "PolynomialLR": jax_lr.polynomial_lr,
    "SWALR": jax_lr.swalr,
    "StepLR": jax_lr.step_lr,
}
# A scheduler's name and arguments; those of a composition hold the Specs of its schedulers.
Spec = tuple[str, Any]


def torch_scheduler(spec: Spec, optimizer: Any) -> Any:
    """Construct torch's scheduler."""
    name, kwargs = spec
    if name in ("SequentialLR", "ChainedScheduler"):
        parts = [torch_scheduler(part, optimizer) for part in kwargs["schedulers"]]
        if name == "ChainedScheduler":
            return torch_lr.ChainedScheduler(parts)
        return torch_lr.SequentialLR(optimizer, parts, kwargs["milestones"])
    return (SWALR if name == "SWALR" else getattr(torch_lr, name))(optimizer, **kwargs)


def schedule(spec: Spec, lr: Any) -> Any:
    """Construct the schedule of `jaxgrad.optim.lr_scheduler`."""
    name, kwargs = spec
    if name in ("SequentialLR", "ChainedScheduler"):
        parts = [schedule(part, lr) for part in kwargs["schedulers"]]
        if name == "ChainedScheduler":
            return jax_lr.chained_scheduler(parts)
        return jax_lr.sequential_lr(lr, parts, kwargs["milestones"])
    return NAMES[name](lr, **kwargs)


def torch_run(spec: Spec, lr: Any, steps: int = STEPS) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return torch's rates and momenta, (steps, groups), and the error that ended the run."""
    lrs = lr if isinstance(lr, list) else [lr]
    params = [torch.nn.Parameter(torch.zeros(1)) for _ in lrs]
    groups = [{"params": [p], "lr": x} for p, x in zip(params, lrs, strict=True)]
    optimizer = torch.optim.SGD(groups, momentum=0.9)
    rates: list[Any] = []
    momenta: list[Any] = []
    raised = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # SequentialLR steps before the optimizer
        try:
            scheduler = torch_scheduler(spec, optimizer)
            for _ in range(steps):
                rates.append([group["lr"] for group in optimizer.param_groups])
                momenta.append([group["momentum"] for group in optimizer.param_groups])
                optimizer.step()
                scheduler.step()
        except (NotImplementedError, ValueError, ZeroDivisionError) as error:
            raised = error
    return np.array(rates), np.array(momenta), raised


def columns(values: Any, like: np.ndarray) -> np.ndarray:
    values = np.asarray(values, np.float64).reshape(len(like), -1)
    return np.broadcast_to(values, like.shape)


def assert_same(spec: Spec, lr: Any) -> None:
    """Assert torch's learning rate and momentum at every step, and torch's error at the end.

    The bound is 1e-13 of the scale; the documentation promises 1e-12.
    """
    rates, momenta, error = torch_run(spec, lr)
    if not len(rates):
        with pytest.raises(type(error)):
            schedule(spec, lr)(0)
        return
    jax_schedule, steps = schedule(spec, lr), np.arange(len(rates))
    result = columns(jax_schedule(steps), rates)
    bound = 1e-13 * np.abs(rates).max()
    np.testing.assert_allclose(result, rates, rtol=0, atol=bound, err_msg=f"{spec}, lr={lr}")
    if spec[0] in ("OneCycleLR", "CyclicLR"):
        result = columns(jax_schedule.momentum(steps), momenta)
        np.testing.assert_allclose(result, momenta, rtol=0, atol=1e-14, err_msg=f"{spec}")
    if error is not None:
        with pytest.raises(type(error)):
            jax_schedule(len(rates))
        assert np.isnan(jax.jit(jax_schedule)(len(rates))).all(), f"torch raises {error!r}: {spec}"


FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda epoch: 0.97**epoch,
    lambda epoch: 1.0 / (1 + epoch // 7),
    lambda epoch: 0.99,
    lambda epoch: 1 - 0.002 * epoch,
]


def draw(rng: np.random.Generator, name: str, groups: int) -> Spec:
    """Draw a scheduler's arguments, including odd ones (0, 1, repeated, unordered)."""

    def whole(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    def real(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def per_group(low: float, high: float) -> Any:
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
                max_lr=per_group(0.01, 1),
                total_steps=whole(1, 400),
                pct_start=real(0, 1),
                anneal_strategy=among("cos", "linear"),
                base_momentum=per_group(0.1, 0.85),
                max_momentum=per_group(0.85, 1),
                div_factor=real(1, 50),
                final_div_factor=10 ** real(0, 5),
                three_phase=among(True, False),
            )
        case "CyclicLR":
            kwargs = dict(
                base_lr=per_group(0.001, 0.1),
                max_lr=per_group(0.1, 1),
                step_size_up=whole(1, 100),
                step_size_down=among(None, whole(0, 100)),
                mode=among("triangular", "triangular2", "exp_range"),
                gamma=real(0.9, 1),
                scale_fn=among(None, lambda x: 1 / (1 + 0.1 * x), lambda x: 0.97**x),
                scale_mode=among("cycle", "iterations"),
                base_momentum=per_group(0.1, 0.85),
                max_momentum=per_group(0.85, 1),
            )
        case _:
            kwargs = dict(
                swa_lr=per_group(0.001, 0.5),
                anneal_epochs=among(0, 1, whole(0, 300)),
                anneal_strategy=among("cos", "linear"),
            )
    return name, kwargs


def compose(rng: np.random.Generator, groups: int, depth: int = 0) -> Spec:
    """Draw a tree of schedulers, at most three compositions deep."""
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
    """Draw initial learning rates, and the number of parameter groups."""
    groups = int(rng.choice([1, 1, 2, 3]))
    lrs = [float(x) for x in rng.uniform(0.001, 1, groups)]
    return (lrs if groups > 1 else lrs[0]), groups


FIXED: dict[str, Spec] = {
    name: draw(np.random.default_rng([7, *name.encode()]), name, 1) for name in NAMES
}


class TransformationTests:
    """The behaviour of a schedule under JAX's transformations and with x64 off."""

    spec: Spec

    def test_transformations(self):
        """Python, numpy, float, traced and array steps give the same bits."""
        lr, steps = schedule(self.spec, 0.3), jnp.arange(20)
        expected = [float(lr(i)) for i in range(20)]
        results = {
            "numpy": [lr(np.int32(i)) for i in range(20)],
            "float": [lr(jnp.float32(i)) for i in range(20)],
            "jit": [jax.jit(lr)(i) for i in range(20)],
            "array": lr(steps),
            "table": lr(steps.reshape(4, 5)).reshape(-1),
            "vmap": jax.jit(jax.vmap(lr))(steps),
            "scan": jax.lax.scan(lambda c, i: (c, lr(i)), None, steps)[1],
        }
        for name, result in results.items():
            np.testing.assert_allclose(np.array(result), expected, rtol=1e-15, err_msg=name)

    def test_x64_off(self):
        """With x64 off the result is the float64 value rounded once, even inside jit and scan."""
        steps = np.arange(100)
        expected = np.asarray(schedule(self.spec, 0.3)(steps), np.float32)
        lr = schedule(self.spec, 0.3)
        with jax.enable_x64(False):
            steps = jnp.asarray(steps)
            results = {
                "eager": lr(steps),
                "jit": jax.jit(lr)(steps),
                "scan": jax.lax.scan(lambda c, i: (c, lr(i)), None, steps)[1],
            }
        for name, result in results.items():
            assert result.dtype == jnp.float32, name
            np.testing.assert_array_max_ulp(np.asarray(result), expected, maxulp=1)


class SchedulerTests(TransformationTests):
    """The tests that every scheduler passes; a subclass sets torch's class name."""

    name: str
    loops = False  # whether a step loops over the previous ones

    @property
    def spec(self) -> Spec:  # pyright: ignore[reportIncompatibleVariableOverride]
        return FIXED[self.name]

    def test_every_step(self):
        """Random settings for one to three groups give torch's learning rates and momenta."""
        for seed in range(5):
            rng = np.random.default_rng([seed, *self.name.encode()])
            lr, groups = initial_lr(rng)
            assert_same(draw(rng, self.name, groups), lr)

    def test_arguments_are_those_of_torch(self):
        """Arguments have torch's names, order and defaults, with `lr` in place of the optimizer."""
        functions = getattr(torch_lr, self.name, SWALR), NAMES[self.name]
        theirs, ours = (
            [(p.name, p.default) for p in inspect.signature(f).parameters.values()]
            for f in functions
        )
        assert ours[1:] == theirs[1:]

    def test_no_step_loops_over_the_previous_ones(self):
        """Every step costs the same; only arbitrary factors need a loop over the previous steps."""
        program = str(jax.make_jaxpr(schedule(self.spec, 0.3))(0))
        assert ("while" in program) == self.loops, program

    def test_last_epoch(self):
        """A schedule with `last_epoch` continues the schedule without it after that epoch."""
        name, kwargs = self.spec
        whole, rest = (
            schedule((name, kwargs), 0.3),
            schedule((name, kwargs | {"last_epoch": 4}), 0.3),
        )
        rest, whole = (jax.jit(lr, compiler_options=USUAL) for lr in (rest, whole))
        np.testing.assert_array_equal(rest(np.arange(9)), whole(np.arange(5, 14)))


def assert_rejected(spec: Spec, value: str, kind: Any = None) -> None:
    """Assert that an error has torch's exception type and message, and contains the value."""
    params = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": 0.1} for _ in range(2)]
    optimizer = torch.optim.SGD(params, momentum=0.9)
    with pytest.raises((TypeError, ValueError, IndexError)) as theirs:
        torch_scheduler(spec, optimizer)
    with pytest.raises(kind or theirs.type, match=re.escape(value)) as ours:
        schedule(spec, [0.1, 0.1])
    words = re.split(r"[.,:]|0 |got", str(theirs.value))[0]
    assert kind or words in str(ours.value)
