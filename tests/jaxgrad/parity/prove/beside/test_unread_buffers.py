"""A buffer whose numbers are nowhere in the port is a note."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Scaled(nn.Module):
    """A linear layer of scaled inputs."""

    def __init__(self, **buffers: torch.Tensor):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("mean", buffers.get("mean", torch.zeros(3)))
        self.register_buffer("scale", buffers.get("scale", torch.ones(3)))

    def forward(self, x):
        return self.layer((x - self.mean) * self.scale)


def layer(p: Any, x: Any) -> Any:
    return x @ p["layer.weight"].T + p["layer.bias"]


def notes(module: nn.Module, port: Any) -> list[str]:
    """Return the notes on buffers of a proof that passes."""
    torch.manual_seed(0)
    report = prove(module, port, arrays(module), (X,))
    assert report.verdict == "pass", str(report)
    return [note for note in report.notes if "buffer" in note]


def test_a_port_without_a_mean_of_0_and_a_scale_of_1_is_told_so():
    assert notes(Scaled(), layer) == [
        "the numbers of torch's buffers mean, scale were not found in the port: its outputs agree "
        "for these numbers alone. If a checkpoint or training can change them, they have to come "
        "from params"
    ]


def test_only_the_buffer_that_the_port_does_not_read_is_named():
    (note,) = notes(Scaled(), lambda p, x: layer(p, x * p["scale"]))
    assert note.startswith("the numbers of torch's buffer mean were not found in the port:")


@pytest.mark.parametrize(
    ("scale", "port"),
    [
        (torch.full((3,), 0.5), lambda p, x: layer(p, 0.5 * (x - p["mean"]))),
        (torch.arange(3.0), lambda p, x: layer(p, (x - p["mean"]) * jnp.arange(3.0))),
        (torch.tensor([0.0, 1, 1]), lambda p, x: layer(p, (x - p["mean"]).at[:, 0].set(0.0))),
    ],
    ids=["a number", "a table that the port computes", "a mask"],
)
def test_a_buffer_that_the_port_holds_in_another_form_is_no_note(scale: Any, port: Any):
    assert notes(Scaled(scale=scale), port) == []


def test_a_buffer_that_torch_does_not_read_is_no_note():
    module = nn.Linear(3, 2)
    module.register_buffer("calls", torch.zeros(2))
    assert notes(module, lambda p, x: x @ p["weight"].T + p["bias"]) == []
