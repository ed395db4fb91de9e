"""A module that fills a cache on its first call is interpreted on its second."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.mask = nn.Linear(4, 4), torch.empty(0)

    def forward(self, x):
        if self.mask.shape[0] < x.shape[0]:
            self.mask = torch.ones(x.shape[0], x.shape[0]).tril()
        n = x.shape[0]
        return self.mask[:n, :n] @ self.fc(x)


def test_a_cache_in_an_attribute_is_filled_before():
    module = Cached()
    assert proves(Cached(), X)
    source(module, X)
    assert module.mask.numel() == 0  # the module is as it was


class Grown(nn.Module):
    """Its cache is a buffer, and an attribute counts what is in it."""

    def __init__(self):
        super().__init__()
        self.fc, self.length = nn.Linear(4, 4), 0
        self.table = nn.Buffer(torch.zeros(8), persistent=False)

    def forward(self, x):
        n = x.shape[0]
        if self.length < n:
            self.table[:n] = torch.arange(n) / n
            self.length = n
        return self.fc(x) * self.table[:n, None]


def test_a_buffer_that_is_filled_once_is_refused():
    with pytest.raises(PortError, match="`length` is read and then set"):
        source(Grown(), X)
