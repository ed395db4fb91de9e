"""Operators that make tensors or change their dtype."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Masks(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        same = (x > 0).byte()
        axes = torch.arange(1, x.ndim).tolist()
        return (self.fc(x) * (same ^ 1)).sum(axes)


def test_bytes_and_lists_of_numbers_of_the_configuration():
    assert "jnp.uint8" in source(Masks(), X)
    assert agrees(Masks(), X)


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return h.gather(1, h.new_tensor([[2], [0], [1]], dtype=torch.long)) * h.new_tensor([0.5])


def test_a_new_tensor_has_the_dtype_that_is_given():
    assert agrees(Positions(), X)
    assert not agrees(Positions(), X, without="[0.5]", instead="[0.6]")


class Scaled(nn.Module):
    """The number is read from a tensor of the default dtype, as schedules of a diffusion are."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x) * torch.linspace(0, 1, 11)[3].item()


def test_a_number_of_a_float32_tensor_has_the_digits_that_it_was_made_of():
    """The proof in float64 makes the tensor in float64."""
    assert "* 0.3\n" in source(Scaled(), X)
    assert proves(Scaled(), X)
