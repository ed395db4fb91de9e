"""A port calls the methods of lists that hold tensors."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def mixed(levels):
    back = levels.copy()
    back.reverse()
    out = [back[0]]
    for i in range(len(back) - 1):
        out.append(out[-1] * 2 + back[i + 1])
    levels[0] = levels[0] * 3
    return out[-1], levels[0] - back[-1]


class Levels(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        levels = [self.fc(x) * k for k in (1.0, 2.0, 4.0)]
        out, change = mixed(levels)
        other = levels.copy()
        other.append(x)
        return out + change + len(levels)


def test_a_copy_of_a_list_changes_alone():
    """Only the copy is reversed and appended to."""
    text = source(Levels(), X)
    assert "back.reverse()" in text
    assert "+ 3" in text
    assert agrees(Levels(), X)
    assert not agrees(Levels(), X, without="back.reverse()", instead="pass")
