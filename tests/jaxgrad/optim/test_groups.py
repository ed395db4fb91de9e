"""Parameter groups match those of torch's optimizers."""

from __future__ import annotations

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx

from jaxgrad import optim
from parity_tests.audits import optimizer_runs as runs
from tests.jaxgrad.optim.shared import GRADS, PARAMS, assert_same, run


def test_groups_as_torch():
    """Groups with defaults, their own options and their own schedule match torch's."""
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
        assert_same(ours, {"u": u.detach().numpy(), "w": w.detach().numpy()}, 1e-14)


LABELS = {
    "tree": {"u": 0, "w": 1},
    "path": ["u", "w"].index,
    "predicates": [lambda path: path == "u", lambda path: path == "w"],
}


@pytest.mark.parametrize("labels", LABELS)
def test_labels(labels):
    """A tree of labels, a function of the path and predicates give the same groups."""
    tx = optim.param_groups(optim.sgd, [{}, {"lr": 1.0}], LABELS[labels], lr=0.5)
    out, _ = run(tx, GRADS, 1)

    assert_same(out, {"u": PARAMS["u"] - 0.5 * GRADS["u"], "w": PARAMS["w"] - GRADS["w"]})


def test_groups_by_name_and_frozen():
    """The keys of a dict of groups are labels, and a "frozen" parameter has no state."""
    tx = optim.param_groups(optim.adamw, {"heads": {"lr": 0.1}}, {"u": "frozen", "w": "heads"})
    out, state = run(tx, GRADS, 3)

    assert_same(out["u"], PARAMS["u"])
    assert len(jax.tree.leaves(state)) == 3 and (out["w"] != PARAMS["w"]).all()


def test_a_parameter_in_two_groups_or_in_none():
    """The errors for a parameter in two groups (torch's) and in no group name its path."""
    everything = [lambda path: True, lambda path: path == "w"]
    with pytest.raises(
        ValueError,
        match="some parameters appear in more than one parameter group: "
        r"'w' is in \[0, 1\]",
    ):
        optim.param_groups(optim.sgd, [{}, {}], everything).init(PARAMS)
    with pytest.raises(
        ValueError,
        match=r"'w' is in no parameter group: its label is 2, and the groups are \[0, 1\]. Label "
        "it 'frozen' to freeze it. A path joins the keys of a leaf with '/'",
    ):
        optim.param_groups(optim.sgd, [{}, {}], {"u": 0, "w": 2}).init(PARAMS)
    with pytest.raises(ValueError, match="'u' is in no parameter group: its label is None"):
        optim.param_groups(optim.sgd, [{}, {}], [lambda p: p == "w", lambda p: False]).init(PARAMS)
    with pytest.raises(ValueError, match="there are 2 groups but 1 predicates"):
        optim.param_groups(optim.sgd, [{}, {}], [lambda path: True]).init(PARAMS)


class Layer(nnx.Module):
    """A module with one layer."""

    def __init__(self, rngs: nnx.Rngs):
        self.a = nnx.Linear(3, 2, rngs=rngs)


def test_the_paths_of_an_nnx_state():
    """A predicate on `a/bias` finds the bias of a flax module, whose weight alone decays."""
    state = jax.tree.map(jnp.ones_like, nnx.split(Layer(nnx.Rngs(0)))[1])
    groups = [{"weight_decay": 0.5}, {}]
    names = []
    label = lambda path: names.append(path) or int(path.endswith("a/bias"))  # noqa: E731
    tx = optim.param_groups(optim.sgd, groups, label, lr=1.0)
    new, _ = tx.step(jax.tree.map(jnp.zeros_like, state), tx.init(state), state)

    assert {*names} == {"a/bias", "a/kernel"}
    assert_same([new["a"][k].get_value()[0] for k in ("bias", "kernel")], [1.0, np.full(2, 0.5)])


DOTTED = {
    "function": lambda path: int(path.startswith("head.")),
    "predicates": [lambda path: not path.startswith("head."), lambda path: "head." in path],
    "tree": {"head": {"w": 0}, "trunk": {"w": 0}},
}


