"""The statements of a loop that is written iteration by iteration."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import spectral_norm

from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.spectral_norm`")
def test_a_loop_inside_of_a_loop_over_modules_returns_their_buffers():
    """A hook's own loop changes buffers of the module at which the loop around it is."""
    layers = nn.Sequential(
        spectral_norm(nn.Linear(4, 4)), nn.Tanh(), spectral_norm(nn.Linear(4, 2))
    )
    text = source(layers, X)
    assert "module_out, p[0] = compute_weight(p[0]," in text and 'p["weight_u"] = u' in text
    assert "module_out, p[2] = compute_weight(p[2]," in text
    assert proves(layers, X)


class Reassigned(nn.Module):
    """The body gives the variable of the loop another value; the layers differ."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 3)])

    def forward(self, x):
        found, last, part = (), x, x
        for part, layer in zip((x.sin(), x.cos()), self.layers, strict=True):
            part = layer(part)  # noqa: PLW2901
            found = (*found, part)
            last = part
        return torch.cat(found, 1).sum() + last.exp().sum() + part.sum()


def test_a_variable_of_a_loop_that_is_assigned_in_its_body():
    assert proves(Reassigned(), X)
