"""Operators whose JAX form is an expression."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, *grads: Any):
        (y,) = ctx.saved_tensors
        return vars(torch)["_softmax_backward_data"](
            grad_output=grads[0], output=y, dim=-1, input_dtype=torch.float32
        )


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return Softmax.apply(self.fc(x))


def test_the_backward_of_a_softmax_that_is_written_by_hand():
    assert agrees(Attends(), X)


class Contracted(nn.Module):
    """The operands of `einsum` are a list, as older programs write it."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return torch.einsum("ni,mi->nm", [h, x])


def test_einsum_takes_its_operands_as_a_list():
    assert agrees(Contracted(), X)


class Counted(nn.Module):
    """The histogram of the outputs is another output, as in a monitored layer."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return h * h, torch.histc(h.detach(), 5, min=-1, max=1)


class CountedInItsRange(Counted):
    def forward(self, x):
        return self.fc(x), torch.histc(self.fc(x).detach(), 5)


class CountedAttached(Counted):
    def forward(self, x):
        return x, torch.histc(self.fc(x), 5, min=-1, max=1)


def test_a_histogram_of_values_without_a_gradient():
    torch.manual_seed(0)
    assert proves(Counted(), X)


def test_a_histogram_without_a_range_or_with_a_gradient_is_refused():
    with pytest.raises(PortError, match="histc over the range of the values; give it min= and"):
        source(CountedInItsRange(), X)
    with pytest.raises(PortError, match="histc has no gradient in torch; detach its input"):
        source(CountedAttached(), X)
