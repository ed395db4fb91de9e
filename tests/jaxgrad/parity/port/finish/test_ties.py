"""A port with tied weights returns params with the tree structure of its input."""

from typing import Any

import jax
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Tied(nn.Module):
    """A layer with two names, the second in a submodule without other parameters."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3, bias=False)
        self.b, self.norm = nn.ModuleDict({"fc": self.a}), nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(self.b["fc"](self.a(x)))


class Block(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.fc, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.fc.weight = first.weight

    def forward(self, x):
        return self.norm(self.fc(x).tanh())


class Blocks(nn.Module):
    """A weight that the first layer shares with each block of a list, beside untied parameters."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.blocks = nn.ModuleList([Block(self.first), Block(self.first)])

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x


@pytest.mark.parametrize("kind", [Tied, Blocks])
def test_the_returned_params_have_the_structure_of_the_given_ones(kind):
    module = kind()
    ported = port(module, (X,), prove=False)
    params = ported.params(module.state_dict())

    _, returned = ported.fn(params, X, training=True)

    assert jax.tree.structure(returned) == jax.tree.structure(params), ported.source


@pytest.mark.parametrize("kind", [Tied, pytest.param(Blocks, marks=pytest.mark.slow)])
def test_a_training_step_with_tied_weights_is_proved(kind):
    ported = port(
        kind(), (X,), optimizer=lambda p: torch.optim.SGD(p, 0.1), loss=nn.MSELoss(), targets=(X,)
    )

    assert {k: r.verdict for k, r in ported.reports.items()} == {
        "train": "pass", "eval": "pass", "step": "pass"
    }  # fmt: skip


class Shared(nn.Module):
    def __init__(self, both):
        super().__init__()
        self.norm, self.fc, self.both = nn.BatchNorm1d(3), nn.Linear(3, 3), both
        self.again = nn.ModuleDict({"norm": self.norm})

    def forward(self, x):
        x = self.fc(self.norm(x) if self.both else x)
        return self.again["norm"](x)


def test_a_layer_whose_buffers_change_under_two_names_is_refused():
    """Each name would have statistics of its own."""
    with pytest.raises(PortError) as caught:
        port(Shared(both=True), (X,), prove=False)

    line = Shared.forward.__code__.co_firstlineno + 1
    assert str(caught.value).startswith(f"test_ties.py:{line} ")
    assert str(caught.value).endswith(
        "'norm.running_mean' and 'again.norm.running_mean' are one tensor, which the module "
        "changes, and it is used under both names; use it under one of them"
    )


def test_a_layer_that_is_used_under_its_second_name_is_trained_under_it():
    """torch's optimizer knows the parameters by their first names."""
    module: Any = Shared(both=False)
    ported: Any = port(
        module, (X,), optimizer=lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        loss=nn.MSELoss(), targets=(X,), prove=False,
    )  # fmt: skip

    names = ("again.norm.weight", "again.norm.bias", "fc.weight", "fc.bias")
    assert ported.order == (names,)

    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    module(torch.tensor(X)).square().sum().backward()
    optimizer.step()
    for saved in (optimizer, optimizer.state_dict()):  # by identity, and in the order of `names`
        buffer = ported.opt_state(saved).momentum_buffer["again"]["norm"]["weight"]
        expected = optimizer.state[module.norm.weight]["momentum_buffer"]
        np.testing.assert_array_equal(buffer, expected.numpy())
