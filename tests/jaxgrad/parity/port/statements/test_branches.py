"""A branch on the value of a tensor is `lax.cond`, even if one arm returns early."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class ReturnsEarly(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        if h.abs().sum() > 50:
            return h * 2
        h = h * h
        return h + 1


def test_the_statements_after_an_early_return_are_the_other_arm():
    assert "lax.cond" in source(ReturnsEarly(), X)
    assert proves(ReturnsEarly(), X) and proves(ReturnsEarly(), X * 100)


class Skips(nn.Module):
    """A loop that leaves out what is zero, as the Lovasz loss does with absent classes."""

    def forward(self, x):
        total = x.sum()
        for n in range(3):
            if x[n].sum() == 0:
                continue
            total = total * x[n].mean()
        return total


class Stops(nn.Module):
    def forward(self, x):
        total = x.sum()
        for n in range(3):
            if x[n].sum() > 100:
                break
            total = total * x[n].mean()
        return total


class Collects(nn.Module):
    def forward(self, x):
        parts = {"sums": [x.sum()]}
        if x.max() > 100:
            parts["sums"].append(x.mean())
        return torch.stack(parts["sums"]).sum()


@pytest.mark.parametrize(
    "module, reason",
    [
        (Skips(), "a `continue` in a branch on the value of a tensor.*torch.where"),
        (Stops(), "a `break` in a branch on the value of a tensor.*torch.where"),
        (Collects(), "a list or dict is changed in one arm of a branch"),
    ],
)
def test_what_an_arm_may_not_do_is_refused(module, reason):
    """Both arms are traced: neither may leave a loop or change a list."""
    with pytest.raises(PortError, match=reason):
        port(module, (X,), prove=False)
