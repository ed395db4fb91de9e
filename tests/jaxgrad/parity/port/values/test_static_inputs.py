"""Flags among the inputs are settings of the port, and so are numbers where arrays do not do."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


X = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, several, y, start=0, mode="sum"):
        h = self.fc(x)
        if several:
            h = h * y
        if mode == "mean":
            h = h / 2
        return h[start:]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("style", ["functions", "nnx"])
@pytest.mark.parametrize(
    ("inputs", "arguments", "lines"),
    [
        ((X, True, X), "x, y", ["h * y"]),
        ((X, False, X, 1), "x, y", ["[1:]"]),
        ((X, True, X, 0, "mean"), "x, y", ["h * y", "h / 2"]),
        ({"x": X, "several": False, "y": X, "mode": "mean"}, "x, y", ["/ 2"]),
    ],
)
def test_a_flag_is_a_setting(style: str, inputs: Any, arguments: str, lines: list[str]) -> None:
    """Its branch is folded, the arguments after it have their names, and the port is proved."""
    module = Decoder()
    ported = port(module, inputs, style=style)
    assert ported.report is not None and ported.report.verdict == "pass"
    assert f", {arguments}" in ported.source
    assert [line for line in lines if line not in ported.source] == []
    assert "forward" not in vars(module)


class Decorated(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    @torch.autocast("cpu", enabled=False)
    @torch.enable_grad()
    def forward(self, x, several, *, shift):
        return self.fc(x) + shift if several else self.fc(x)


def test_a_flag_goes_through_decorators():
    ported = port(Decorated(), {"x": X, "several": True, "shift": X})
    assert "+ shift" in ported.source
    assert "+ shift" not in port(Decorated(), {"x": X, "several": False, "shift": X}).source


class Scaled(nn.Module):
    def forward(self, x, scale):
        return x * scale


def test_a_number_is_an_array_where_it_can_be():
    ported = port(Scaled(), (X, 2.0))
    assert "def scaled(p, x, scale):" in ported.source


def test_a_refusal_gives_the_module_its_own_forward_back():
    """That holds for a `forward` that the user has replaced, too."""

    class Refused(nn.Module):
        def forward(self, x, several):
            return x[x > 0] if several else x

    module = Refused()
    own = module.forward = module.forward
    with pytest.raises(PortError, match="a mask as an index"):
        port(module, (X, True))
    assert vars(module)["forward"] is own
