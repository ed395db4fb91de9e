"""Checkpoints of functions of several statements."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


X = (np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32),)


class Nested(nn.Module):
    """A module that checkpoints a nested function, as torchvision's DenseNet does."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        scale = torch.sigmoid(x)

        def double(*inputs):
            joined = torch.cat([*inputs, scale], 1)
            joined = joined * torch.tanh(joined)
            return self.layers(joined) * 2

        return self.out(checkpoint(double, x, use_reentrant=False))


@pytest.mark.slow
def test_a_nested_function_of_several_statements_is_recomputed():
    """The statements of the function are those of a function under `jax.checkpoint`."""
    torch.manual_seed(0)
    ported = port(Nested(nn.Linear(6, 6), nn.Dropout(0.2)), X)

    assert ported.report is not None and ported.report.verdict == "pass"
    assert "jax.checkpoint(recomputed)(x)" in ported.source


def test_a_checkpoint_of_batch_norm_is_refused():
    """torch updates the buffers of a checkpointed layer in the backward pass once more."""
    with pytest.raises(PortError, match="around buffers that change.*without checkpoint"):
        port(Nested(nn.BatchNorm1d(6)), X, prove=False)

    assert port(Nested(nn.BatchNorm1d(6)).eval(), X, prove=False).modes == (False,)


class Counted(nn.Module):
    def forward(self, x):
        total = x

        def add():
            nonlocal total
            total = total + 1
            return total * 2

        return checkpoint(add, use_reentrant=False) + total


def test_a_checkpoint_that_assigns_a_nonlocal_is_refused():
    """The new value of the variable is made inside of the function that is recomputed."""
    with pytest.raises(PortError, match="assigns a `nonlocal`; return the value"):
        port(Counted(), X, prove=False)
