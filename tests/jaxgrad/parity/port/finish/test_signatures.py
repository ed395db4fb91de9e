"""Every function has its parameters in one order."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as tf
from torch.utils.checkpoint import checkpoint

import jaxgrad
from tests.jaxgrad.parity.port._ports import source


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Unit(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.fc, self.scale = nn.Linear(3, 3), scale

    def forward(self, x, gain):
        return tf.dropout(self.fc(x) * self.scale + gain, 0.5, self.training)


class Net(nn.Module):
    def __init__(self, recompute=False):
        super().__init__()
        self.first, self.second, self.recompute = Unit(2), Unit(3), recompute

    def forward(self, x):
        if self.recompute:
            return checkpoint(self.first, x, x, use_reentrant=False)
        return self.second(self.first(x, x), gain=x)


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)


def test_the_key_and_the_mode_are_last_and_passed_by_name():
    """Tensors come before constants, and constants before `rng` and `training`."""
    text = source(Net(), X)
    assert "def unit(p, x, gain, *, scale, rng, training):" in text
    assert 'unit(p["first"], x, x, scale=2, rng=' in text


def test_the_key_of_a_function_that_is_recomputed_stays_an_argument():
    """`jax.checkpoint` differentiates what is passed by position."""
    text = source(Net(recompute=True), X)
    assert "def unit(p, x, gain, rng, *, scale=2, training):" in text


def test_an_entry_that_draws_in_eval_mode_needs_a_key_by_name():
    """The docstring says that the key is always needed."""
    text = source(Noisy(), X)
    assert "def noisy(p, x, *, rng):" in text and "eval mode needs none" not in text


def waves(t, width, period=100.0):
    return torch.cos(t[:, None] * math.log(period) / width)


class Timed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, t):
        return waves(t, self.width)


def test_keywords_have_the_order_of_the_torch_function():
    """A keyword with a default is after those without one, as in torch."""
    text = jaxgrad.port(Timed(8), (X[:, 0],), style="nnx").source
    assert "def waves(t, *, width, period=100.0):" in text
