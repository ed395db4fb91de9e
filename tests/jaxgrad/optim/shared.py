"""Tests that every optimizer passes, as base classes, and the helpers that they share.

`class TestAdam(ElementwiseTests): name = "adam"` runs them for `adam`.
"""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from jaxgrad import optim
from parity_tests.audits import optimizer_runs as runs
from parity_tests.audits.optimizers import OPTIMIZERS, Optimizer
from tests._helpers import ALL


STEPS = 100
# Drawn configurations, of which the expensive optimizers have a tenth; `make fuzz` runs more.
FUZZ = int(os.environ.get("OPTIM_FUZZ", "30" if ALL else "2"))
FUZZ_EXPENSIVE = max(1, FUZZ // 10)
HALF = len(runs.SHAPES)  # the first half of a problem's leaves are float32, the others float64
PARAMS = {"u": jnp.array([3.0, -1.0]), "w": jnp.array([[1.0, 2.0]])}
GRADS = {"u": jnp.array([1.0, -0.5]), "w": jnp.array([[0.25, 2.0]])}


def run(tx: Any, grads: Any, steps: int = 10, params: Any = PARAMS, **kwargs: Any) -> Any:
    """Return parameters and state after some steps; `grads` may be a function of the step."""
    state = tx.init(params)
    step = jax.jit(tx.step) if isinstance(tx, optim.Transformation) else jax.jit(optax_step(tx))
    for i in range(steps):
        current = grads(i) if callable(grads) else grads
        params, state = step(current, state, params, **kwargs)
    return params, state


def optax_step(tx: Any) -> Any:
    """Return the step that a user of optax writes."""

    def step(grads: Any, state: Any, params: Any, **kwargs: Any) -> Any:
        updates, state = tx.update(grads, state, params, **kwargs)
        return optax.apply_updates(params, updates), state

    return step


def assert_same(ours: Any, theirs: Any, tolerance: float = 0.0) -> None:
    """Assert that two trees have the same structure and the same numbers."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def single_tensor(options: Any) -> dict[str, Any]:
    """Return torch's options for its single-tensor implementation, whose bits are compared."""
    return {**options, "foreach": False}


def assert_matches_torch(
    name: str,
    ours: Any,
    theirs: Any,
    seed: int,
    steps: int,
    schedule: Any = None,
    live: Any = None,
    quick: bool = False,
) -> None:
    """Assert that exact mode is bit-identical to torch and fast mode differs only by rounding.

    Exact mode is compiled as users compile it, unless its bits may come from a quick compilation.
    """
    params, grads = runs.problem(seed, steps)
    torch_grads = runs.with_none(grads, live)
    torch_run = functools.partial(runs.run_torch, name, single_tensor(theirs), schedule=schedule)
    with runs.ieee_sqrt():
        ieee = torch_run(params, torch_grads)
    stock = torch_run(params, torch_grads)
    oracle = torch_run(runs.in_float64(params), runs.in_float64(torch_grads))

    make = OPTIMIZERS[name].make
    exact = runs.run_jax(make(**ours, exact=True), params, grads, live, quick=quick)
    fast = runs.run_jax(make(**ours), params, grads, live, quick=True)

    differing = runs.differing(exact, ieee)
    assert not differing, differing
    halves = (x[HALF:] for x in (fast[0], stock[0], params))
    assert runs.relative_difference(*halves) < 1e-12
    if runs.excess_errors(fast, oracle, [stock, ieee]):  # torch's rounding may have been lucky
        fast = runs.run_jax(make(**ours), params, grads, live)
        reruns = [torch_run(runs.nudged(params, salt), torch_grads) for salt in range(4)]
        errors = runs.excess_errors(fast, oracle, [stock, ieee, *reruns])
        assert not errors, errors


def draw_learning_rate(rng: np.random.Generator, lr: float, steps: int) -> tuple[Any, Any, Any]:
    """Draw JAX's and torch's learning rate (number, tensor or schedule), and torch's schedule."""
    kind = str(rng.choice(["number", "float32", "float64", "schedule"]))
    if kind == "number":
        return lr, lr, None
    if kind == "schedule":
        rates = lr * rng.uniform(0.5, 1.5, steps)
        return jnp.asarray(rates).__getitem__, lr, rates.tolist().__getitem__
    return jnp.asarray(lr, kind), torch.tensor(lr, dtype=getattr(torch, kind)), None


def torch_training(name: str, options: Any, params: Any) -> Any:
    """Return torch's named parameters `u`, `w`, `unused` and their optimizer."""
    leaves = [torch.tensor(np.asarray(p), requires_grad=True) for p in params]
    named: Any = list(zip(("u", "w", "unused"), leaves, strict=False))
    factory: Any = OPTIMIZERS[name].torch
    return leaves, factory(named, **single_tensor(options))


def torch_steps(leaves: Any, optimizer: Any, grads: Any) -> None:
    """Take one step of torch's optimizer for each list of gradients."""
    for step in grads:
        for leaf, grad in zip(leaves, step, strict=True):
            leaf.grad = None if grad is None else torch.tensor(grad)
        optimizer.step()


class OptimizerTests:
    """The interface of torch's optimizer `name`."""

    name: str

    @property
    def record(self) -> Optimizer:
        return OPTIMIZERS[self.name]

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Parametrize a test with the lists in the optimizer's record."""
        for argument, options in (
            ("configuration", self.record.configurations),
            ("invalid", self.record.invalid),
        ):
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, options, ids=str)

    def test_arguments_are_those_of_torch(self):
        """The factory has torch's argument names, order, kinds and defaults, plus `exact`."""
        theirs = dict(inspect.signature(self.record.torch).parameters)
        ours = dict(inspect.signature(self.record.make).parameters)
        del theirs["params"], ours["exact"]
        described = [[(k, p.default, p.kind) for k, p in s.items()] for s in (ours, theirs)]

        assert described[0] == described[1]

    def test_invalid_options_raise_as_in_torch(self, invalid):
        """The factory raises torch's exception type, and the message starts with torch's."""
        torch_class: Any = self.record.torch
        with pytest.raises((ValueError, RuntimeError)) as theirs:
            torch_class([torch.zeros(2, 2, requires_grad=True)], **invalid)
        with pytest.raises(type(theirs.value)) as ours:
            self.record.make(**invalid)

        assert str(ours.value).startswith(str(theirs.value)), f"{ours.value}\n{theirs.value}"


