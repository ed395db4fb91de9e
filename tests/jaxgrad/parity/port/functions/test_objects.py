"""Objects that are made of tensors are taken apart: each attribute is a value of the port."""

import numpy as np
import pytest
import torch
from torch import distributions, nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Scaler:
    def __init__(self, h, eps=1e-5):
        self.mean, self.std = h.mean(-1, keepdim=True), h.std(-1, keepdim=True) + eps

    @property
    def centre(self):
        return self.mean.detach()

    def apply(self, h):
        h = h - self.centre
        return h / self.std

    def shift(self, by):
        self.mean = self.mean + by


def _shifts(scaler):
    scaler.mean = scaler.mean * 2
    return scaler.mean


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        h = self.layer(x)
        scaler = Scaler(h)
        h = scaler.apply(h)
        scaler.shift(1.5)
        return scaler.apply(h)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.log_std = nn.Linear(4, 2), nn.Parameter(torch.zeros(2))

    def forward(self, x):
        mean = self.mean(x)
        normal = distributions.Normal(mean, self.log_std.exp())
        choice = distributions.Categorical(logits=mean)
        wide = distributions.Normal(0.0, 2.0)
        terms = (
            normal.log_prob(mean.detach() + 1).sum(-1),
            normal.entropy().sum(-1),
            choice.log_prob(mean.argmax(-1)),
            choice.entropy(),
            distributions.kl_divergence(normal, wide).sum(-1),
        )
        return torch.stack(terms)


def test_a_method_becomes_a_function_of_the_attributes():
    """A method that sets nothing is a function; one that sets attributes is written in place."""
    torch.manual_seed(0)
    text = source(Scaled(), X)
    assert "def apply(mean, std, h):" in text
    assert "mean = mean + 1.5" in text
    assert agrees(Scaled(), X)
    assert not agrees(Scaled(), X, without="mean = mean + 1.5", instead="mean = mean + 0.5")


@pytest.mark.slow
def test_distributions_are_written_by_their_formulas():
    """The log-probabilities, entropies and divergences of torch have torch's gradients."""
    torch.manual_seed(0)
    assert agrees(Policy(), X)
    assert not agrees(Policy(), X, without="jnp.log(scale)", instead="lax.stop_gradient(scale)")


def test_an_object_that_is_set_by_another_function_is_refused():
    """A function that gets an object may read its attributes, and not set them."""

    class Passed(Scaled):
        def forward(self, x):
            scaler = Scaler(self.layer(x))
            return _shifts(scaler) + scaler.mean

    with pytest.raises(PortError, match="`mean` of an object that is an argument is set"):
        source(Passed(), X)


class Prior(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return distributions.Normal(0.0, 1.0).log_prob(self.fc(x)).sum(-1)


def test_a_method_of_torchs_distribution_is_a_function_of_the_port():
    """An object of torch that the forward pass makes is not taken apart at its calls."""
    text = source(Prior(), X)
    assert "def log_prob(value):" in text and "log_prob(F.linear(x, " in text
