"""A test on a buffer that the module leaves as it is decides the branch of the port."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Initialized(nn.Module):
    """It changes a parameter on its first call, as data-dependent initialization does."""

    def __init__(self, done):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("done", torch.tensor(done))

    def initialize(self, x):
        if self.done:
            return
        self.fc.weight.data.copy_(x.mean() * self.fc.weight)
        self.done.fill_(True)

    def forward(self, x):
        self.initialize(x)
        return self.fc(x)


def test_a_buffer_that_stays_as_it_is_decides_the_branch():
    module = Initialized(True)
    assert "self.done" in source(module, X)  # the assumption
    assert "lax" not in source(module, X) and proves(module, X)


def test_a_buffer_that_the_module_changes_is_refused():
    with pytest.raises(PortError, match=r"test_flags.py:\d+ `"):
        source(Initialized(False), X)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        if self.calls > 3:
            scale = 1
        else:
            scale = 2
        self.calls += 1
        return x * scale


def test_a_counter_of_calls_does_not_decide_a_branch():
    with pytest.raises(PortError, match="run the module once before porting"):
        source(Counts(), X)
