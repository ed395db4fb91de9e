"""A `match` statement becomes the statements of the case that matches."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Activated(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.linear, self.kind = nn.Linear(4, 4), kind

    def forward(self, x):
        x = self.linear(x)
        match self.kind:
            case "tanh" | "gated":
                return torch.tanh(x)
            case None:
                return x
            case float() as slope:
                return x * slope
        return torch.exp(x)


@pytest.mark.parametrize("kind", ["gated", None, 0.5, "none of them"])
def test_a_setting_chooses_one_case(kind):
    """Only the case that the setting matches is written."""
    text = source(Activated(kind), X)

    assert ("jnp.tanh" in text, " * " in text) == (kind == "gated", kind == 0.5)
    assert ("jnp.exp" in text) == (kind == "none of them")
    assert agrees(Activated(kind), X)


class Pair(Activated):
    def forward(self, x):
        match x.shape:
            case (rows, 4):
                return self.linear(x) * rows


def test_a_pattern_that_takes_its_subject_apart_is_refused():
    """A sequence pattern is refused with the line of its case."""
    with pytest.raises(PortError, match="`case .rows, 4.:`: a pattern that takes its subject"):
        port(Pair("none"), (X,), prove=False)


class OfSize(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = self.linear(x)
        match x.size(0) - 1:
            case 1:
                x = torch.tanh(x)
            case n if n > 3:
                x = x * n
            case other:
                x = x + other
        return x


def test_a_case_may_depend_on_a_size():
    """The port asserts which case matches, and a name in a pattern is the matched size."""
    text = source(OfSize(), X)

    assert "assert subject != 1, (" in text and "assert subject <= 3, (" in text
    for rows in (2, 3, 6):
        assert agrees(OfSize(), np.ones((rows, 4), np.float32))
