"""The parameters of functions of the torch program."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Embedded(nn.Module):
    """Each function keeps a frequency of its own as a default."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)
        self.waves = []
        for frequency in 2.0 ** torch.linspace(0.0, 1.0, 2):
            self.waves.append(lambda x, frequency=frequency: torch.sin(x * frequency))

    def forward(self, x):
        return self.fc(torch.cat([wave(x) for wave in self.waves], -1))


def test_a_default_that_is_a_tensor_is_written_out():
    assert "jnp.array(2.0" in source(Embedded(), X)
    assert agrees(Embedded(), X)


def rk_step(net, y, h):
    return y + h * net(y)


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    def forward(self, y):
        return rk_step(self.net, rk_step(self.net, y, 0.5), 0.25)


def test_the_only_module_among_arguments_is_p():
    """A function with one module as argument takes its params as the first argument, `p`."""
    text = source(Steps(), np.ones((2, 4), np.float32))
    assert "def rk_step(p, y, *, h):" in text and "F.linear(y, **p)" in text
