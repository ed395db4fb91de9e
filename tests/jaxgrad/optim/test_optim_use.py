"""`jaxgrad.optim` in use: None, groups, optax and JAX around it, torch's errors and state."""

from __future__ import annotations

import doctest
import inspect
import itertools
import re
import sys
from typing import Any

import flax.serialization
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from jaxgrad import optim
from parity_tests.audits import optimizer_runs as optimizers
from parity_tests.audits.optimizer_runs import TORCH


PARAMS = {"u": jnp.array([3.0, -1.0]), "w": jnp.array([[1.0, 2.0]])}
GRADS = {"u": jnp.array([1.0, -0.5]), "w": jnp.array([[0.25, 2.0]])}


def run(tx: Any, grads: Any, steps: int = 10, params: Any = PARAMS, **kwargs: Any) -> Any:
    """Parameters and state after some steps; `grads` may be a function of the step."""
    state = tx.init(params)
    step = jax.jit(tx.step) if isinstance(tx, optim.Transformation) else jax.jit(moved(tx))
    for i in range(steps):
        given = grads(i) if callable(grads) else grads
        params, state = step(given, state, params, **kwargs)
    return params, state


def moved(tx: Any) -> Any:
    """A step of any transformation of optax's."""

    def step(grads: Any, state: Any, params: Any, **kwargs: Any) -> Any:
        updates, state = tx.update(grads, state, params, **kwargs)
        return optax.apply_updates(params, updates), state

    return step


def same(ours: Any, theirs: Any, tolerance: float = 0.0) -> None:
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# --- None, zero, live -----------------------------------------------------------------------------


def torch_none(name: str, options: dict[str, Any], grads: Any) -> tuple[Any, Any]:
    """One parameter (3, -1) after ten steps of torch, and its state."""
    u = torch.tensor([3.0, -1.0], dtype=torch.float64, requires_grad=True)
    optimizer = TORCH[name]([u], **options)
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


