"""Methods that every module has, called while the module runs."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)

    def forward(self, x):
        self.drop.eval()
        self.fc.to("cpu")
        return self.drop(self.fc(x))


def test_a_part_in_eval_mode_is_in_it_in_both_modes():
    assert "dropout" not in source(Frozen(), X)
    assert agrees(Frozen(), X)


class Flattened(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 3, batch_first=True)

    def forward(self, x):
        self.rnn.flatten_parameters()
        return self.rnn(x)[0]


def test_flatten_parameters_is_left_out():
    """The method moves the weights in memory, which changes no value."""
    assert agrees(Flattened(), X[None])


class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_0, self.layer_1 = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4))
        self.again = self.layer_0
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        for number in range(2):
            x = self.__getattr__(f"layer_{number}")(x).tanh()  # pyright: ignore[reportCallIssue]
        x = self.get_submodule("layer_1.0")(x) * self.get_buffer("scale")
        return x + len(list(self.children()))


def test_a_part_that_is_read_by_its_name():
    """`__getattr__`, `get_submodule` and `get_buffer`; a part with two names is one child."""
    assert proves(ByName(), X)
