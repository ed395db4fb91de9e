"""Results have names in docstrings, where the program has them."""

import numpy as np
import torch
from torch import nn
from torch.nn.functional import mse_loss

from tests.jaxgrad.parity.port._ports import source


class Losses(nn.Module):
    def __init__(self):
        super().__init__()
        self.code, self.out = nn.Linear(3, 2), nn.Linear(2, 3)

    def forward(self, x):
        parts = self.parts(self.code(x))
        return mse_loss(self.out(parts["h"]), x) + parts["penalty"], parts["h"], parts["penalty"]

    def parts(self, h):
        return {"h": torch.tanh(h), "penalty": (h**2).mean()}


def test_a_key_of_a_dict_and_a_loss_are_names():
    """A result that is read from a dict has its key's name, and a sum of losses is a loss."""
    text = " ".join(source(Losses(), np.ones((5, 3), np.float32)).split())
    assert "-> loss (), h (N, 2), penalty ()." in text


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        x, weights = self.attend(x, x, x)
        return x * weights.mean()


def test_a_module_of_torch_has_the_names_of_its_port():
    """The results of attention are the output and the weights."""
    text = " ".join(source(Attends(), np.ones((5, 3, 4), np.float32)).split())
    assert "-> attn_output (N, L, 4), attn_output_weights (N, L, L)." in text
