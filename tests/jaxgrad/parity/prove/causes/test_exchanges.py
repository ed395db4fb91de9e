"""Weights that a port uses in each other's place are named by their names."""

from typing import Any

import jax
import torch
from torch import nn
from torch.nn import functional

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.causes.exchanges import exchangeable
from tests.jaxgrad.parity.prove._helpers import arrays, draw


def test_sibling_layers_are_exchanged_as_a_whole():
    """Layers of one parent whose weights have equal shapes are exchanged, in all blocks alike."""
    shapes = {
        f"h.{k}.{name}.weight": (3, 2) if name != "down" else (2, 3)
        for k in range(2)
        for name in ("gate", "up", "down")
    }

    assert list(exchangeable(shapes)) == [
        (
            "the weights of h.*.gate and of h.*.up",
            [(f"h.{k}.gate.weight", f"h.{k}.up.weight") for k in range(2)],
        )
    ]


def test_weights_of_one_layer_are_exchanged_if_their_shapes_are_equal():
    """The scale and the shift of a norm may be exchanged, the kernel and the bias may not."""
    shapes = {"norm.weight": (3,), "norm.bias": (3,), "fc.weight": (2, 3), "fc.bias": (2,)}

    assert list(exchangeable(shapes)) == [
        ("norm.weight and norm.bias", [("norm.weight", "norm.bias")])
    ]


def test_the_directions_of_a_recurrent_layer_are_exchanged_as_a_whole():
    """The weights of both directions are exchanged together."""
    names = "rnn.weight_ih_l0", "rnn.weight_hh_l0"
    shapes = {n + end: (4, k + 2) for k, n in enumerate(names) for end in ("", "_reverse")}
    texts = dict(exchangeable(shapes))

    pairs = texts["the weights of the two directions of rnn"]
    assert pairs == [(name, f"{name}_reverse") for name in names]


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x) ** 2)


def gated(first: str, second: str) -> Report:
    torch.manual_seed(0)
    module = Gated()

    def linear(p: Any, name: str, x: Any) -> Any:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    def apply(p: Any, x: Any) -> Any:
        return linear(p, "down", jax.nn.silu(linear(p, first, x)) * linear(p, second, x) ** 2)

    return prove(module, apply, arrays(module), (draw(5, 3),))


def test_a_gate_and_a_projection_in_each_others_place_are_named():
    """The report names both layers, because torch with exchanged weights gives JAX's outputs."""
    gated("gate", "up").check()
    first = gated("up", "gate").first

    assert first is not None and first.torch == "(root)"
    assert "the weights of gate and of up are exchanged (rerunning torch" in first.cause
