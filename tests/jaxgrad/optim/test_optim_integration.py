"""The optimizers work inside optax's wrappers and JAX's transformations."""

from __future__ import annotations

import itertools
import re
from typing import Any

import flax.serialization
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxgrad
from jaxgrad import optim
from parity_tests.audits.optimizers import OPTIMIZERS
from parity_tests.runner.settings import USUAL
from tests.jaxgrad.optim.shared import GRADS, PARAMS, assert_same, optax_step, run


def test_an_unused_parameter_does_not_decay():
    """`jaxgrad.value_and_grad` gives an unused parameter None, so AdamW does not decay it."""
    tx = optim.adamw(0.1, weight_decay=0.5)
    _, grads = jaxgrad.value_and_grad(lambda p: jnp.sum(p["w"] ** 2))(PARAMS)
    out, _ = tx.step(grads, tx.init(PARAMS), PARAMS)

    assert_same(out["u"], PARAMS["u"])
    assert (out["w"] != PARAMS["w"]).all()


def test_masked_does_not_freeze():
    """`optax.masked` passes masked-out gradients through, so their parameters still change."""
    tx = optax.masked(optim.sgd(0.1), {"u": False, "w": True})
    out, _ = run(tx, GRADS, steps=1)

    assert_same(out["u"], PARAMS["u"] + GRADS["u"])


def test_trivial_wrappers_change_nothing():
    """Adam inside an optax wrapper that has no effect takes the same steps as Adam alone."""
    alone = run(optim.adam(0.1), GRADS)[0]
    label = {"u": "a", "w": "b"}
    wrappers = {
        "chain": lambda tx: optax.chain(optax.clip_by_global_norm(1e9), tx),
        "masked": lambda tx: optax.masked(tx, {"u": True, "w": True}),
        "partition": lambda tx: optax.partition({"a": tx, "b": tx}, label),
        "apply_if_finite": lambda tx: optax.apply_if_finite(tx, 3),
        "conditionally_mask": lambda tx: optax.conditionally_mask(tx, lambda *_, **__: True),
        "inject_hyperparams": lambda tx: optax.inject_hyperparams(optim.adam)(lr=0.1),
        "multi_steps": lambda tx: optax.MultiSteps(tx, 1).gradient_transformation(),
        "flatten": optax.with_extra_args_support,
    }
    for wrapper in wrappers.values():
        assert_same(run(wrapper(optim.adam(0.1)), GRADS)[0], alone, 1e-12)


def test_inject_hyperparams():
    """`optax.inject_hyperparams` may turn any number into an array, even one that is zero."""
    for name, options in {
        "sgd": dict(momentum=0.0, weight_decay=0.0),
        "rmsprop": dict(momentum=0.0, lr=0.1),
        "rprop": dict(lr=0.1),
        "asgd": dict(lr=0.1, lambd=0.01),
        "nadam": dict(lr=0.1, weight_decay=0.0),
    }.items():
        tx = optax.inject_hyperparams(getattr(optim, name))(**options)
        ours, state = run(tx, GRADS)

        assert_same(ours, run(getattr(optim, name)(**options), GRADS)[0], 1e-6)
        assert "lr" in state.hyperparams


def test_partition_freezes_with_set_to_zero():
    """`optax.partition` with `set_to_zero` for a parameter freezes it."""
    tx = optax.partition({"a": optim.adamw(0.1), "b": optax.set_to_zero()}, {"u": "b", "w": "a"})
    ours = run(tx, GRADS)[0]

    assert_same(ours["u"], PARAMS["u"])
    assert_same(ours["w"], run(optim.adamw(0.1), GRADS)[0]["w"], 1e-14)


def test_a_nonfinite_step_is_skipped():
    """`optax.apply_if_finite` keeps parameters and state when a gradient is NaN."""
    tx = optax.apply_if_finite(optim.adam(0.1), 5)
    bad = {"u": GRADS["u"] * jnp.nan, "w": GRADS["w"]}
    ours = run(tx, lambda i: bad if i == 4 else GRADS, 10)[0]

    assert_same(ours, run(optim.adam(0.1), GRADS, 9)[0], 1e-12)


def test_gradient_accumulation():
    """`optax.MultiSteps` averages the gradients of four batches before each step."""
    tx = optax.MultiSteps(optim.adamw(0.1), 4)
    ours = run(
        tx.gradient_transformation(), lambda i: jax.tree.map(lambda g: g * (i % 4), GRADS), 8
    )

    assert_same(ours[0], run(optim.adamw(0.1), jax.tree.map(lambda g: g * 1.5, GRADS), 2)[0], 1e-12)


