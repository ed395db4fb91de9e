"""A `Transformation` can be copied, pickled and rebuilt, and optax accepts it as its own."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import jax.numpy as jnp
import optax
import pytest

from jaxgrad import optim
from parity_tests.audits.optimizers import OPTIMIZERS
from tests.jaxgrad.optim.shared import GRADS, PARAMS, assert_same, run


SINGLE = sorted(set(OPTIMIZERS) - {"lbfgs"})
COPIES: dict[str, Any] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda tx: pickle.loads(pickle.dumps(tx)),
    "replace": dataclasses.replace,
    "_replace": lambda tx: tx._replace(),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SINGLE)
def test_copies(name):
    """However a transformation is copied, its `step` gives bit-identical results."""
    tx = OPTIMIZERS[name].make(0.1)
    params, grads = {"w": PARAMS["w"]}, {"w": GRADS["w"]}
    expected = tx.step(grads, tx.init(params), params)

    for make_copy in COPIES.values():
        copied = make_copy(tx)
        assert type(copied) is optim.Transformation
        assert_same(copied.step(grads, copied.init(params), params), expected)


def test_pickled_groups_and_lbfgs():
    """L-BFGS and parameter groups, even with options a constructor would reject, can be pickled."""
    groups = [{"lr": -0.1}, {"weight_decay": 0.3}]
    tx = optim.param_groups(optim.adamw, groups, {"u": 0, "w": 1}, betas=(0.8, 0.9))
    groups[0]["lr"] = 5.0  # the transformation has its own copy of the options
    copied = pickle.loads(pickle.dumps(tx))
    assert_same(run(copied, GRADS, 3), run(tx, GRADS, 3))

    tx = optim.lbfgs(0.1, max_iter=3, history_size=4)
    copied = pickle.loads(pickle.dumps(tx))
    w = jnp.array([1.0, -2.0])
    result, expected = (
        t.step(None, t.init(w), w, value_fn=lambda w: jnp.sum(w**4)) for t in (copied, tx)
    )
    assert_same(result, expected)


def test_what_cannot_be_pickled_is_named():
    """The pickling error names the lambda or closure among the factory's arguments."""
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(optim.sgd(lambda step: 0.1))
    with pytest.raises((pickle.PicklingError, AttributeError), match="leaf.<locals>.build"):
        pickle.dumps(optim.sgd(optim.lr_scheduler.step_lr(0.1, 3)))


def test_is_a_frozen_dataclass():
    """The fields are `init`, `update` and `step`; they can be replaced but not assigned."""
    tx: Any = optim.sgd(0.1)

    assert [field.name for field in dataclasses.fields(tx)] == ["init", "update", "step"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        tx.step = None
    replaced: Any = dataclasses.replace(tx, step=len)
    assert replaced.step is len and replaced.update is tx.update
    with pytest.raises((pickle.PicklingError, AttributeError)):  # `replace` drops the recorded call
        pickle.dumps(replaced)
    assert tx == dataclasses.replace(tx) and tx != replaced


def test_optax_unpacks_it_as_its_own_pair():
    """A `Transformation` unpacks as `init, update` and is an instance of optax's types."""
    tx = optim.sgd(0.1)
    init, update = tx

    assert len(tx) == 2 and init is tx.init and update is tx.update
    assert isinstance(tx, optax.GradientTransformationExtraArgs)
    assert optax.with_extra_args_support(tx) is tx


def test_extra_arguments_pass_through_optax():
    """`live=` reaches the optimizer inside wrappers of optax."""
    live = {"u": False, "w": True}
    tx = optim.sgd(0.1)
    wrappers: dict[str, Any] = {
        "chain": optax.chain(optax.identity(), tx),
        "named_chain": optax.named_chain(("sgd", tx)),
        "apply_if_finite": optax.apply_if_finite(tx, 3),
        "conditionally_transform": optax.conditionally_transform(tx, lambda *_, **__: True),
        "inject_hyperparams": optax.inject_hyperparams(optim.sgd)(0.1),
    }
    for name, wrapper in wrappers.items():
        updates, _ = wrapper.update(GRADS, wrapper.init(PARAMS), PARAMS, live=live)
        assert not updates["u"].any() and updates["w"].all(), name


def test_update_requires_params():
    """`update` without parameters raises for every kind of transformation."""
    groups = optim.param_groups(optim.sgd, [{}], 0)
    for tx in (optim.sgd(), optim.adafactor(), optim.lbfgs(), groups):
        with pytest.raises(ValueError, match="the parameters are missing"):
            tx.update(GRADS, tx.init(PARAMS), value_fn=lambda params: 0.0)


def test_swapped_arguments_are_named():
    """`step` and `update` say which argument is the state when the order is wrong."""
    tx = optim.adamw(0.1)
    params = {"w": jnp.ones(2)}
    state = tx.init(params)
    with pytest.raises(TypeError, match=r"step\(grads, state, params\): .*third one is"):
        tx.step(params, params, state)
    with pytest.raises(TypeError, match=r"update\(grads, state, params\): .*first one is"):
        tx.update(state, params, params)
    text = r"step\(grads, state, params\): the second argument has the structure of the gradients"
    with pytest.raises(TypeError, match=text):
        tx.step(params, params, params)


def test_trees_of_other_parameters_are_named():
    """Gradients and states of other parameters raise an error that names the leaves."""
    tx = optim.adamw(0.1)
    params = {name: jnp.ones(2) for name in "abcde"}
    state = tx.init(params)
    text = r"gradients must be a tree like the parameters, but lack .* and 2 more and have"
    with pytest.raises(ValueError, match=text):
        tx.update({"x": jnp.ones(2)}, state, params)
    other = {"x": jnp.ones(2)}
    text = "the arrays of the state must be .*, but lack 'x' and have 'a', 'b', 'c' and 2 more, "
    with pytest.raises(ValueError, match=text):
        tx.step(other, state, other)
    with pytest.raises(ValueError, match="have another structure"):
        tx.step([jnp.ones(2)], tx.init((jnp.ones(2),)), (jnp.ones(2),))
