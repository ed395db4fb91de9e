"""Copies of a function that take different branches of the torch source are one function."""

from typing import Any

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Block(nn.Module):
    def __init__(self, *, down, gate):
        super().__init__()
        self.lin, self.gate = nn.Linear(3, 3), gate
        self.down = nn.Linear(3, 3) if down else None

    def forward(self, x):
        identity = x if self.down is None else self.down(x)
        out = torch.tanh(self.lin(x)) + identity
        return torch.sigmoid(out) if self.gate else out


class Net(nn.Module):
    def __init__(self, first: Any, second: Any):
        super().__init__()
        self.first, self.second = Block(**first), Block(**second)

    def forward(self, x):
        return self.second(self.first(x))


def test_a_part_that_one_copy_lacks_is_looked_up_in_the_params():
    """The function asks whether the params have the part."""
    module = Net({"down": False, "gate": False}, {"down": True, "gate": False})
    text = source(module, X)
    assert text.count("def block") == 1
    assert 'if "down" in p:' in text or 'if "down" not in p:' in text
    assert agrees(module, X)


def test_a_flag_of_the_module_is_a_keyword():
    """Each call passes the value that its module has."""
    module = Net({"down": True, "gate": False}, {"down": True, "gate": True})
    text = source(module, X)
    assert text.count("def block") == 1 and "    if gate:\n" in text
    assert "gate=False" in text and "gate=True" in text
    assert agrees(module, X)
    assert not agrees(module, X, without="gate=True", instead="gate=False")


class Halves(nn.Module):
    def __init__(self, size: int, rectified: bool):
        super().__init__()
        self.size, self.rectified = size, rectified
        self.fc = nn.Linear(3, 2 * size)

    def forward(self, x):
        h = self.fc(x)
        h = h[:, : self.size] * h[:, self.size :]
        if self.rectified:
            return torch.relu(h)
        return h


class OfTwoSizes(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Halves(3, True), Halves(2, False)

    def forward(self, x):
        return self.second(self.first(x))


def test_a_constant_beside_a_branch_is_passed_too():
    text = source(OfTwoSizes(), X)
    assert "def halves(p, x, *, size, rectified):" in text
    assert "h[:, :size] * h[:, size:]" in text
    assert agrees(OfTwoSizes(), X)
