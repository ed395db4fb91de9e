"""The example inputs of a port."""

from typing import Any

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
    with pytest.raises(PortError, match="inputs= needs arrays, got object; leave this argument"):
        source(Optional(), X, object(), X)
    assert "x * scale" in port(Optional(), {"x": X, "scale": X}, prove=False).source


@pytest.mark.parametrize("style", ["functions", "nnx"])
def test_an_input_that_is_none_stays_an_argument(style: str) -> None:
    """The port asserts that it is None, because the code for any other value is left out."""
    ported = port(Optional(), (X, None, X), style=style)
    assert "assert mask is None, " in ported.source
    assert "x * scale" in ported.source
    if style == "functions":
        space: dict[str, Any] = {}
        exec(ported.source, space)
        with pytest.raises(
            AssertionError, match="this port holds for mask=None, as in the example"
        ):
            space["optional"]({}, X, X, X)


class Asks(nn.Module):
    """It asks whether its input takes part in the graph, as quantizers do."""

    def forward(self, x):
        return x + (x.round() - x).detach() if x.requires_grad else x.round()


def test_inputs_take_part_in_the_graph():
    assert "stop_gradient" in source(Asks(), X)
