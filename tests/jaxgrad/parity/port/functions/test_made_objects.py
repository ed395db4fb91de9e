"""Objects that a module makes of its configuration and fills with tensors."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


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


def test_a_value_that_another_function_stored_is_read_where_that_function_is_called():
    assert proves(Cached(twice=True), X)


def test_a_value_that_another_method_of_classes_stored_is_refused():
    with pytest.raises(PortError, match="set in one function and read in another"):
        port(Cached(twice=True), (X,), style="nnx", prove=False)


class Spread:
    """A distribution that is configuration until the forward pass fills it."""

    def fill(self, mean):
        self.normal = torch.distributions.Normal(mean, torch.ones_like(mean) * 2)
        return self

    def log_prob(self, x):
        return self.normal.log_prob(x).sum(-1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.spread = nn.Linear(4, 4), Spread()

    def filled(self, x):
        return self.spread.fill(self.fc(x))

    def mean(self):
        return self.spread.normal.mean

    def forward(self, x):
        return self.filled(x).log_prob(x)[:, None] + self.mean()


def test_a_value_that_an_object_of_the_module_holds_is_passed_to_the_functions_that_read_it():
    assert proves(Policy(), X)


@pytest.mark.filterwarnings("ignore:.*weight_norm.*deprecated")
def test_a_weight_that_a_hook_sets_on_its_layer_is_passed_to_the_layer():
    """The old `weight_norm` sets a weight, which is no parameter, before each call of the layer."""
    dims: list[Any] = [0, None]
    layers = [nn.utils.weight_norm(nn.Linear(4, 4), dim=dim) for dim in dims]
    assert proves(nn.Sequential(layers[0], nn.Tanh(), layers[1], layers[0]), X)


class Kept(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.fc, self.step, self.last = nn.Linear(4, 4), step, None

    def forward(self, x):
        return self.step(self, self.fc(x))


def _reads(self, h):
    self.last = h.tanh()
    h = h * 2
    return self.last * h


def _leaves(self, h):
    self.last = h.tanh()
    return h


def _leaves_in_train_mode(self, h):
    if self.training:
        self.last = h.tanh()
        return h
    return h if self.last is None else h + self.last


def _carries(self, h):
    h = h if self.last is None else h + self.last
    self.last = h
    return h


def test_a_tensor_that_a_module_stores_and_reads_is_a_variable():
    module = Kept(_reads)
    source(module, X)
    assert module.last is None
    assert agrees(module, X)
    assert not agrees(module, X, without="last * h", instead="last + h")


def test_a_tensor_that_is_stored_for_a_reader_outside_of_the_run_is_left_out():
    """The docstring of the port names it, with its line."""
    text = source(Kept(_leaves), X)
    (line,) = [x for x in text.splitlines() if x.startswith("- `last`")]
    assert line == f"- `last` of Kept (test_made_objects.py:{_leaves.__code__.co_firstlineno + 1})"
    assert "torch also stores these values on objects; the port leaves them out:" in text
    assert agrees(Kept(_leaves), X)


def test_a_tensor_that_the_other_mode_reads_is_refused():
    with pytest.raises(PortError, match="`last` of Kept is set in one mode and read in the other"):
        source(Kept(_leaves_in_train_mode), X)


def test_a_tensor_that_the_next_call_reads_is_refused():
    with pytest.raises(PortError, match="`last` is read and then set while the module runs"):
        source(Kept(_carries), X)
