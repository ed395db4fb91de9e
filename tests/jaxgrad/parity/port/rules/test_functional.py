"""Operators that are functions of `jaxgrad.functional`."""

import numpy as np
import pytest
import torch
from torch import nn

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
