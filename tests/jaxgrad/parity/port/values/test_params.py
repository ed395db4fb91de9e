"""The params tree of a port."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Tables(nn.Module):
    """It has tables in plain attributes, and a list of modules with a gap."""

    def __init__(self):
        super().__init__()
        angle = torch.arange(6.0).view(3, 2)
        self.turn = torch.polar(torch.ones(3, 2), angle)
        self.mask = torch.full((3, 4), float("-inf")).triu(2)
        self.table = torch.linspace(0.1, 1.2, 12).view(3, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4), None, nn.Linear(4, 4)])  # pyright: ignore[reportArgumentType]

    def forward(self, x):
        x = self.layers[2](self.layers[0](x)) + self.table
        x = torch.view_as_real(torch.view_as_complex(x.view(3, 2, 2)) * self.turn).flatten(1)
        return (x + self.mask).softmax(-1)


def test_tables_that_no_state_dict_has_are_proved():
    report = port(Tables(), (X,)).report
    assert report is not None and report.verdict == "pass"


class Listed(nn.Module):
    """A tuple of module lists, one of which has no tensors."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        missing: list[Any] = [None, None]
        self.joins = nn.ModuleList(missing)

    def forward(self, x):
        parts = (self.layers, self.joins)
        for layer, join in zip(*parts, strict=True):
            x = layer(x).tanh() if join is None else join(x)
        return x


def test_a_list_without_tensors_in_a_tuple_has_a_place_in_the_params():
    ported = port(Listed(), (np.ones((3, 4), np.float32),))
    assert ported.report is not None and ported.report.verdict == "pass"


def test_a_state_dict_of_another_module_is_refused_as_in_torch():
    """A checkpoint of DistributedDataParallel has a prefix before each name."""
    module = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).eval()
    ported = port(module, (X,))
    right = module.state_dict()
    assert ported.params(right)[0]["weight"].shape == (3, 4)
    for wrong, words in (
        ({f"module.{n}": x for n, x in right.items()}, "Unexpected key(s) in state_dict: 'module."),
        ({}, "Missing key(s) in state_dict: '0.weight', '0.bias'"),
        ({**right, "0.weight": torch.ones(4, 3)},
         "size mismatch for 0.weight: the state_dict has [4, 3], the module has [3, 4]."),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="in loading state_dict for Sequential"):
            module.load_state_dict(wrong)
        with pytest.raises(RuntimeError) as raised:
            ported.params(wrong)
        assert words in str(raised.value)


class Unused(nn.Linear):
    """It has a table that no output depends on."""

    def __init__(self):
        super().__init__(4, 3)
        self.register_buffer("table", torch.ones(2))


def test_a_key_that_the_port_does_not_use_may_be_missing():
    module = Unused()
    ported = port(module, (X,))
    state = dict(module.named_parameters())
    assert ported.params(state)["weight"].shape == (3, 4)