@pytest.mark.parametrize("labels", DOTTED)
def test_a_group_without_parameters(labels):
    """The error names the group, its options, the nearest paths, and what a path looks like."""
    params = {"head": {"w": jnp.ones(2)}, "trunk": {"w": jnp.ones(2)}}
    tx = optim.param_groups(optim.sgd, [{}, {"lr": 0.1}], DOTTED[labels], lr=1.0)
    text = (
        "no parameter is in the group 1 with {'lr': 0.1}: the label 1 matches no leaf. The paths "
        "are 'head/w', 'trunk/w'. A path joins the keys of a leaf with '/', as in "
        "'encoder/0/bias'. Correct labels=, or leave the group out"
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        tx.init(params)


@pytest.mark.parametrize("labels", ["function", "predicates", "tree"])
def test_frozen_and_masked_parameters_count_for_their_group(labels):
    """A group may have only parameters that `partition` or optax's mask has taken out."""
    given = {
        "function": lambda path: int(path == "w"),
        "predicates": [lambda path: path == "u", lambda path: path == "w"],
        "tree": {"u": 0, "w": 1},
    }
    tx = optim.param_groups(optim.sgd, [{}, {}], given[labels], lr=1.0)
    assert tx.init({"u": PARAMS["u"], "w": None}).groups.keys() == {0, 1}
    optax.masked(tx, {"u": True, "w": False}).init(PARAMS)


def test_params_without_leaves_have_empty_groups():
    """A layer without params needs no group."""
    tx = optim.param_groups(optim.sgd, [{}, {}], lambda path: int(path == "w"), lr=1.0)

    assert tx.init({}).groups.keys() == {0, 1}


def test_adagrad_reads_its_initial_sum_from_the_defaults():
    """As in torch, a group cannot set Adagrad's `initial_accumulator_value`."""
    group = {"initial_accumulator_value": 3.0, "lr": 0.5}
    tx = optim.param_groups(optim.adagrad, [group], 0, initial_accumulator_value=0.5)
    u = torch.tensor(np.asarray(PARAMS["u"]), requires_grad=True)
    theirs = torch.optim.Adagrad([{"params": [u], **group}], initial_accumulator_value=0.5)
    u.grad = torch.tensor(np.asarray(GRADS["u"]))
    theirs.step()
    out, state = run(tx, GRADS, 1)

    assert_same(out["u"], u.detach().numpy(), 1e-15)
    assert_same(state.groups[0].sum["u"], theirs.state[u]["sum"].numpy(), 1e-15)


def test_a_group_of_adamw_may_turn_decoupling_off():
    """`decoupled_weight_decay` is an option of AdamW's groups, not an argument of AdamW."""
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
        with runs.ieee_sqrt():
            theirs.step()

    for k, leaf in leaves.items():
        np.testing.assert_array_equal(out[k], leaf.detach().numpy())
    with pytest.raises(TypeError):
        torch.optim.AdamW([leaves["u"]], decoupled_weight_decay=False)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="unexpected keyword argument 'decoupled_weight_decay'"):
        optim.param_groups(optim.adamw, groups, 0, decoupled_weight_decay=False)


def test_lbfgs_rejects_several_groups():
    """The error for L-BFGS with several groups starts with torch's message."""
    u = torch.zeros(1, requires_grad=True)
    with pytest.raises(ValueError, match="per-parameter options") as theirs:
        torch.optim.LBFGS([{"params": [u]}, {"params": [u.detach().clone()]}])
    with pytest.raises(ValueError, match="there are 2 groups: pass one") as ours:
        optim.param_groups(optim.lbfgs, [{}, {"lr": 0.1}], {"u": 0, "w": 1})

    assert str(ours.value).startswith(str(theirs.value))


def test_a_group_added_later():
    """As in torch, groups keep their state when `add_param_group` adds another."""

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
    assert_same(params, {"u": u.detach().numpy(), "w": w.detach().numpy()}, 1e-14)


