"""Operators that are functions of `jaxgrad.functional`."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        chosen = torch.zeros_like(h).scatter_(1, h.argmax(1, keepdim=True), value=1)
        return h * chosen


def test_scatter_of_one_number():
    assert agrees(Chosen(), X)


class Experts(nn.Module):
    """Each row goes to two of three experts, whose rows are multiplied as groups."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.weight = nn.Parameter(torch.randn(3, 4, 8) / 2)
        self.number = 3

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        experts, order = torch.sort(chosen.reshape(-1))
        counts = torch.histc(experts.float(), bins=self.number, min=0, max=self.number - 1)
        ends = torch.cumsum(counts, 0, dtype=torch.int32)
        rows = nn.functional.grouped_mm(x[order // 2], self.weight, offs=ends)
        rows = rows * weights.reshape(-1)[order].unsqueeze(-1)
        return x.new_zeros(len(x), 8).index_add(0, order // 2, rows)


@pytest.mark.slow
def test_a_mixture_of_experts_with_grouped_products():
    assert agrees(Experts(), np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32))


class Sampled(nn.Module):
    """A function that draws numbers: of the classes of each row, or of a pooling's windows."""

    def __init__(self, draw):
        super().__init__()
        self.fc, self.draw = nn.Linear(4, 4), draw

    def forward(self, x):
        h = self.fc(x)
        if self.draw == "gumbel_softmax":
            return nn.functional.gumbel_softmax(h, tau=0.5, hard=True)
        return nn.functional.fractional_max_pool2d(h[None, None], 2, output_size=2)


@pytest.mark.parametrize("draw", ["gumbel_softmax", "fractional_max_pool2d"])
def test_a_function_that_draws_gets_a_key(draw):
    ported = port(Sampled(draw), (np.float32(np.random.default_rng(0).normal(size=(4, 4))),))
    assert ported.source.count("key=rng") == 1
    assert ported.report is not None and ported.report.verdict == "pass"


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool, self.fc = nn.FractionalMaxPool2d(2, output_ratio=0.5), nn.Linear(4, 4)

    def forward(self, x):
        return nn.functional.rrelu(self.pool(self.fc(x)), training=False)


def test_a_function_without_a_draw_in_this_mode_gets_no_key():
    """The layer passes `_random_samples=None`; rrelu draws only with `training=True`."""
    x = np.float32(np.random.default_rng(0).normal(size=(1, 2, 4, 4)))
    source = port(Pooled(), (x,)).source
    assert source.count("key=rng") == 1 and "rrelu" in source
