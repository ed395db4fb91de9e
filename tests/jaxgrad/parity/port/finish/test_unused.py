"""A part of a tuple that nothing reads has no name."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x):
        batch, length, features = x.shape  # noqa: RUF059 - a person's program
        out, (h, c) = self.lstm(x)  # noqa: RUF059 - a person's program
        return out.reshape(batch, -1), h


class Total(Last):
    def forward(self, x):
        return super().forward(x)[1]


def test_an_unpacked_value_that_is_not_read_is_an_underscore():
    """Names that the function reads stay."""
    x = np.ones((2, 5, 3), np.float32)
    text = source(Last(), x)
    assert "batch, _, _ = x.shape" in text and "out, (h, _) = lstm(" in text
    assert agrees(Total(), x)


class Numbered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x):
        for n, layer in enumerate(self.layers):
            x = layer(x).tanh()
            if x.dim() > 9:
                x = x * n
        return x


def test_a_loop_that_does_not_read_its_number_does_not_count():
    x = np.ones((2, 3), np.float32)
    assert 'for layer in p["layers"]:' in source(Numbered(), x)
    assert agrees(Numbered(), x)
