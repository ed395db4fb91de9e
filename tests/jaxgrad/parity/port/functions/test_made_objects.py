"""Objects that a module makes of its configuration and fills with tensors."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Layer:
    def __init__(self):
        self.ready = False
        self.keys: Any = None

    def update(self, keys):
        if not self.ready:
            self.keys = torch.tensor([], dtype=keys.dtype)
            self.ready = True
        self.keys = torch.cat([self.keys, keys], dim=-2)
        return self.keys


class Cache:
    def __init__(self):
        self.layers = [Layer(), Layer()]

    def update(self, keys, number):
        return self.layers[number].update(keys)


class Block(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number, self.fc = number, nn.Linear(4, 4)

    def forward(self, x, cache):
        h = cache.update(self.fc(x), self.number)
        return h.tanh()


class Cached(nn.Module):
    def __init__(self, twice=False):
        super().__init__()
        self.blocks, self.twice = nn.ModuleList([Block(0), Block(1)]), twice

    def forward(self, x):
        cache = Cache()
        for block in self.blocks:
            x = block(x, cache)
        if self.twice:
            return x + cache.layers[0].keys.sum()
        return x


def test_a_cache_that_the_forward_makes_is_taken_apart():
    assert proves(Cached(), X)
    assert "concatenate" not in source(Cached(), X)  # of an empty tensor


def test_a_value_that_another_function_stored_is_refused():
    with pytest.raises(PortError, match="set in one function and read in another"):
        source(Cached(twice=True), X)
