"""The iterations of a loop that differ in numbers alone are written as a loop."""

import numpy as np
import torch
import torch.nn.functional as tf
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((2, 4, 9)).astype(np.float32)


class Dilated(nn.Module):
    """Convolutions with a dilation each, whose outputs are added up."""

    def __init__(self, dilations=(1, 2, 4)):
        super().__init__()
        self.dilations = dilations
        self.filters = nn.ModuleList([nn.Conv1d(4, 4, 2, dilation=d) for d in dilations])

    def forward(self, x):
        total = 0
        for dilation, f in zip(self.dilations, self.filters, strict=True):
            x = x + f(tf.pad(x, (dilation, 0)))
            total = total + torch.tanh(x)
        return total


def test_numbers_of_the_iterations_are_a_tuple():
    text = source(Dilated(), X)
    assert "for i, dilation in enumerate((1, 2, 4)):" in text
    assert 'F.conv1d(F.pad(x, (dilation, 0)), **p["filters"][i], dilation=dilation)' in text
    assert agrees(Dilated(), X)
    assert not agrees(Dilated(), X, without="(1, 2, 4)", instead="(1, 2, 3)")


class Alternating(nn.Module):
    """Two kinds of layers, one after the other."""

    def __init__(self):
        super().__init__()
        sizes = [1, 3] * 3
        self.layers = nn.ModuleList([nn.Conv1d(4, 4, k, padding=k // 2) for k in sizes])

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
            x = torch.tanh(x)
        return x


def test_layers_that_alternate_have_a_loop_over_their_numbers():
    text = source(Alternating(), X)
    assert text.count("F.conv1d") <= 2
    assert agrees(Alternating(), X)


def test_statements_of_the_author_stay_as_they_are():
    class Written(Alternating):
        def forward(self, x):
            x = torch.tanh(self.layers[0](x))
            x = torch.tanh(self.layers[2](x))
            x = torch.tanh(self.layers[4](x))
            x = torch.tanh(self.layers[1](x))
            x = torch.tanh(self.layers[3](x))
            return torch.tanh(self.layers[5](x))

    assert "\n    for " not in source(Written(), X)


class Shifted(Alternating):
    """Each iteration reads another parameter, which is not an element of a list."""

    def __init__(self):
        super().__init__()
        self.early, self.late = (nn.Parameter(torch.tensor(v)) for v in (0.5, -0.5))

    def forward(self, x):
        for i, layer in enumerate(self.layers[:2]):
            x = x * 2
            shift = self.early if i == 0 else self.late
            x = torch.tanh(layer(x) + shift)
            x = x * 3
        return x


class Signed(Alternating):
    def forward(self, x):
        for layer, sign in zip(self.layers[::2], (1, -1, 1), strict=True):
            x = torch.tanh(layer(x) * sign)
            x = x * 2
        return x


def test_iterations_that_differ_in_more_than_a_number_are_not_a_loop():
    """Another name of a parameter, and another sign, are not an index."""
    text = source(Shifted(), X)
    assert 'p["early"]' in text and 'p["late"]' in text
    assert agrees(Shifted(), X)
    assert agrees(Signed(), X)
