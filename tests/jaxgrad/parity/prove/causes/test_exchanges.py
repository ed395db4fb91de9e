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


class Block(nn.Module):
    """Two norms with the same shapes, as around attention and a feed-forward layer."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(4), nn.LayerNorm(4)
        self.mix = nn.Linear(4, 4)
        for norm in (self.norm1, self.norm2):
            nn.init.normal_(norm.weight)

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + torch.tanh(self.norm2(x))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def block(p: Any, name: str, x: Any, second: str) -> Any:
    def norm(which: str, x: Any) -> Any:
        h = jax.nn.standardize(x, epsilon=1e-5)
        return h * p[f"{name}.{which}.weight"] + p[f"{name}.{which}.bias"]

    x = x + norm("norm1", x) @ p[f"{name}.mix.weight"].T + p[f"{name}.mix.bias"]
    return x + jax.numpy.tanh(norm(second, x))


def test_the_weights_of_another_layer_are_named():
    """A call that reads the weights of another layer, in one block or in all of them."""

    def cause(*second: str) -> str:
        torch.manual_seed(0)
        module = Twice()

        def port(p: Any, x: Any) -> Any:
            for k, which in enumerate(second):
                x = block(p, f"blocks.{k}", x, which)
            return x

        report = prove(module, port, arrays(module), (draw(3, 4),))
        (finding,) = report.surfaces["forward"].findings
        assert finding.tested
        return finding.cause

    def text(k: int, calls: str = "") -> str:
        return (
            f"JAX's layer_norm reads the weights of blocks.{k}.norm1, torch's those of "
            f"blocks.{k}.norm2 (rerunning torch with this change reproduces JAX's outputs{calls})"
        )

    line = Block.forward.__code__.co_firstlineno + 2
    assert cause("norm1", "norm2") == text(0)
    assert cause("norm2", "norm1") == text(1)
    both = f" if all 2 calls at test_exchanges.py:{line} are changed"
    assert cause("norm1", "norm1") == text(0, both)


def test_a_layer_that_reads_another_input_is_named():
    """Both layers read the same observation, torch's second one the next observation."""

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.online, self.target = nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, now, after):
            return torch.tanh(self.online(now)) - torch.tanh(self.target(after)).detach()

    def critic(p: Any, now: Any, after: Any) -> Any:
        online = now @ p["online.weight"].T + p["online.bias"]
        target = now @ p["target.weight"].T + p["target.bias"]
        return jax.numpy.tanh(online) - jax.lax.stop_gradient(jax.numpy.tanh(target))

    torch.manual_seed(0)
    module = Critic()
    first = prove(module, critic, arrays(module), (draw(4, 3), 2 * draw(4, 3) ** 2)).first
    assert first is not None and first.tested
    assert first.cause.startswith("JAX's target (linear) reads input 0, torch's reads input 1")
