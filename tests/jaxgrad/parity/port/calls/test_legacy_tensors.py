"""The constructors of torch's tensor types."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


X = (np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32),)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        scale = torch.FloatTensor([1.0, 2.0, 3.0]) + torch.Tensor([0.5])
        picked = torch.LongTensor([2, 0])
        count = torch.IntTensor([2])[0]
        return (self.linear(x) * scale)[:, picked][:, :count]


def test_a_tensor_type_makes_the_tensor_of_a_list():
    """`torch.LongTensor([2, 0])` is an array of integers, whose numbers may bound a slice."""
    torch.manual_seed(0)
    ported = port(Scaled(), X)

    assert ported.report is not None and ported.report.verdict == "pass"


class Cast(nn.Module):
    def forward(self, x):
        return torch.DoubleTensor(x)


class Nothing(nn.Module):
    def forward(self, x):
        return x + torch.FloatTensor().sum()


@pytest.mark.parametrize(
    "module, reason",
    [(Cast(), "a tensor of another dtype; call `.to`"), (Nothing(), "call torch.tensor")],
)
def test_other_calls_of_a_tensor_type_are_refused(module, reason):
    """The constructors take a list or sizes."""
    with pytest.raises(PortError, match=reason):
        port(module, X, prove=False)
