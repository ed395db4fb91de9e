"""Copies of a function that are told from each other by a part of their modules."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)


class Stage(nn.Module):
    """A stage without a layer for its input has an empty list, as in ConvNext."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        down = [nn.LayerNorm(width), nn.Linear(width, out)]
        self.down = nn.ModuleList(down if width != out else [])
        self.body = nn.Linear(out, out)

    def forward(self, x):
        for layer in self.down:
            x = layer(x)
        return self.body(x).tanh()


class Stages(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList([Stage(4, 4), Stage(4, 6), Stage(6, 8)])

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x


def test_an_empty_list_of_modules_is_no_part():
    """The params have a place for the empty list, which the test takes for a missing part."""
    assert agrees(Stages(), X)
    assert '"down" in p' not in source(Stages(), X)


class Halved(nn.Module):
    """A method that reads no weight, and asks whether there is a layer."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.down = nn.Linear(4, 4) if out == 2 else None

    def size(self, x):
        if self.down is not None:
            y, width = x.sin().exp(), x.shape[0]
        else:
            y, width = x, 4
        return y.cos() * width

    def forward(self, x):
        x = self.body(self.size(x))
        return x if self.down is None else self.down(x)


class Both(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Halved(2), Halved(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_a_function_that_takes_no_params_does_not_ask_for_a_part():
    """The function `size` takes no params, so it cannot test whether they have a part."""
    assert agrees(Both(), X)
