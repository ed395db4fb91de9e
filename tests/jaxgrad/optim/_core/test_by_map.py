"""torch's optimizer state through a weight map, whose order is that of a single group."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx
from torch import nn

import jaxgrad
from jaxgrad import optim
from tests.jaxgrad.optim._core.test_counterparts import CODE, head_first, trained


def kernels(model: Any) -> Any:
    """Return the params of a port whose kernels are transposed."""
    return {
        f"Dense_{i}": {
            "kernel": jnp.asarray(x.weight.detach().T),
            "bias": jnp.asarray(x.bias.detach()),
        }
        for i, x in enumerate(model)
    }


@pytest.mark.parametrize("tx", [optim.adam(0.1), optax.adam(0.1)], ids=["jaxgrad", "optax"])
def test_groups_in_another_order_need_identity_or_names(tx):
    """A head group first is refused without an order, and with one each leaf has its own moment."""
    model, adam = trained(head_first)
    params = kernels(model)
    mapped = jaxgrad.parity.weight_map(model, params)
    order = ["1.weight", "1.bias", "0.weight", "0.bias"]
    for saved, names in ((adam, model), (adam.state_dict(), order)):
        state: Any = optim.state_from_torch(tx, params, saved, mapped, order=names)
        first = state.exp_avg if hasattr(state, "exp_avg") else state[0].mu
        for i in range(2):
            expected = adam.state[model[i].weight]["exp_avg"].numpy()
            np.testing.assert_array_equal(first[f"Dense_{i}"]["kernel"].T, expected)
    text = "torch's optimizer has 2 groups of 2 and 2 parameters and stores no names, so it is not"
    for saved in (adam, adam.state_dict()):
        with pytest.raises(ValueError, match=text) as caught:
            optim.state_from_torch(tx, params, saved, mapped)
        assert CODE in str(caught.value)


def test_a_single_group_in_another_order():
    """A moment of another shape shows it, and the error gives the reason and both shapes."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    adam = torch.optim.Adam([*model[1].parameters(), *model[0].parameters()], lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    adam.step()
    params = kernels(model)
    mapped = jaxgrad.parity.weight_map(model, params)
    text = (
        r"exp_avg of '0.weight' has shape \(2, 3\), but '0.weight' has \(3, 2\). The optimizer "
        r"stores no names, so its parameters were taken in the order of model.parameters\(\) "
        r"\(0.weight, 0.bias, "
    )
    with pytest.raises(ValueError, match=text):
        optim.state_from_torch(optim.adam(), params, adam.state_dict(), mapped)


def test_names_that_the_map_does_not_have():
    """A name of the optimizer, or a leaf of params, that the map lacks is an error."""
    model, adam = trained(lambda m: m.parameters())
    params = kernels(model)
    mapped = jaxgrad.parity.weight_map(model, params)
    order = ["0.weight", "0.bias", "1.weight", "1.baias"]
    text = (
        "torch's optimizer has the parameter '1.baias', which is not in the weight map. The names"
    )
    with pytest.raises(ValueError, match=text):
        optim.state_from_torch(optim.adam(), params, adam, mapped, order=order)
    renamed = {"Dense_0": params["Dense_0"], "Dense": params["Dense_1"]}
    with pytest.raises(ValueError, match="'Dense/bias' is not in the weight map. The paths are 'D"):
        optim.state_from_torch(optim.adam(), renamed, adam, mapped)


def test_an_optimizer_of_some_parameters():
    """If the single group does not have all of the module's parameters, `order=` is needed."""
    model, adam = trained(lambda m: m[1].parameters())
    mapped = jaxgrad.parity.weight_map(model, kernels(model))
    with pytest.raises(
        ValueError, match="has 2 parameters and stores no names, but the module has 4"
    ):
        optim.state_from_torch(optim.adam(), kernels(model), adam, mapped)
    state: Any = optim.state_from_torch(optim.adam(), kernels(model), adam, mapped, order=model)

    expected = adam.state[model[1].bias]["exp_avg"].numpy()
    np.testing.assert_array_equal(state.exp_avg["Dense_1"]["bias"], expected)
    assert not state.exp_avg["Dense_0"]["bias"].any()


def test_the_leaves_of_an_nnx_state():
    """The paths of a state are those of the map, and a leaf may itself be called `value`."""
    layer = nn.Linear(2, 2)
    adam = torch.optim.Adam(layer.parameters())
    layer(torch.tensor([[1.0, 2.0]])).sum().backward()
    adam.step()
    weight, bias = (jnp.asarray(p.detach().numpy()) for p in layer.parameters())
    for params in (
        nnx.State({"bias": nnx.Param(bias), "value": nnx.Param(weight)}),
        {"head": {"bias": bias, "value": weight}},
    ):
        mapped = jaxgrad.parity.weight_map(layer, params)
        state: Any = optim.state_from_torch(optim.adam(), params, adam, mapped)
        moments = state.exp_avg if isinstance(params, nnx.State) else state.exp_avg["head"]
        value = moments["value"]
        value = value.get_value() if isinstance(value, nnx.Variable) else value
        np.testing.assert_array_equal(value, adam.state[layer.weight]["exp_avg"].numpy())


def test_a_leaf_of_parameters_with_different_step_counts():
    """Stacked layers of which one was frozen for a step have no common number of steps."""
    model: Any = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    adam = torch.optim.Adam(model.parameters())
    params = {
        "kernel": jnp.stack([jnp.asarray(x.weight.detach().numpy()) for x in model]),
        "bias": jnp.stack([jnp.asarray(x.bias.detach().numpy()) for x in model]),
    }
    mapped = jaxgrad.parity.weight_map(model, params)
    for trained_layers in (model, model[1:]):
        adam.zero_grad()
        trained_layers(torch.ones(1, 2)).sum().backward()
        adam.step()
    text = "the leaf 'bias' holds torch's '0.bias' and '1.bias', which have taken 1 and 2 steps"
    with pytest.raises(ValueError, match=text):
        optim.state_from_torch(optim.adam(), params, adam, mapped)
