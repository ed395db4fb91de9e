"""The example inputs of a port."""

import numpy as np
import pytest
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Optional(nn.Module):
    def forward(self, x, mask=None, scale=None):
        x = x if mask is None else x * mask
        return x if scale is None else x * scale


def test_an_input_that_is_not_an_array_is_refused():
    with pytest.raises(PortError, match="inputs= needs arrays, got NoneType; leave this argument"):
        source(Optional(), X, None, X)
    assert "x * scale" in port(Optional(), {"x": X, "scale": X}, prove=False).source


class Asks(nn.Module):
    """It asks whether its input takes part in the graph, as quantizers do."""

    def forward(self, x):
        return x + (x.round() - x).detach() if x.requires_grad else x.round()


def test_inputs_take_part_in_the_graph():
    assert "stop_gradient" in source(Asks(), X)