def test_a_group_added_under_the_label_of_another():
    """A new group at the front would take the labels of the others, and their state be lost."""
    sgd = functools.partial(optim.param_groups, optim.sgd, momentum=0.9)
    tx = sgd([{"lr": 0.1}], {"u": 0, "w": "frozen"})
    params, state = run(tx, GRADS, 1)
    front = sgd([{"lr": 0.5}, {"lr": 0.1}], {"u": 1, "w": 0})
    text = (
        "the state has 'groups/0/started/u', for which tx has no place: each parameter stays in "
        "its group, and each group keeps its label"
    )
    with pytest.raises(ValueError, match=text):
        optim.add_param_group(front, params, state)

    scheduled = sgd([{"lr": lambda step: 0.1}], {"u": 0, "w": "frozen"})
    state = optim.add_param_group(tx, params, scheduled.init(params))
    assert state.groups[0].count is None


def test_an_unknown_option():
    """An unknown option of a group is an error; torch silently stores it."""
    typo = {"weight_deacy": 0.1}
    torch.optim.SGD([{"params": [torch.zeros(1, requires_grad=True)], **typo}])
    with pytest.raises(TypeError, match=r"sgd\(\) has no argument weight_deacy; did you mean"):
        optim.param_groups(optim.sgd, [typo], 0)
    with pytest.raises(ValueError, match="function mine is not supported"):
        optim.param_groups(optim.muon, [{"adjust_lr_fn": "mine"}], 0)


def test_the_parameters_of_a_group_are_not_one_of_its_options():
    """torch's "params" in a group is refused with the name of the argument that replaces it."""
    group = {"params": ["w"], "lr": 0.1}
    with pytest.raises(TypeError, match="no 'params' here: .*`labels` says which parameters"):
        optim.param_groups(optim.adamw, [group], 0)


def test_an_unknown_option_names_the_factory_that_was_given():
    """AdamW's groups are Adam's inside, but the error says `adamw` and torch's name."""
    with pytest.raises(TypeError, match=r"adamw\(\) has no argument b1; torch's name is betas"):
        optim.param_groups(optim.adamw, [{"b1": 0.5}], 0)
    with pytest.raises(TypeError, match=r"adamw\(\) has no argument learning_rate"):
        optim.param_groups(optim.adamw, [{}], 0, learning_rate=0.5)


def test_a_built_optimizer_is_not_a_factory():
    """`param_groups` takes `adamw`, not `adamw()`, and says so."""
    with pytest.raises(TypeError, match="pass the factory, such as jaxgrad.optim.adamw"):
        optim.param_groups(optim.adamw(), [{"lr": 0.1}], 0)  # pyright: ignore[reportArgumentType]


def test_labels_that_are_not_names_of_groups_are_refused():
    """A function of the whole tree, as optax takes it, raises an error that says what is taken."""
    tx = optim.param_groups(optim.adamw, {"a": {}}, lambda params: {"w": "a"})
    with pytest.raises(TypeError, match="labels= gave a dict for the parameter 'w'.*in optax"):
        tx.init({"w": np.ones(2)})


def test_defaults_need_not_be_complete():
    """A required argument of a custom factory may come from the groups alone."""
    tx = optim.param_groups(lambda lr: optim.sgd(lr, 0.0), [{"lr": 0.5}], 0)
    out, _ = run(tx, GRADS, 1)

    assert_same(out["w"], PARAMS["w"] - 0.5 * GRADS["w"])


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (
            [lambda path, leaf: True],
            "labels[0] is called with (path), but it takes (path, leaf); "
            "write it as in lambda path: path.endswith('bias')",
        ),
        (
            lambda: 0,
            "labels= is called with (path), but it takes (); "
            "write it as in lambda path: 1 if path.endswith('bias') else 0",
        ),
    ],
)
def test_a_label_of_other_arguments_is_named(labels, text):
    """A function of other arguments, such as a predicate of `partition`, raises with the form."""
    tx = optim.param_groups(optim.sgd, [{}], labels, lr=0.1)
    with pytest.raises(TypeError) as error:
        tx.init({"w": jnp.ones(2)})
    assert str(error.value) == text
