"""Loops over modules that change their buffers collect the new params of each."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.naming import UNROLLED
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


@pytest.mark.slow
def test_a_loop_over_pairs_collects_both_modules():
    """The new params of both modules of a pair are kept, in the place of the pair."""
    assert "        pairs.append([norm, block])\n" in source(Pairs(2.0, 2.0), X)
    assert proves(Pairs(2.0, 2.0), X)


@pytest.mark.slow
def test_iterations_that_differ_are_written_one_by_one():
    """No variable is assigned to itself between the iterations."""
    assert "    x = x\n" not in source(Pairs(2.0, 3.0), X)
    assert proves(Pairs(2.0, 3.0), X)


class Firsts(Pairs):
    def forward(self, x):
        for norm, _ in self.pairs:  # pyright: ignore[reportGeneralTypeIssues]
            x = norm(x).sin()
        return x


def test_a_loop_over_pairs_that_leaves_out_a_module_is_unrolled():
    """The params of a pair cannot be collected without its other module."""
    assert "    for " not in source(Firsts(2.0, 2.0), X)
    assert proves(Firsts(2.0, 2.0), X)


class Side(nn.Module):
    """A loop goes over two lists of modules at once, and both lists have buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm1d(3) for _ in range(2))
        self.others = nn.ModuleList(nn.BatchNorm1d(3) for _ in range(2))

    def forward(self, x):
        for norm, other in zip(self.norms, self.others, strict=True):
            x = other(norm(x).sin())
        return x


@pytest.mark.slow
def test_a_loop_over_two_lists_that_change_their_buffers_is_unrolled():
    assert proves(Side(), X)


class Growing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    def forward(self, x, more=0, every=False):
        found, kept = [], []
        for layer in self.layers:
            x = layer(x)
            found += [x]
            kept += [x] if every else []
        for _ in range(more):
            found += [x * 2]
        return torch.cat(found, 1) + len(kept)


def test_a_loop_without_iterations_after_a_loop():
    """A loop without iterations is left out, and so is the sum of a list and an empty one."""
    assert proves(Growing(), X)
    assert "kept" not in source(Growing(), X)


class OverTime(nn.Module):
    """A recurrence behind a convolution with a stride, with a loss that refuses other lengths."""

    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(3, 4, 3, stride=2, padding=1)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x, y):
        x = self.front(x.transpose(1, 2)).transpose(1, 2)
        h = x.new_zeros(x.shape[0], 4)
        for t in range(x.shape[1]):
            h = torch.tanh(h + x[:, t])
        for layer in self.layers:
            h = layer(h)
        for power in torch.linspace(1.0, 2.0, 3):
            h = h * power
        for part in h.split(2, dim=1):
            h = h + part.sum()
        h = h + torch.stack([row.square() for row in x.unbind(1)]).sum()
        return (h - y[:, :4]).square().mean()


@pytest.mark.parametrize("style", ["functions", "nnx"])
def test_a_loop_over_the_length_of_an_input_is_named_in_the_docstring(style):
    """JAX unrolls it; loops over layers and numbers of the configuration are not named."""
    x = np.ones((2, 8, 3), np.float32)
    source = port(OverTime(), (x, np.ones((2, 7), np.float32)), style=style, prove=False).source
    assert " ".join(UNROLLED.split()).format(
        "`for t in range(x.shape[1])` and `for row in jnp.unstack(x, axis=1)`"
    ) in " ".join(source.split())
    assert source.count("JAX unrolls") == 1
    assert "for part in " in source and source.count("`for ") == 2
