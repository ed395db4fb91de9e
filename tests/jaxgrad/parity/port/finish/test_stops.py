"""A `no_grad` region stops the gradient once, where its values come in."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Region(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = self.first(x)
        with torch.no_grad():
            norm = h.norm(dim=1, keepdim=True)
            norm = norm + 1
            gate = self.second(h)
        return self.second(h / norm) * gate


def test_a_value_of_stopped_values_has_no_stop():
    """A value that reads parameters keeps its own stop."""
    text = source(Region(), X)
    assert "norm = norm + 1" in text
    assert text.count("lax.stop_gradient(") == 2


def test_each_stop_that_is_left_changes_the_gradient():
    assert agrees(Region(), X)
    for stopped in ("lax.stop_gradient(F.norm", "lax.stop_gradient(F.linear"):
        kept = stopped.replace("lax.stop_gradient(", "(")
        assert not agrees(Region(), X, without=stopped, instead=kept)


class InAnArm(nn.Module):
    """The power iteration of a spectral norm, in train mode alone."""

    def __init__(self):
        super().__init__()
        self.fc = nn.utils.spectral_norm(nn.Linear(4, 4))

    def forward(self, x):
        return self.fc(x)


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.spectral_norm`")
def test_an_arm_of_a_branch_has_no_stop_twice():
    """The port leaves out `v = v.clone()`, which stops what is stopped already."""
    text = source(InAnArm(), X)
    assert "if training:" in text
    assert text.count("lax.stop_gradient(") == 2
    assert proves(InAnArm(), X)
