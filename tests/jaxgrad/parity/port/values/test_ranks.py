"""The entry asserts the numbers of dimensions of its inputs; tests on others are folded."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


class Pooled(nn.Module):
    def forward(self, h):
        return h.mean(1) if h.dim() == 3 else h


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.pooled = nn.Linear(4, 4), Pooled()

    def forward(self, x):
        dims = x.ndim
        if len(x.shape) not in (3, 4):
            raise ValueError
        h = self.linear(x)
        if dims > 3 and h.shape[0] > 1:
            h = h * 2
        return self.pooled(h)


def test_the_entry_asserts_what_a_test_deep_inside_reads():
    ported = port(Deep(), (X,), prove=False)
    assert ported.source.count("assert") == 1 and "if " not in ported.source
    assert agrees(Deep(), X)
    params = ported.params(Deep().state_dict())
    with pytest.raises(AssertionError, match="this port holds for x.ndim == 3, as in the example"):
        ported.fn(params, X[0])


def test_the_dimensions_of_inputs_are_among_the_assumptions():
    (only,) = port(Deep(), (X,), prove=False).assumptions
    assert only.text == "x.ndim == 3" and only.place.text.strip() == "def forward(self, x):"


class InContainers(nn.Module):
    def forward(self, parts):
        first, rest = parts["first"], parts["rest"]
        return first * rest[0].sum() if rest[0].ndim == 2 else first


def test_arrays_in_containers_are_asserted_too():
    """The entry asserts the number of dimensions of each array in a dict or a list."""
    text = source(InContainers(), {"first": X, "rest": [X[0]]})
    assert "parts['first'].ndim == 3" in text and "parts['rest'][0].ndim == 2" in text


class Squeezed(nn.Module):
    def forward(self, x):
        y = x.squeeze()
        return y.sum(0) if y.dim() == 2 else y.tanh()


def test_after_a_squeeze_of_any_size_the_test_stays_where_it_is():
    ported = port(Squeezed(), (X[:1],), prove=False)
    assert "assert y.ndim == 2" in ported.source
    with pytest.raises(AssertionError, match="y.ndim == 2"):
        ported.fn({}, X)


class OfParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, x):
        return x @ self.weight if self.weight.ndim == 2 else x * self.weight


def test_the_dimensions_of_parameters_are_configuration():
    assert "assert" not in source(OfParameters(), X)
