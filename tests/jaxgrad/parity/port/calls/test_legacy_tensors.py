"""The constructors of torch's tensor types."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd import Variable

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, source


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


class Old(nn.Module):
    """`Variable(x)` detaches x today."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        eye = Variable(torch.from_numpy(np.eye(3).astype(np.float32)))
        return self.fc(x) @ eye + Variable(self.fc(x), requires_grad=False)


class Leaf(nn.Module):
    def forward(self, x):
        return Variable(x, requires_grad=True)


def test_a_variable_is_detached():
    assert source(Old(), *X).count("lax.stop_gradient(") == 1
    assert agrees(Old(), *X)
    assert not agrees(Old(), *X, without="lax.stop_gradient", instead="")
    with pytest.raises(PortError, match=r"this call of Variable is not ported; call detach\(\)"):
        source(Leaf(), *X)
