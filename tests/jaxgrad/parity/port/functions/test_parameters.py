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
