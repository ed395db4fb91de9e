"""Operators that change shapes keep the sizes that torch keeps."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Expanded(nn.Module):
    """The sizes are in a variable, as `torch.fx` writes them."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        sizes = (h.shape[0],)
        sizes = (*sizes, -1)
        return h[:1].expand(sizes) * h


def test_a_size_of_minus_one_in_a_variable_is_the_size_that_is_there():
    assert agrees(Expanded(), X)