class ElementwiseTests(OptimizerTests):
    """The comparison with torch for an optimizer whose rule acts on single elements."""

    @pytest.mark.sampled(7)
    def test_configuration(self, configuration):
        """Over 100 steps exact mode has torch's bits; fast mode differs only by rounding."""
        options = {"lr": 0.03, **configuration}
        quick = configuration != self.record.configurations[0]
        assert_matches_torch(self.name, options, options, seed=0, steps=STEPS, quick=quick)

    def test_update_matches_torch(self):
        """`update` and `optax.apply_updates` reach the same parameters as torch."""
        options = self.record.representative
        params, grads = runs.problem(1, 30)
        ours = runs.run_jax(self.record.make(**options), params, grads, as_optax=True, quick=True)
        theirs = runs.run_torch(self.name, options, params, grads)

        halves = (x[HALF:] for x in (ours[0], theirs[0], params))
        assert runs.relative_difference(*halves) < 1e-12
        assert runs.relative_difference(ours[0], theirs[0], params) < 1e-5

    def test_complex_parameters(self):
        """As in torch, a complex parameter is updated as two real ones."""
        options = self.record.representative
        params, grads = runs.problem(2, 20, ["complex128"] * 3)
        ours = runs.run_jax(self.record.make(**options), params, grads, quick=True)
        theirs = runs.run_torch(self.name, options, params, grads)

        assert runs.relative_difference(ours[0], theirs[0], params) < 1e-12

    @pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
    def test_half_precision(self, dtype):
        """In half precision the error is at most three times torch's, and the dtype is kept."""
        options = self.record.representative
        if "eps" in inspect.signature(self.record.make).parameters:
            options = {**options, "eps": 1e-3}  # 1e-8 is zero in float16
        half = jnp.dtype(dtype)
        params, grads = runs.problem(3, 20, ["float32"] * 2)
        params = [p.astype(half) for p in params]
        grads = [[np.clip(g, -5, 5).astype(half) for g in step] for step in grads]
        ours = runs.run_jax(self.record.make(**options), params, grads, quick=True)[0]
        theirs = runs.run_torch(self.name, single_tensor(options), params, grads)[0]
        wide = runs.in_float64
        truth = runs.run_torch(self.name, options, wide(params), wide(grads))[0]

        assert all(a.dtype == half for a in ours)
        for a, b, c in zip(wide(ours), wide(theirs), truth, strict=True):
            floor = 4 * float(jnp.finfo(half).eps) * np.max(np.abs(c))
            assert np.max(np.abs(a - c)) <= max(3 * np.max(np.abs(b - c)), floor)

    def test_gradients_that_are_not_finite(self):
        """Infinities and NaNs spread to the same elements as in torch, and to no others."""
        options = {**self.record.representative, "weight_decay": 0.0}
        if self.name == "rprop":
            del options["weight_decay"]
        params, grads = runs.problem(5, 8)
        for step, value in ((2, np.inf), (4, np.nan), (5, -np.inf)):
            for grad in grads[step]:
                grad.reshape(-1)[step : step + 1] = value
        with runs.ieee_sqrt():
            theirs = runs.run_torch(self.name, single_tensor(options), params, grads)
        make = self.record.make
        exact = runs.run_jax(make(**options, exact=True), params, grads, quick=not ALL)
        fast = runs.run_jax(make(**options), params, grads, quick=True)

        assert not runs.differing(exact, theirs)
        for a, b in zip(fast[0], theirs[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4)

    def test_signs_of_zero(self):
        """Parameters, gradients and states keep torch's signs of zero from the first step on."""
        params = [np.array([0.0, 0.0, -0.0, -0.0, 1.0, 1.0])]
        grads = [[np.array([0.0, -0.0, 0.0, -0.0, 0.0, -0.0])]] * 3
        options = self.record.representative
        with runs.ieee_sqrt():
            theirs = runs.run_torch(self.name, single_tensor(options), params, grads)
        make = self.record.make
        ours = runs.run_jax(make(**options, exact=True), params, grads, quick=not ALL)

        assert not runs.differing(ours, theirs)

    def test_defaults_of_groups_are_validated_but_groups_are_not(self, invalid):
        """As in torch, invalid defaults are rejected even if overridden; invalid groups are not."""
        torch_class: Any = self.record.torch
        signature = inspect.signature(torch_class).parameters
        valid = {k: signature[k].default for k in invalid}
        w = torch.tensor(np.asarray(PARAMS["w"]), requires_grad=True)
        with pytest.raises((ValueError, RuntimeError)) as theirs:
            torch_class([{"params": [w], **valid}], **invalid)
        with pytest.raises(type(theirs.value)) as ours:
            optim.param_groups(self.record.make, [valid], 0, **invalid)
        assert str(ours.value).startswith(str(theirs.value)), f"{ours.value}\n{theirs.value}"

        optimizer = torch_class([{"params": [w], "foreach": False, **invalid}])
        tx = optim.param_groups(self.record.make, [invalid], 0, exact=True)
        out, _ = run(tx, {"w": GRADS["w"]}, 3, {"w": PARAMS["w"]})
        try:
            for _ in range(3):
                w.grad = torch.tensor(np.asarray(GRADS["w"]))
                with runs.ieee_sqrt(), np.errstate(invalid="ignore"):
                    optimizer.step()
        except ZeroDivisionError:  # 1 / 0 raises for Python numbers but not for arrays
            assert not np.isfinite(out["w"]).any()
        else:
            np.testing.assert_array_equal(out["w"], w.detach().numpy())

    def test_training_continues_in_the_other_framework(self):
        """Training that moves from torch to JAX and back is bit-identical to training in torch."""
        options = self.record.representative
        rng = np.random.default_rng(0)
        params = [rng.standard_normal(shape) for shape in [(3,), (2, 4), (2,)]]
        grads = [[rng.standard_normal((3,)), rng.standard_normal((2, 4)), None] for _ in range(9)]
        grads[1][0] = grads[4][0] = grads[7][1] = None
        names = {"fc": {"bias": "u", "kernel": ("w", (1, 0))}, "unused": 2}

        with runs.ieee_sqrt():
            alone, optimizer = torch_training(self.name, options, params)
            torch_steps(alone, optimizer, grads[:6])
            saved, alone = optimizer.state_dict(), [leaf.detach().numpy() for leaf in alone]
            alone, optimizer = torch_training(self.name, options, alone)
            optimizer.load_state_dict(saved)  # loading changes the dtype of NAdam's mu_product
            torch_steps(alone, optimizer, grads[6:])
            leaves, optimizer = torch_training(self.name, options, params)
            torch_steps(leaves, optimizer, grads[:3])

            u, w, unused = (jnp.asarray(leaf.detach().numpy()) for leaf in leaves)
            ours = {"fc": {"bias": u, "kernel": w.T}, "unused": unused}
            tx = self.record.make(**options, exact=True)
            state = optim.state_from_torch(tx, ours, optimizer.state_dict(), names)
            for u, w, _ in grads[3:6]:
                current = {
                    "bias": None if u is None else jnp.asarray(u),
                    "kernel": None if w is None else jnp.asarray(w).T,
                }
                ours, state = tx.step({"fc": current, "unused": None}, state, ours)

            params = [ours["fc"]["bias"], ours["fc"]["kernel"].T, ours["unused"]]
            last, optimizer = torch_training(self.name, options, params)
            saved = optim.state_to_torch(state, ours, optimizer.state_dict(), names)
            optimizer.load_state_dict(saved)
            torch_steps(last, optimizer, grads[6:])

        for a, b in zip(last, alone, strict=True):
            assert (a == b).all()


class AggregatingTests(OptimizerTests):
    """The tests for an optimizer that sums over elements, so that its bits depend on XLA."""

    def test_only_a_schedule_counts_steps(self):
        """The state has a step count of its own only if `lr` is a schedule."""
        w = jnp.ones((2, 2))
        fixed: Any = self.record.make(0.1).init(w)
        scheduled: Any = self.record.make(lambda step: 0.1).init(w)

        assert fixed.count is None and scheduled.count == 0

    def test_training_continues_in_the_other_framework(self):
        """Three steps in torch, three in JAX and three in torch end where nine in torch end."""
        rng = np.random.default_rng(0)
        params = [rng.standard_normal((4, 3)), rng.standard_normal((2, 5))]
        draws = [[rng.standard_normal(p.shape) for p in params] for _ in range(9)]
        options, torch_class = self.record.representative, self.record.torch

        def start() -> Any:
            leaves = [torch.tensor(p, requires_grad=True) for p in params]
            factory: Any = torch_class
            return leaves, factory(list(zip(("b", "a"), leaves, strict=True)), **options)

        alone, optimizer = start()
        self.torch_steps(alone, optimizer, draws)

        leaves, optimizer = start()
        self.torch_steps(leaves, optimizer, draws[:3])
        b, a = (jnp.asarray(leaf.detach().numpy()) for leaf in leaves)
        ours, names = {"a": a, "b": b.T}, {"a": "a", "b": ("b", (1, 0))}  # a new order and layout
        tx = self.record.make(**options)
        state = optim.state_from_torch(tx, ours, optimizer.state_dict(), names)
        assert jax.tree.structure(state) == jax.tree.structure(tx.init(ours))
        for step in draws[3:6]:
            grads = {"a": jnp.asarray(step[1]), "b": jnp.asarray(step[0]).T}
            ours, state = self.jax_step(tx, grads, state, ours)
        optimizer.load_state_dict(optim.state_to_torch(state, ours, optimizer.state_dict(), names))
        with torch.no_grad():
            leaves[0].copy_(torch.tensor(np.asarray(ours["b"].T)))
            leaves[1].copy_(torch.tensor(np.asarray(ours["a"])))
        self.torch_steps(leaves, optimizer, draws[6:])

        for leaf, expected, p in zip(leaves, alone, params, strict=True):
            results = [leaf.detach().numpy()], [expected.detach().numpy()]
            assert runs.relative_difference(*results, [p]) < self.close

    close = 1e-12

    def torch_steps(self, leaves: Any, optimizer: Any, grads: Any) -> None:
        torch_steps(leaves, optimizer, grads)

    def jax_step(self, tx: Any, grads: Any, state: Any, params: Any) -> Any:
        return tx.step(grads, state, params)


class NoneTests:
    """The treatment of None gradients by Adafactor and Muon."""

    make: Any

    def test_a_none_gradient_changes_nothing(self):
        """A None gradient leaves parameter, state and count unchanged: nothing decays."""
        tx = self.make(lr=0.1, weight_decay=0.1)
        params = {"u": jnp.ones((2, 3)), "w": jnp.ones((2, 3))}
        grads = {"u": None, "w": jnp.ones((2, 3))}
        start = tx.init(params)
        out, state = tx.step(grads, start, params)
        live = {"u": jnp.zeros((), bool), "w": True}
        by_live, _ = jax.jit(lambda live: tx.step(params, start, params, live=live))(live)

        assert (out["u"] == 1).all() and (by_live["u"] == 1).all() and (out["w"] != 1).all()
        for field in state[:-1]:
            for leaf in jax.tree.leaves(field["u"]):
                assert not leaf.any()
