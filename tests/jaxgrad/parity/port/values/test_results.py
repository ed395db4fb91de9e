"""The values that functions of the port return."""

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


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