def test_tree_tools():
    """States are named tuples of trees, which optax can search and flax can serialize."""
    tx = optim.adam(0.1)
    _, state = run(tx, GRADS)
    saved = flax.serialization.to_bytes(state)

    assert_same(optax.tree_utils.tree_get(state, "exp_avg"), state.exp_avg)
    assert_same(flax.serialization.from_bytes(tx.init(PARAMS), saved), state)
    doubled: Any = optax.tree_utils.tree_map_params(tx, lambda x: 2 * x, state)
    assert_same(doubled.exp_avg, jax.tree.map(lambda x: 2 * x, state.exp_avg))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("exact", "close"), [(True, 0.0), (False, 1e-13)])
def test_scan_vmap_and_eager(exact, close):
    """`scan`, `vmap` and eager execution give the same numbers."""
    tx = optim.nadam(0.1, weight_decay=0.1, exact=exact)
    alone = run(tx, GRADS, 5)[0]

    def body(carry: Any, _: Any) -> Any:
        params, state = carry
        return tx.step(GRADS, state, params), None

    first = (PARAMS, tx.init(PARAMS))
    assert_same(jax.lax.scan(body, first, None, 5)[0][0], alone, close)
    twice = jax.tree.map(lambda x: jnp.stack([x, 2 * x]), (GRADS, *first))
    params, state = jax.vmap(tx.step)(twice[0], jax.vmap(tx.init)(twice[1]), twice[1])
    assert_same(jax.tree.map(lambda x: x[0], params), run(tx, GRADS, 1)[0], close)
    params, state = first
    for _ in range(5):
        params, state = tx.step(GRADS, state, params)
    assert_same(params, alone, close)


def test_a_new_learning_rate_does_not_retrace():
    """With an array as `lr` one trace serves every value."""
    traces = []

    @jax.jit
    def step(grads: Any, state: Any, params: Any, lr: Any) -> Any:
        traces.append(lr)
        return optim.adam(lr).step(grads, state, params)

    params, state = PARAMS, optim.adam().init(PARAMS)
    for rate in (0.1, 0.2, 0.05):
        params, state = step(GRADS, state, params, jnp.asarray(rate))
    schedule = jnp.asarray([0.1, 0.2, 0.05]).__getitem__

    assert len(traces) == 1
    assert_same(params, run(optim.adam(schedule), GRADS, 3)[0], 1e-14)


def test_the_learning_rate_has_a_gradient():
    """A loss after a step can be differentiated with respect to `lr`, with x64 on and off."""

    def loss(lr: Any, exact: bool) -> Any:
        tx = optim.adam(lr, exact=exact)
        params, grads = jax.tree.map(lambda x: x.astype("float32"), (PARAMS, GRADS))
        return jnp.sum(tx.step(grads, tx.init(params), params)[0]["w"] ** 2)

    for exact, x64 in itertools.product((False, True), repeat=2):
        with jax.enable_x64(x64):
            lr = jnp.asarray(0.1, "float32")
            slope = (loss(lr + 0.01, exact) - loss(lr - 0.01, exact)) / 0.02
            gradient = jax.jit(jax.grad(loss), static_argnums=1)(lr, exact)
            np.testing.assert_allclose(gradient, slope, rtol=1e-3)


SAME_WORK: dict[str, tuple[Any, Any]] = {
    other.same_work: (record.make(**{"lr": 0.1, **other.options}), other.make(0.1))
    for record in OPTIMIZERS.values()
    for other in record.counterparts
    if other.same_work
} | {"schedule": (optim.adam(lambda step: 0.1), optax.adam(lambda step: 0.1))}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", SAME_WORK)
def test_costs_what_optax_costs(name):
    """`step` and `update` compile to at most the flops and bytes of optax, within 5 %."""
    params = [jnp.ones((256, 100), "float32"), jnp.ones(1 << 14, "float32")]

    def cost(step: Any, state: Any) -> Any:
        return (
            jax.jit(step, donate_argnums=(1, 2))
            .lower(params, state, params)
            .compile(USUAL)
            .cost_analysis()
        )

    ours, theirs = SAME_WORK[name]
    bound = cost(optax_step(theirs), theirs.init(params))
    for step in (ours.step, optax_step(ours)):
        counts = cost(step, ours.init(params))
        for measure in ("flops", "bytes accessed"):
            assert counts[measure] <= 1.05 * bound[measure], measure


def test_donation_in_the_order_of_the_results():
    """Donating parameters before the state copies no leaf; `step`'s argument order copies all."""
    params = {name: jnp.ones((64, 32), "float32") for name in "abc"}
    tx = optim.adamw()
    state = tx.init(params)

    def copies(step: Any, donated: tuple[int, int], *args: Any) -> int:
        program = jax.jit(step, donate_argnums=donated).lower(*args).compile(USUAL)
        return len(re.findall(r"= f32\[64,32\]\S* copy\(", program.as_text() or ""))

    in_order = copies(lambda p, s, g: tx.step(g, s, p), (0, 1), params, state, params)
    out_of_order = copies(tx.step, (1, 2), params, state, params)
    assert in_order == 0 and out_of_order >= 9, (in_order, out_of_order)
