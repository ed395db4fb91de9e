"""The function that is called takes the params and every input, under the author's names."""

import pytest
import torch
from torch import nn

import jaxgrad


class Sum(nn.Module):
    """Add any number of inputs, each times a weight and a scale."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))

    def forward(self, scale, *xs):
        return sum(x * self.weight for x in xs) * scale


@pytest.mark.parametrize(
    ("count", "arguments"), [(0, "p, scale"), (1, "p, scale, xs_0"), (2, "p, scale, xs_0, xs_1")]
)
def test_any_number_of_inputs(count: int, arguments: str) -> None:
    """Each of the inputs that `*xs` takes is an argument with a number."""
    inputs = tuple(torch.arange(6.0).reshape(2, 3) + n for n in range(1 + count))
    ported = jaxgrad.port(Sum(), inputs, prove=count > 0)
    assert f"({arguments})" in ported.source
