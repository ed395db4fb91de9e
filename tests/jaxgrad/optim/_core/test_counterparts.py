"""Find the torch parameter of each leaf by name, by identity, or by position where that is safe."""

from __future__ import annotations

import re
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad import optim
from jaxgrad.optim._core.counterparts import counterparts, torch_optimizer


CODE = 'order = [name_of[id(p)] for group in optimizer.param_groups for p in group["params"]]'


def trained(groups: Any) -> tuple[Any, torch.optim.Adam]:
    """Return two layers of equal shapes and an Adam of their groups, after one step."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    adam = torch.optim.Adam(groups(model), lr=0.1)
    model(torch.tensor([[1.0, 2.0]])).square().sum().backward()
    adam.step()
    return model, adam


def head_first(model: nn.Sequential) -> Any:
    return [{"params": model[1].parameters()}, {"params": model[0].parameters(), "lr": 0.01}]


def params_of(model: nn.Sequential) -> Any:
    return {
        str(i): {name: jnp.asarray(p.detach().numpy()) for name, p in layer.named_parameters()}
        for i, layer in enumerate(model)
    }


def moments(state: Any, model: nn.Sequential, adam: torch.optim.Adam) -> bool:
    """Whether each leaf has the moment of its own torch parameter."""
    return all(
        np.array_equal(state.exp_avg[str(i)][name], adam.state[p]["exp_avg"].numpy())
        for i, layer in enumerate(model)
        for name, p in layer.named_parameters()
    )


@pytest.mark.parametrize("how", ["identity", "order", "stored names", "indices"])
def test_groups_in_another_order_than_the_modules(how):
    """With a head group first, each leaf gets its own moment although all shapes agree."""
    names: Any = {"0": {"weight": 2, "bias": 3}, "1": {"weight": 0, "bias": 1}}
    groups = head_first
    if how == "stored names":
        groups = lambda m: [  # noqa: E731
            {"params": [(f"{i}.{n}", p) for n, p in m[i].named_parameters()]} for i in (1, 0)
        ]
    model, adam = trained(groups)
    params, tx = params_of(model), optim.adam(0.1)
    if how == "identity":
        state = optim.state_from_torch(tx, params, adam, order=model)
    elif how == "order":
        order = ["1.weight", "1.bias", "0.weight", "0.bias"]
        state = optim.state_from_torch(tx, params, adam.state_dict(), order=order)
    elif how == "stored names":
        state = optim.state_from_torch(tx, params, adam)
    else:
        state = optim.state_from_torch(tx, params, adam.state_dict(), names)

    assert moments(state, model, adam)
    saved = optim.state_to_torch(state, params, adam, names)
    assert all(
        torch.equal(saved["state"][i]["exp_avg"], entry["exp_avg"])
        for i, entry in adam.state_dict()["state"].items()
    )


def test_a_list_is_in_the_order_of_a_single_group():
    """Two groups, a nested dict, or another number of leaves cannot be matched by position."""
    model, adam = trained(lambda m: m.parameters())
    leaves = [jnp.asarray(p.detach().numpy()) for p in model.parameters()]
    tx = optim.adam(0.1)
    state: Any = optim.state_from_torch(tx, [leaves[:2], leaves[2:]], adam.state_dict())
    assert np.array_equal(state.exp_avg[1][0], adam.state[model[1].weight]["exp_avg"].numpy())

    layers = list(params_of(model).values())  # JAX orders the keys: bias, weight
    with pytest.raises(ValueError, match="list of parameters contains a tree that is not a list"):
        optim.state_from_torch(tx, layers, adam.state_dict())
    with pytest.raises(ValueError, match="has 4 parameters, but the list has 3 leaves, so they"):
        optim.state_from_torch(tx, leaves[:3], adam.state_dict())
    grouped = trained(head_first)[1].state_dict()
    text = r"2 groups of 2 and 2 parameters and stores no names, .* names=\[0, 1, 2, 3\]"
    with pytest.raises(ValueError, match=text):
        optim.state_from_torch(tx, leaves, grouped)
    with pytest.raises(ValueError, match=text):
        optim.state_to_torch(tx.init(leaves), leaves, grouped)


def test_names_that_are_not_stored_need_an_order():
    """The error shows the code that finds the order, with the function that was called."""
    model, adam = trained(head_first)
    params, tx = params_of(model), optim.adam()
    text = (
        r"^the state_dict of torch's optimizer stores no names, so it is not known which of its 4 "
        r"parameters is '0.bias' \(the leaf '0/bias'\): pass the optimizer itself and its module"
    )
    with pytest.raises(ValueError, match=text) as caught:
        optim.state_from_torch(tx, params, adam.state_dict())
    assert CODE in str(caught.value)
    assert "\n    state_from_torch(tx, params, optimizer, order=model)\n" in str(caught.value)
    with pytest.raises(ValueError, match=text) as caught:
        optim.state_to_torch(tx.init(params), params, adam.state_dict())
    assert "\n    state_to_torch(state, params, state_dict, order=order)\n" in str(caught.value)
    with pytest.raises(ValueError, match="is 'w' ") as caught:
        optim.state_from_torch(tx, {"p": jnp.ones(2)}, adam.state_dict(), {"p": "w"})
    assert "\n    state_from_torch(tx, params, optimizer, names, order=model)\n" in str(
        caught.value
    )
    saved = optim.state_to_torch(tx.init(params), params, adam, order=model)
    assert saved["param_groups"] == adam.state_dict()["param_groups"]


ORDERS = {
    "too short": (["0.weight"], "has 4 parameters, but order= has 1 names, ['0.weight']: pass"),
    "a string": ("0.weight", "has 4 parameters, but order= has 8 names"),
    "twice": (["0.weight"] * 4, "order= has the name '0.weight' 4 times"),
}


@pytest.mark.parametrize("case", ORDERS)
def test_an_order_that_does_not_fit(case):
    """An order of another length, or with a name twice, is refused."""
    order, text = ORDERS[case]
    model, adam = trained(head_first)
    with pytest.raises(ValueError, match=re.escape(text)):
        optim.state_from_torch(optim.adam(), params_of(model), adam.state_dict(), order=order)


def test_an_order_against_the_stored_names():
    """An order that permutes the stored names is refused; other names are allowed."""
    model, adam = trained(lambda m: m.named_parameters())
    names = [name for name, _ in model.named_parameters()]
    text = "order= has '1.bias' for parameter 0 .* own name for it (param_names) is '0.weight': le"
    with pytest.raises(ValueError, match=re.escape(text).replace(r"\.\*", ".*")):
        torch_optimizer(adam.state_dict(), names[::-1])
    assert torch_optimizer(adam.state_dict(), [*"abcd"]).names == (*"abcd",)


def test_names_of_some_groups_only():
    """torch stores names for all groups, so a part of them is an error."""
    saved = {"state": {}, "param_groups": [{"params": [0], "param_names": ["w"]}, {"params": [1]}]}
    with pytest.raises(ValueError, match="group 1 .* has 1 parameters, but 0 names in param_names"):
        torch_optimizer(saved, None)


def test_a_module_in_which_parameters_are_not_found():
    """Identity needs the optimizer itself, and the module that it trains."""
    model, adam = trained(head_first)
    text = "order= is the module Sequential, .* pass the optimizer itself, as in state_from_torch"
    with pytest.raises(ValueError, match=text):
        torch_optimizer(adam.state_dict(), model)
    text = r"parameter 0 of torch's optimizer, of shape \(2, 2\), is not a parameter of the Sequ"
    with pytest.raises(ValueError, match=text):
        torch_optimizer(adam, trained(head_first)[0])


def test_a_parameter_for_two_leaves():
    """Two leaves cannot share one torch parameter."""
    optimizer = torch_optimizer({"state": {}, "param_groups": [{"params": [0, 1]}]}, ["w", "b"])
    with pytest.raises(ValueError, match="'x' and 'y' both correspond to torch's 'w': give each"):
        counterparts({"x": 1, "y": 2}, optimizer, {"x": "w", "y": "w"})
