"""Operators that join tensors."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cat([torch.tensor([]), self.fc(x), x], dim=-1)


def test_a_tensor_without_elements_and_dimensions_is_skipped():
    assert agrees(Joined(), X)


class Stacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        wide, tall = torch.hstack([h, x]), torch.vstack((x, h))
        deep, columns = torch.dstack([h, x]), torch.column_stack([h[:, 0], x[:, 1]])
        return wide.sum(1) @ tall[:3] + deep[:, :, 0] * columns[:, :1]


def test_stacks_have_the_names_of_numpy():
    text = source(Stacks(), X)
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        assert f"jnp.{name}(" in text
    assert agrees(Stacks(), X)
