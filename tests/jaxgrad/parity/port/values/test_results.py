"""The values that functions of the port return."""

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)


class Gaussian:
    def __init__(self, parameters: torch.Tensor) -> None:
        self.mean, self.logvar = parameters.chunk(2, -1)
        self.name = "latent"


@dataclasses.dataclass
class Output:
    latent: Gaussian
    others: Any = None


class Autoencoder(nn.Module):
    """A network whose encoder returns a record of an object, as the VAE of diffusers does."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(3, 4), nn.Linear(2, 3)

    def encode(self, x):
        return Output(Gaussian(self.encoder(x).tanh()))

    def forward(self, x):
        latent = self.encode(x).latent
        return self.decoder(latent.mean * latent.logvar.exp())


def test_an_object_in_a_record_is_returned():
    """The record has the object's tensors, which the caller reads."""
    assert agrees(Autoencoder(), X)


class Scaled(nn.Module):
    """A module that is made in the forward pass of a method, as a solver wraps its function."""

    def __init__(self, function, scale):
        super().__init__()
        self.function, self.scale = function, scale

    def forward(self, x):
        return self.function(x) * self.scale


def with_scale(function, x):
    function = Scaled(function, x.mean())
    return function, x


def scaled(function, x):
    return Scaled(function, x.mean())


class Solver(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def rate(self, x):
        return self.fc(x).tanh()

    def forward(self, x):
        return self.solve(self.rate, x)

    def solve(self, function, x):
        function, x = with_scale(function, x)
        return x + function(x)


class Nested(Solver):
    def solve(self, function, x):
        function = scaled(function, x)
        return x + function(x)


def test_the_method_of_a_module_in_a_result_keeps_the_module_of_the_caller():
    assert agrees(Solver(), X)
    assert agrees(Nested(), X)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        h = self.fc(x)
        normal = torch.distributions.Normal(h, h.exp())
        return torch.distributions.Categorical(h.softmax(-1)), normal, {"value": h.mean()}


def test_the_tensors_of_a_distribution_are_returned_in_a_dict():
    """Private attributes that repeat a public one are left out."""
    text = source(Policy(), X)
    assert '{"probs": probs}, {"loc": loc, "scale": scale}' in text and "_param" not in text
    assert proves(Policy(), X)


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x), x.shape[0], 0.5


def test_numbers_of_python_among_the_results():
    """torch has no tensor for them, so the proof compares the others."""
    assert proves(Counted(), X)
