"""The params tree of a port."""

from typing import Any

import numpy as np
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
