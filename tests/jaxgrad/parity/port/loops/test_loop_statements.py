"""Loops over modules that change their buffers collect the new params of each."""

import numpy as np
import pytest
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)


class Normed(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.norm, self.scale = nn.BatchNorm1d(3), scale

    def forward(self, x):
        return self.norm(x).sin() * self.scale


class Pairs(nn.Module):
    def __init__(self, *scales: float) -> None:
        super().__init__()
        pairs = [nn.ModuleList([nn.BatchNorm1d(3), Normed(x)]) for x in scales]
        self.pairs = nn.ModuleList(pairs)

    def forward(self, x):
        for norm, block in self.pairs:  # pyright: ignore[reportGeneralTypeIssues]
            x = norm(x)
            x = block(x)
        return x


def test_a_loop_over_pairs_collects_both_modules():
    """The new params of both modules of a pair are kept, in the place of the pair."""
    assert "        pairs.append([norm, block])\n" in source(Pairs(2.0, 2.0), X)
    assert proves(Pairs(2.0, 2.0), X)


def test_turns_that_differ_are_written_one_by_one():
    """No variable is assigned to itself between the turns."""
    assert "    x = x\n" not in source(Pairs(2.0, 3.0), X)
    assert proves(Pairs(2.0, 3.0), X)


class Firsts(Pairs):
    def forward(self, x):
        for norm, _ in self.pairs:  # pyright: ignore[reportGeneralTypeIssues]
            x = norm(x).sin()
        return x


def test_a_pair_of_which_one_module_has_no_name_is_refused():
    """The params of a pair cannot be collected without its other module."""
    with pytest.raises(PortError, match="leaves out one of their modules"):
        source(Firsts(2.0, 2.0), X)