@pytest.mark.parametrize("live", [False, True], ids=["None", "live"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", DECAYED)
def test_none_is_not_zero(name, pattern, live):
    """None leaves parameter, state and count alone; zero decays, and lets the momentum run out."""
    options, grads = DECAYED[name], PATTERNS[pattern]
    theirs, state = torch_none(name, options, grads)
    tx = getattr(optim, name)(**options)
    u = jnp.array([3.0, -1.0])
    first = ours = tx.init(u)
    step = jax.jit(tx.step)
    for i in range(10):
        grad = grads(i)
        if live:  # one program for all steps
            given = jnp.asarray([9.0, 9.0] if grad is None else grad)
            u, ours = step(given, ours, u, live=jnp.asarray(grad is not None))
        else:
            u, ours = step(None if grad is None else jnp.asarray(grad), ours, u)

    np.testing.assert_allclose(u, theirs, rtol=1e-13)
    for field, value in state.items():
        np.testing.assert_allclose(getattr(ours, field), value.numpy(), rtol=1e-12, err_msg=field)
    if not state:
        same(ours, first)


def test_an_update_of_nothing_is_zero():
    """Where the gradient is None optax gets zeros to add."""
    tx: Any = optim.adamw(0.1)
    updates, _ = tx.update({"u": None, "w": GRADS["w"]}, tx.init(PARAMS), PARAMS)

    assert not updates["u"].any() and updates["w"].all()


def test_live_is_a_prefix():
    """A bool for a whole branch, known or traced; False freezes as None does."""
    params = {"trunk": PARAMS, "head": jnp.ones(3)}
    grads = {"trunk": GRADS, "head": jnp.ones(3)}
    tx = optim.adamw(0.1)
    by_none = run(tx, {"trunk": {"u": None, "w": None}, "head": jnp.ones(3)}, params=params)
    known = jax.jit(lambda g, s, p: tx.step(g, s, p, live={"trunk": False, "head": True}))
    state, moved_params = tx.init(params), params
    for _ in range(10):
        moved_params, state = known(grads, state, moved_params)

    same((moved_params, state), by_none)
    live = {"trunk": jnp.array(False), "head": jnp.array(True)}
    same(run(tx, grads, params=params, live=live), by_none, 1e-15)


def test_none_and_odd_leaves():
    """A None among the parameters, an integer with JAX's float0, an empty leaf and a number."""
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


def test_with_value_and_grad():
    """What `unused="none"` finds unused does not decay."""
    tx = optim.adamw(0.1, weight_decay=0.5)
    _, grads = jaxgrad.value_and_grad(lambda p: jnp.sum(p["w"] ** 2))(PARAMS)
    out, _ = tx.step(grads, tx.init(PARAMS), PARAMS)

    same(out["u"], PARAMS["u"])
    assert (out["w"] != PARAMS["w"]).all()


def test_masked_is_not_a_way_to_freeze():
    """optax.masked hands the raw gradient on, and what is masked out moves by it."""
    tx = optax.masked(optim.sgd(0.1), {"u": False, "w": True})
    out, _ = run(tx, GRADS, steps=1)

    same(out["u"], PARAMS["u"] + GRADS["u"])


# --- groups ---------------------------------------------------------------------------------------


def test_groups_as_torch():
    """Defaults, options of a group, and a schedule of its own."""
    rates = [0.1, 0.05, 0.2, 0.01]
    tx = optim.param_groups(
        optim.adamw,
        [{"lr": jnp.asarray(rates).__getitem__}, {"weight_decay": 0.3}],
        {"u": 0, "w": 1},
        lr=0.03,
        betas=(0.8, 0.9),
    )
    u, w = (torch.tensor(np.asarray(PARAMS[k]), requires_grad=True) for k in "uw")
    theirs = torch.optim.AdamW(
        [{"params": [u]}, {"params": [w], "weight_decay": 0.3}], lr=0.03, betas=(0.8, 0.9)
    )
    for rate in rates:
        theirs.param_groups[0]["lr"] = rate
        u.grad, w.grad = (torch.tensor(np.asarray(GRADS[k])) for k in "uw")
        theirs.step()

    for ours in (run(tx, GRADS, 4)[0], run(optax.chain(tx), GRADS, 4)[0]):
        same(ours, {"u": u.detach().numpy(), "w": w.detach().numpy()}, 1e-14)


LABELS = {
    "tree": {"u": 0, "w": 1},
    "path": ["u", "w"].index,
    "predicates": [lambda path: path == "u", lambda path: path == "w"],
}


@pytest.mark.parametrize("labels", LABELS)
def test_labels(labels):
    """A tree, a function of the path, and a predicate for each group say the same."""
    tx = optim.param_groups(optim.sgd, [{}, {"lr": 1.0}], LABELS[labels], lr=0.5)
    out, _ = run(tx, GRADS, 1)

    same(out, {"u": PARAMS["u"] - 0.5 * GRADS["u"], "w": PARAMS["w"] - GRADS["w"]})


def test_groups_by_name_and_frozen():
    """A dict of groups has its keys for labels; "frozen" is in none of them and has no state."""
    tx = optim.param_groups(optim.adamw, {"heads": {"lr": 0.1}}, {"u": "frozen", "w": "heads"})
    out, state = run(tx, GRADS, 3)

    same(out["u"], PARAMS["u"])
    assert len(jax.tree.leaves(state)) == 3 and (out["w"] != PARAMS["w"]).all()


def test_a_parameter_in_two_groups_or_in_none():
    """torch's error, in its words, with the parameter's path."""
    everything = [lambda path: True, lambda path: path == "w"]
    with pytest.raises(
        ValueError,
        match="some parameters appear in more than one parameter group: "
        r"\['w'\] is in \[0, 1\]",
    ):
        optim.param_groups(optim.sgd, [{}, {}], everything).init(PARAMS)
    with pytest.raises(
        ValueError, match=r"\['w'\] is in no parameter group: its label is 2, and the"
    ):
        optim.param_groups(optim.sgd, [{}, {}], {"u": 0, "w": 2}).init(PARAMS)
    with pytest.raises(ValueError, match=r"\['u'\] is in no parameter group: its label is None"):
        optim.param_groups(optim.sgd, [{}, {}], [lambda p: p == "w", lambda p: False]).init(PARAMS)
    with pytest.raises(ValueError, match="there are 2 groups but 1 predicates"):
        optim.param_groups(optim.sgd, [{}, {}], [lambda path: True]).init(PARAMS)


def test_adagrads_first_sum_is_of_all_groups():
    """torch's constructor reads it, and no group."""
    group = {"initial_accumulator_value": 3.0, "lr": 0.5}
    tx = optim.param_groups(optim.adagrad, [group], 0, initial_accumulator_value=0.5)
    u = torch.tensor(np.asarray(PARAMS["u"]), requires_grad=True)
    theirs = torch.optim.Adagrad([{"params": [u], **group}], initial_accumulator_value=0.5)
    u.grad = torch.tensor(np.asarray(GRADS["u"]))
    theirs.step()
    out, state = run(tx, GRADS, 1)

    same(out["u"], u.detach().numpy(), 1e-15)
    same(state.groups[0].sum["u"], theirs.state[u]["sum"].numpy(), 1e-15)


def test_a_group_of_adamw_that_does_not_decouple():
    """No argument of torch's AdamW, but an option of its groups: it is Adam with that default."""
    groups = [{"decoupled_weight_decay": False}, {"weight_decay": 0.5}, {}]
    tx = optim.param_groups(optim.adamw, groups, {"u": 0, "w": 1, "v": 2}, exact=True)
    params = {**PARAMS, "v": jnp.array([0.5])}
    grads = {**GRADS, "v": jnp.array([-2.0])}
    out, _ = run(tx, grads, 3, params)
    leaves = {k: torch.tensor(np.asarray(x), requires_grad=True) for k, x in params.items()}
    theirs = torch.optim.AdamW(
        [{"params": [leaves[k]], **options} for k, options in zip("uwv", groups, strict=True)],
        foreach=False,
    )
    for _ in range(3):
        for k, leaf in leaves.items():
            leaf.grad = torch.tensor(np.asarray(grads[k]))
        with optimizers.ieee_sqrt():
            theirs.step()

    for k, leaf in leaves.items():
        np.testing.assert_array_equal(out[k], leaf.detach().numpy())
    with pytest.raises(TypeError):
        torch.optim.AdamW([leaves["u"]], decoupled_weight_decay=False)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="unexpected keyword argument 'decoupled_weight_decay'"):
        optim.param_groups(optim.adamw, groups, 0, decoupled_weight_decay=False)


def test_lbfgs_has_no_groups():
    """torch's error, in its words."""
    u = torch.zeros(1, requires_grad=True)
    with pytest.raises(ValueError, match="per-parameter options") as theirs:
        torch.optim.LBFGS([{"params": [u]}, {"params": [u.detach().clone()]}])
    with pytest.raises(ValueError, match="there are 2 groups: pass one") as ours:
        optim.param_groups(optim.lbfgs, [{}, {"lr": 0.1}], {"u": 0, "w": 1})

    assert str(ours.value).startswith(str(theirs.value))


def test_a_group_added_later():
    """The others keep their state, as after torch's add_param_group."""

    def group(count: int) -> optim.Transformation:
        labels = {"u": 0, "w": 1 if count == 2 else "frozen"}
        return optim.param_groups(optim.adam, [{}, {"lr": 0.5}][:count], labels, lr=0.1)

    params, state = run(group(1), GRADS, 3)
    tx = group(2)
    state = optim.add_param_group(tx, params, state)
    for _ in range(3):
        params, state = tx.step(GRADS, state, params)

    u, w = (torch.tensor(np.asarray(PARAMS[k]), requires_grad=True) for k in "uw")
    theirs = torch.optim.Adam([u], lr=0.1)
    for i in range(6):
        if i == 3:
            theirs.add_param_group({"params": [w], "lr": 0.5})
        u.grad, w.grad = (torch.tensor(np.asarray(GRADS[k])) for k in "uw")
        theirs.step()
    same(params, {"u": u.detach().numpy(), "w": w.detach().numpy()}, 1e-14)


# --- optax and JAX around it ----------------------------------------------------------------------


def adam_by(wrapper: Any) -> Any:
    return run(wrapper(optim.adam(0.1)), GRADS)[0]


def test_optax_around_it():
    """Whatever does nothing around it changes nothing."""
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
        same(adam_by(wrapper), alone, 1e-12)


def test_inject_hyperparams():
    """Every number may become an array, also one that was zero; the state keeps its form."""
    for name, options in {
        "sgd": dict(momentum=0.0, weight_decay=0.0),
        "rmsprop": dict(momentum=0.0, lr=0.1),
        "rprop": dict(lr=0.1),
        "asgd": dict(lr=0.1, lambd=0.01),
        "nadam": dict(lr=0.1, weight_decay=0.0),
    }.items():
        tx = optax.inject_hyperparams(getattr(optim, name))(**options)
        ours, state = run(tx, GRADS)

        same(ours, run(getattr(optim, name)(**options), GRADS)[0], 1e-6)
        assert "lr" in state.hyperparams


@pytest.mark.parametrize("beta", [0.3, 0.5, 0.9])
def test_betas_that_are_arrays(beta):
    """As the same numbers, on either side of a half, where `lerp` changes ends."""
    by_arrays, _ = run(optim.adam(0.1, (jnp.asarray(beta), jnp.asarray(0.9))), GRADS)

    same(by_arrays, run(optim.adam(0.1, (beta, 0.9)), GRADS)[0], 1e-12)


def test_partition_and_masked_freeze_what_they_leave_out():
    """With `set_to_zero` for the rest."""
    tx = optax.partition({"a": optim.adamw(0.1), "b": optax.set_to_zero()}, {"u": "b", "w": "a"})
    ours = run(tx, GRADS)[0]

    same(ours["u"], PARAMS["u"])
    same(ours["w"], run(optim.adamw(0.1), GRADS)[0]["w"], 1e-14)


def test_a_step_that_is_not_finite_is_left_out():
    """`apply_if_finite` keeps parameters and state."""
    tx = optax.apply_if_finite(optim.adam(0.1), 5)
    bad = {"u": GRADS["u"] * jnp.nan, "w": GRADS["w"]}
    ours = run(tx, lambda i: bad if i == 4 else GRADS, 10)[0]

    same(ours, run(optim.adam(0.1), GRADS, 9)[0], 1e-12)


def test_many_small_batches():
    """MultiSteps averages the gradients of four, then steps."""
    tx = optax.MultiSteps(optim.adamw(0.1), 4)
    ours = run(
        tx.gradient_transformation(), lambda i: jax.tree.map(lambda g: g * (i % 4), GRADS), 8
    )

    same(ours[0], run(optim.adamw(0.1), jax.tree.map(lambda g: g * 1.5, GRADS), 2)[0], 1e-12)


def test_tree_tools():
    """States are named tuples of trees: optax finds their fields, flax saves them."""
    tx = optim.adam(0.1)
    _, state = run(tx, GRADS)
    saved = flax.serialization.to_bytes(state)

    same(optax.tree_utils.tree_get(state, "exp_avg"), state.exp_avg)
    same(flax.serialization.from_bytes(tx.init(PARAMS), saved), state)
    doubled: Any = optax.tree_utils.tree_map_params(tx, lambda x: 2 * x, state)
    same(doubled.exp_avg, jax.tree.map(lambda x: 2 * x, state.exp_avg))


def test_scan_vmap_and_eager():
    """One program for all steps, several at once, and none at all: the same numbers."""
    for exact, close in ((True, 0.0), (False, 1e-13)):
        tx = optim.nadam(0.1, weight_decay=0.1, exact=exact)
        alone = run(tx, GRADS, 5)[0]

        def body(carry: Any, _: Any, tx: Any = tx) -> Any:
            params, state = carry
            return tx.step(GRADS, state, params), None

        first = (PARAMS, tx.init(PARAMS))
        same(jax.lax.scan(body, first, None, 5)[0][0], alone, close)
        twice = jax.tree.map(lambda x: jnp.stack([x, 2 * x]), (GRADS, *first))
        params, state = jax.vmap(tx.step)(twice[0], jax.vmap(tx.init)(twice[1]), twice[1])
        same(jax.tree.map(lambda x: x[0], params), run(tx, GRADS, 1)[0], close)
        params, state = first
        for _ in range(5):
            params, state = tx.step(GRADS, state, params)
        same(params, alone, close)


def test_a_new_rate_is_no_new_program():
    """An array for `lr`: one trace for every value."""
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
    same(params, run(optim.adam(schedule), GRADS, 3)[0], 1e-14)


def test_the_rate_has_a_gradient():
    """Of a loss after a step, with x64 on and off."""

    def loss(lr: Any, exact: bool) -> Any:
        tx = optim.adam(lr, exact=exact)
        params, grads = jax.tree.map(lambda x: x.astype("float32"), (PARAMS, GRADS))
        return jnp.sum(tx.step(grads, tx.init(params), params)[0]["w"] ** 2)

    for exact, x64 in itertools.product((False, True), repeat=2):
        with jax.enable_x64(x64):
            lr = jnp.asarray(0.1, "float32")
            slope = (loss(lr + 0.01, exact) - loss(lr - 0.01, exact)) / 0.02
            found = jax.jit(jax.grad(loss), static_argnums=1)(lr, exact)
            np.testing.assert_allclose(found, slope, rtol=1e-3)


def test_params_are_needed():
    """torch's rules are about parameters."""
    groups = optim.param_groups(optim.sgd, [{}], 0)
    for tx in (optim.sgd(), optim.adafactor(), optim.lbfgs(), groups):
        with pytest.raises(ValueError, match="the parameters are missing"):
            tx.update(GRADS, tx.init(PARAMS), value_fn=lambda params: 0.0)


def test_a_gradient_of_another_shape():
    """Says which one, and both shapes."""
    tx = optim.sgd()
    with pytest.raises(
        ValueError, match=r"the gradient of \['u'\] has shape \(3,\), but the parameter has"
    ):
        tx.step({**GRADS, "u": jnp.ones(3)}, tx.init(PARAMS), PARAMS)


SAME_WORK: dict[str, tuple[Any, Any]] = {
    "sgd": (optim.sgd(0.1), optax.sgd(0.1)),
    "momentum": (optim.sgd(0.1, 0.9), optax.sgd(0.1, 0.9)),
    "nesterov": (optim.sgd(0.1, 0.9, nesterov=True), optax.sgd(0.1, 0.9, nesterov=True)),
    "adam": (optim.adam(0.1), optax.adam(0.1)),
    "amsgrad": (optim.adam(0.1, amsgrad=True), optax.amsgrad(0.1)),
    "adamw": (optim.adamw(0.1), optax.adamw(0.1)),
    "adamax": (optim.adamax(0.1), optax.adamax(0.1)),
    "nadam": (optim.nadam(0.1), optax.nadam(0.1)),
    "radam": (optim.radam(0.1), optax.radam(0.1)),
    "rmsprop": (optim.rmsprop(0.1), optax.rmsprop(0.1, eps_in_sqrt=False)),
    "centered": (
        optim.rmsprop(0.1, centered=True, momentum=0.9),
        optax.rmsprop(0.1, centered=True, momentum=0.9, eps_in_sqrt=False),
    ),
    "adagrad": (optim.adagrad(0.1), optax.adagrad(0.1)),
    "adadelta": (optim.adadelta(0.1), optax.adadelta(0.1)),
    "rprop": (optim.rprop(0.1), optax.rprop(0.1)),
    "schedule": (optim.adam(lambda step: 0.1), optax.adam(lambda step: 0.1)),
}


@pytest.mark.parametrize("name", SAME_WORK)
def test_costs_what_optax_costs(name):
    """Flops and bytes of the compiled step, by `step` and by `update`, on leaves of some size."""
    params = [jnp.ones((256, 100), "float32"), jnp.ones(1 << 14, "float32")]

    def cost(step: Any, state: Any) -> Any:
        return (
            jax.jit(step, donate_argnums=(1, 2))
            .lower(params, state, params)
            .compile()
            .cost_analysis()
        )

    ours, theirs = SAME_WORK[name]
    bound = cost(moved(theirs), theirs.init(params))
    for step in (ours.step, moved(ours)):
        found = cost(step, ours.init(params))
        for measure in ("flops", "bytes accessed"):
            assert found[measure] <= 1.05 * bound[measure], measure


def test_donated_in_the_order_of_the_results():
    """Parameters before the state, and no leaf is copied; in the order of `step` all of them."""
    params = {name: jnp.ones((64, 32), "float32") for name in "abc"}
    tx = optim.adamw()
    state = tx.init(params)

    def copies(step: Any, donated: tuple[int, int], *args: Any) -> int:
        program = jax.jit(step, donate_argnums=donated).lower(*args).compile()
        return len(re.findall(r"= f32\[64,32\]\S* copy\(", program.as_text() or ""))

    in_order = copies(lambda p, s, g: tx.step(g, s, p), (0, 1), params, state, params)
    out_of_order = copies(tx.step, (1, 2), params, state, params)
    assert in_order == 0 and out_of_order >= 9, (in_order, out_of_order)


# --- errors ---------------------------------------------------------------------------------------


BAD: list[tuple[str, dict[str, Any]]] = [
    *((name, {"lr": -0.1}) for name in TORCH),
    *((name, {"weight_decay": -0.5}) for name in TORCH if name != "rprop"),
    *((name, {"eps": -1e-3}) for name in TORCH if name not in {"sgd", "rprop", "asgd"}),
    *(
        (name, {"betas": betas})
        for name in ("adam", "adamw", "adamax", "nadam", "radam")
        for betas in ((1.0, 0.9), (0.9, -0.1))
    ),
    ("sgd", {"momentum": -0.1}),
    ("sgd", {"nesterov": True}),
    ("sgd", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    ("sgd", {"fused": True, "differentiable": True}),
    ("adam", {"fused": True, "foreach": True}),
    ("nadam", {"momentum_decay": -1.0}),
    ("rmsprop", {"alpha": -1.0}),
    ("rmsprop", {"momentum": -1.0}),
    ("adagrad", {"lr_decay": -1.0}),
    ("adagrad", {"initial_accumulator_value": -1.0}),
    ("adadelta", {"rho": 1.5}),
    ("rprop", {"etas": (1.5, 1.2)}),
    ("rprop", {"etas": (0.5, 0.9)}),
]


@pytest.mark.parametrize("name, options", BAD, ids=str)
def test_torchs_errors(name, options):
    """The same exception, which starts with torch's words."""
    with pytest.raises((ValueError, RuntimeError)) as theirs:
        TORCH[name]([torch.zeros(1, requires_grad=True)], **options)
    with pytest.raises(type(theirs.value)) as ours:
        getattr(optim, name)(**options)

    assert str(ours.value).startswith(str(theirs.value)), f"{ours.value} against {theirs.value}"


@pytest.mark.parametrize("name, options", BAD, ids=str)
def test_torchs_errors_are_about_the_defaults(name, options):
    """Also where every group says otherwise; of a group itself torch takes any number."""
    good = {k: p.default for k, p in inspect.signature(TORCH[name]).parameters.items()}
    fine = {k: good[k] for k in options}
    w = torch.tensor(np.asarray(PARAMS["w"]), requires_grad=True)
    with pytest.raises((ValueError, RuntimeError)) as theirs:
        TORCH[name]([{"params": [w], **fine}], **options)
    with pytest.raises(type(theirs.value)) as ours:
        optim.param_groups(getattr(optim, name), [fine], 0, **options)
    assert str(ours.value).startswith(str(theirs.value)), f"{ours.value} against {theirs.value}"

    optimizer = TORCH[name]([{"params": [w], "foreach": False, **options}])
    tx = optim.param_groups(getattr(optim, name), [options], 0, exact=True)
    out, _ = run(tx, {"w": GRADS["w"]}, 3, {"w": PARAMS["w"]})
    try:
        for _ in range(3):
            w.grad = torch.tensor(np.asarray(GRADS["w"]))
            with optimizers.ieee_sqrt(), np.errstate(invalid="ignore"):
                optimizer.step()
    except ZeroDivisionError:  # of numbers, which have no NaN in Python
        assert not np.isfinite(out["w"]).any()
    else:
        np.testing.assert_array_equal(out["w"], w.detach().numpy())


def test_an_option_that_no_factory_has():
    """torch keeps it in the group, where it does nothing: a slip of the pen goes unseen."""
    slip = {"weight_deacy": 0.1}
    torch.optim.SGD([{"params": [torch.zeros(1, requires_grad=True)], **slip}])
    with pytest.raises(TypeError, match="unexpected keyword argument 'weight_deacy'"):
        optim.param_groups(optim.sgd, [slip], 0)
    with pytest.raises(ValueError, match="function mine is not supported"):
        optim.param_groups(optim.muon, [{"adjust_lr_fn": "mine"}], 0)


def test_defaults_that_are_not_all():
    """A factory of one's own may need what only its groups say."""
    tx = optim.param_groups(lambda lr: optim.sgd(lr, 0.0), [{"lr": 0.5}], 0)
    out, _ = run(tx, GRADS, 1)

    same(out["w"], PARAMS["w"] - 0.5 * GRADS["w"])


def test_an_error_names_the_bound():
    """Both values: what was given, and what it must be."""
    with pytest.raises(
        ValueError, match=r"Invalid learning rate: -1.0 \(it must be at least 0.0\)"
    ):
        optim.adam(-1.0)
    with pytest.raises(ValueError, match="Tensor lr must be 1-element, but its shape is .2,."):
        optim.adam(jnp.ones(2))


@pytest.mark.parametrize("name", TORCH)
def test_torchs_arguments(name):
    """The same names, order and defaults, and `exact`."""
    theirs = dict(inspect.signature(TORCH[name]).parameters)
    ours = dict(inspect.signature(getattr(optim, name)).parameters)
    del theirs["params"], ours["exact"]
    positional = [
        [p.name for p in s.values() if p.kind is p.POSITIONAL_OR_KEYWORD] for s in (ours, theirs)
    ]

    assert {k: p.default for k, p in ours.items()} == {k: p.default for k, p in theirs.items()}
    assert positional[0] == positional[1]


@pytest.mark.parametrize("name", sorted(n for n in vars(optim) if callable(getattr(optim, n))))
def test_every_public_name_is_documented(name):
    """What it takes and gives, what torch calls it, and an example that runs."""
    value = getattr(optim, name)
    doc = inspect.getdoc(value) or ""
    sections = ("Torch:",) if inspect.isclass(value) else ("Args:", "Returns:", "Torch:")

    assert doctest.DocTestParser().get_examples(doc), f"jaxgrad.optim.{name} has no example"
    assert all(section in doc for section in sections), f"of jaxgrad.optim.{name}: {sections}"


# --- torch's state --------------------------------------------------------------------------------


def torch_training(name: str, options: Any, params: Any) -> Any:
    leaves = [torch.tensor(np.asarray(p), requires_grad=True) for p in params]
    named = list(zip(("u", "w", "unused"), leaves, strict=False))
    return leaves, TORCH[name](named, **options, foreach=False)


def torch_steps(leaves: Any, optimizer: Any, grads: Any) -> None:
    for step in grads:
        for leaf, grad in zip(leaves, step, strict=True):
            leaf.grad = None if grad is None else torch.tensor(grad)
        optimizer.step()


@pytest.mark.parametrize("name", optimizers.ONE_EACH)
def test_training_goes_on_in_the_other_framework(name):
    """Torch, JAX, torch: every bit is that of torch alone."""
    options = optimizers.ONE_EACH[name]
    rng = np.random.default_rng(0)
    shapes = [(3,), (2, 4), (2,)]
    params = [rng.standard_normal(shape) for shape in shapes]
    grads = [[rng.standard_normal((3,)), rng.standard_normal((2, 4)), None] for _ in range(9)]
    grads[1][0] = grads[4][0] = grads[7][1] = None
    names = {"fc": {"bias": "u", "kernel": ("w", (1, 0))}, "unused": 2}

    with optimizers.ieee_sqrt():
        alone, optimizer = torch_training(name, options, params)
        torch_steps(alone, optimizer, grads[:6])
        saved, alone = optimizer.state_dict(), [leaf.detach().numpy() for leaf in alone]
        alone, optimizer = torch_training(name, options, alone)
        optimizer.load_state_dict(saved)  # which changes the dtype of NAdam's mu_product
        torch_steps(alone, optimizer, grads[6:])
        leaves, optimizer = torch_training(name, options, params)
        torch_steps(leaves, optimizer, grads[:3])

        u, w, unused = (jnp.asarray(leaf.detach().numpy()) for leaf in leaves)
        ours = {"fc": {"bias": u, "kernel": w.T}, "unused": unused}
        tx = getattr(optim, name)(**options, exact=True)
        state = optim.state_from_torch(tx, ours, optimizer.state_dict(), names)
        for u, w, _ in grads[3:6]:
            given = {
                "bias": None if u is None else jnp.asarray(u),
                "kernel": None if w is None else jnp.asarray(w).T,
            }
            ours, state = tx.step({"fc": given, "unused": None}, state, ours)

        moved_on = [ours["fc"]["bias"], ours["fc"]["kernel"].T, ours["unused"]]
        last, optimizer = torch_training(name, options, moved_on)
        optimizer.load_state_dict(optim.state_to_torch(state, ours, optimizer.state_dict(), names))
        torch_steps(last, optimizer, grads[6:])

    for a, b in zip(last, alone, strict=True):
        assert (a == b).all()


def in_double(state: Any) -> Any:
    """Its scalars in float64."""
    return jax.tree.map(lambda x: x.astype(np.float64) if x.ndim == 0 else x, state)


@pytest.mark.parametrize("name", ["nadam", "asgd"])
def test_scalars_in_torchs_other_default_dtype(name):
    """Under float64 torch's scalars are doubles: cast, or taken over, ours stay doubles too."""
    options = optimizers.ONE_EACH[name]
    rng = np.random.default_rng(0)
    params = [rng.standard_normal(3).astype(np.float32)]
    grads = [rng.standard_normal(3).astype(np.float32) for _ in range(6)]
    torch.set_default_dtype(torch.float64)
    try:
        with optimizers.ieee_sqrt():
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

    for state, p, rest in ((fresh, params[0], grads), (taken, middle, grads[3:])):
        now = {"u": jnp.asarray(p)}
        for g in rest:
            now, state = jax.jit(tx.step)({"u": jnp.asarray(g)}, state, now)  # noqa: PLW2901
        assert (now["u"] == leaves[0].detach().numpy()).all()
        for field, value in optimizer.state[leaves[0]].items():
            ours = np.asarray(getattr(state, field)["u"])
            assert optimizers.same(ours, value.numpy()), field


def test_a_step_count_of_an_old_state_dict():
    """torch before 1.12 counted in Python's numbers; torch now makes them float32."""
    entry = {"step": 3.0, "exp_avg": np.ones(2), "exp_avg_sq": np.ones(2)}
    theirs = {"state": {0: entry}, "param_groups": [{"params": [0]}]}
    state: Any = optim.state_from_torch(optim.adam(), [jnp.ones(2)], theirs)

    assert state.step[0].dtype == np.float32 and state.step[0] == 3


def test_a_parameter_that_has_not_moved_yet():
    """torch has no entry for it, older ones one without a buffer: here it is a first state."""
    tx, params = optim.sgd(momentum=0.9, dampening=0.5), [jnp.ones(2)]
    for entries in ({}, {0: {"momentum_buffer": None}}):
        theirs = {"state": entries, "param_groups": [{"params": [0]}]}
        state: Any = optim.state_from_torch(tx, params, theirs)

        assert not state.started[0] and not state.momentum_buffer[0].any()


def test_a_state_without_torch(monkeypatch):
    """Where it is not loaded, a state over and back is one of numpy's arrays, and copies."""
    monkeypatch.setitem(sys.modules, "torch", None)
    tx, params = optim.sgd(momentum=0.9), [jnp.array([1.0, 2.0])]
    _, state = tx.step([jnp.array([0.5, -0.5])], tx.init(params), params)
    fresh = {"state": {}, "param_groups": [{"params": [0]}]}
    there = optim.state_to_torch(state, params, fresh)
    buffer = there["state"][0]["momentum_buffer"]

    assert type(buffer) is np.ndarray and buffer.flags.writeable
    np.testing.assert_array_equal(buffer, [0.5, -0.5])
    same(optim.state_from_torch(tx, params, there), state)


def test_state_of_groups_in_a_chain():
    """The state is found wherever optax keeps it, by names or by order; the schedule goes on."""
    options = [{"lr": jnp.asarray([0.1] * 3 + [0.2] * 3).__getitem__}, {"weight_decay": 0.3}]
    tx = optim.param_groups(optim.adamw, options, {"u": 0, "w": 1}, lr=0.03)
    params, state = run(tx, GRADS, 3)
    u, w = (torch.zeros(PARAMS[k].shape, dtype=torch.float64, requires_grad=True) for k in "uw")
    theirs = torch.optim.AdamW([{"params": [w]}, {"params": [u]}])
    there = optim.state_to_torch(state, params, theirs.state_dict(), order=["w", "u"])
    theirs.load_state_dict(there)
    chained = optax.chain(optax.identity(), tx)
    back = optim.state_from_torch(chained, params, theirs.state_dict(), {"u": 1, "w": 0})

    same(back[1], state)


def test_what_does_not_fit():
    """Names the parameter and says what to do."""
    tx = optim.adam()
    w = torch.zeros(2, 1, requires_grad=True)
    theirs = torch.optim.Adam([w])
    w.grad = torch.ones(2, 1)
    theirs.step()
    bare = theirs.state_dict()
    params = {"w": jnp.ones((1, 2))}
    with pytest.raises(
        ValueError, match=r"\['w'\] corresponds to torch's 'w', .* it stores no names: construct"
    ):
        optim.state_from_torch(tx, params, bare)
    with pytest.raises(
        ValueError, match=r"corresponds to torch's 'w', .* torch's names are \['v'\]"
    ):
        optim.state_from_torch(tx, params, bare, order=["v"])
    with pytest.raises(
        ValueError, match=r"exp_avg of \['w'\] has shape \(2, 1\), here it has \(1, 2\)"
    ):
        optim.state_from_torch(tx, params, bare, {"w": 0})
    with pytest.raises(
        ValueError, match=r"\['w'\] has no 'max_exp_avg_sq', it has \['step', 'exp_avg'"
    ):
        optim.state_from_torch(optim.adam(amsgrad=True), params, bare, {"w": (0, (1, 0))})
