"""Loops over several sequences at once."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import proves


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Zipped(nn.Module):
    def __init__(self, others):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.others = nn.ModuleList(others)

    def forward(self, x):
        for layer, other in zip(self.layers, self.others, strict=False):
            x = layer(x)
            if other is not None:
                x = other(x)
        return x


def test_a_list_of_modules_without_parameters_has_a_place_in_the_params():
    assert proves(Zipped([nn.Tanh(), nn.Tanh(), nn.Tanh()]), X)
    assert proves(Zipped([None, None, None]), X)


class Spread(Zipped):
    def forward(self, x):
        both = [self.layers, self.others]
        for layer, other in zip(*both, strict=False):
            x = other(layer(x))
        return x


def test_zip_of_a_list_of_sequences():
    assert proves(Spread([nn.Tanh(), nn.Tanh(), nn.Tanh()]), X)


class Children(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.again = self.first
        self.none = None
        self.last = nn.Linear(4, 4)
        self.register_module("missing", None)

    def forward(self, x):
        for layer in self.children():
            x = layer(x).tanh()
        return x


def test_a_module_with_two_names_is_a_child_once():
    assert proves(Children(), X)


class Scaled(nn.Module):
    """The params of the inner lists are dicts, which a loop cannot unpack."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        pairs = [[nn.Parameter(torch.randn(4)) for _ in range(2)] for _ in range(2)]
        self.scales = nn.ParameterList(nn.ParameterList(pair) for pair in pairs)

    def forward(self, x):
        for layer, (scale, shift) in zip(self.layers, self.scales, strict=True):
            x = layer(x) * scale + shift
        return x


def test_lists_of_parameters_are_unpacked():
    assert proves(Scaled(), X)


class Started(nn.Module):
    """Elements of a list are replaced in a loop that counts from one; the norms have buffers."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.BatchNorm1d(4) for _ in range(2))

    def forward(self, x):
        found = [x, x.sin(), x.cos()]
        for n, layer in enumerate(self.layers, start=1):
            found[n] = layer(found[n])
        pairs = list(enumerate(found, 1))
        return torch.cat([part * n for n, part in pairs], 1)


def test_enumerate_counts_from_its_start():
    assert proves(Started(), X)
