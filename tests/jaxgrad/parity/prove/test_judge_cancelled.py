"""An output whose terms cancel in torch is zero up to rounding, and decides nothing else."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.report import Report
from tests.jaxgrad.parity.prove._helpers import arrays


X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
ZERO = "1 is zero up to rounding in both frameworks"


class Standardized(nn.Module):
    """A layer whose output is standardized over the batch; `last` makes a second output of it."""

    def __init__(self, last: Callable[[Any], Any], *, first: bool = True):
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.last, self.first = last, first

    def forward(self, x):
        h = self.fc(x)
        z = (h - h.mean(0)) / h.std(0)
        last = self.last(z)
        return (torch.tanh(z), last) if self.first else last


def proof(
    torchs: Callable[[Any], Any], ports: Callable[[Any], Any], *, first: bool = True
) -> Report:
    """Prove a port that differs from torch's module in its last output at most."""
    torch.manual_seed(0)
    module = Standardized(torchs, first=first)

    def port(p: Any, x: Any) -> Any:
        h = x @ p["fc.weight"].T + p["fc.bias"]
        z = (h - h.mean(0)) / h.std(0, ddof=1)
        return (jnp.tanh(z), ports(z)) if first else ports(z)

    return prove(module, port, arrays(module), (X,))


def test_an_output_that_is_zero_up_to_rounding_leaves_the_others_proved():
    """The mean of a standardized value is 1e-17 in both programs, in different digits."""
    report = proof(lambda z: z.mean(0), lambda z: z.mean(0))

    assert report.verdict == "pass", str(report)
    assert ZERO in str(report.surfaces["forward"].text)


@pytest.mark.parametrize(
    "port", [lambda z: z.mean(0) + 1e-9, lambda z: z.std(0)], ids=["shifted", "deviation"]
)
def test_a_value_in_the_place_of_a_zero_fails(port):
    """torch's terms are near 1, so that an error of 1e-9 is no rounding."""
    report = proof(lambda z: z.mean(0), port)

    assert report.verdict == "fail"
    assert report.surfaces["forward"].verdict == "fail"


def test_an_output_that_is_zero_up_to_rounding_proves_nothing_alone():
    """Another program with an output of zeros would pass too."""
    report = proof(lambda z: z.mean(0), lambda z: z.mean(0), first=False)

    assert report.verdict == "inconclusive"


def test_a_small_output_is_compared():
    """exp(-40) is small relative to 40, and exact up to its last digits."""
    report = proof(lambda z: torch.exp(z - 40), lambda z: jnp.exp(z - 41))

    assert report.verdict == "fail"
