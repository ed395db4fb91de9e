"""Constant weights whose names say nothing are paired by what the port computes with them."""

import copy
import functools
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.align.fingerprint import MEAN
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.torch_side.side import Drawn
from jaxgrad.parity.prove.weights import pairing
from jaxgrad.parity.prove.weights.map import Piece, WeightMap
from tests.jaxgrad.parity.prove._helpers import draw


D = 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(D, 1, batch_first=True)

    def forward(self, x):
        return self.attn(x, x, x, need_weights=False)[0]


def attend(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D)) @ v


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cause", ["", "twice"])
def test_zero_biases_are_paired_by_the_values_that_follow(cause):
    """Three zero biases with names in a random order pass; a bias that is added twice fails."""
    torch.manual_seed(0)
    module = Attention()
    state = {name: x.detach().numpy() for name, x in module.attn.state_dict().items()}
    weights = dict(zip(("m0", "m1", "m2"), np.split(state["in_proj_weight"], 3), strict=True))
    params = {**weights, "m3": state["out_proj.weight"]}
    params |= {name: np.zeros(D, np.float32) for name in ("one", "two", "three", "four")}

    def port(p: Any, x: Any) -> Any:
        biases = p["two"], p["four"], p["one"] * (2 if cause else 1)
        q, k, v = (x @ p[f"m{i}"].T + b for i, b in enumerate(biases))
        return attend(q, k, v) @ p["m3"].T + p["three"]

    report = prove(module, port, params, (draw(2, 3, D),))

    assert report.verdict == ("fail" if cause else "pass")


NAMES = ("a", "b", "c")


class Scripted:
    """A port of three constant weights, whose runs agree with torch for one order of names."""

    def __init__(self, right: str, start: str = "abc"):
        zeros = {name: np.zeros(2) for name in NAMES}
        pieces = tuple(
            Piece(i, (slice(None),), name, np.arange(2), guessed=True)
            for i, name in enumerate(start)
        )
        self.weights = WeightMap(pieces, tuple(zeros.values()), zeros, NAMES)
        self.right, self.runs = right, [0]

    def replacing(self, weights: WeightMap) -> "Scripted":
        """Return the port with other weights, whose runs are counted together."""
        other = copy.copy(self)
        other.weights = weights
        return other

    @property
    def order(self) -> str:
        return "".join(piece.name for piece in self.weights.pieces)

    def watch(self, draw: Any) -> Watched:
        """Return a run in which a value of torch occurs for each weight that is right."""
        assert draw == "second"
        self.runs[0] += 1
        prints = np.zeros((3, 10))
        prints[:, MEAN] = [
            float(n + 1) if x == y else 9.0
            for n, (x, y) in enumerate(zip(self.order, self.right, strict=True))
        ]
        return Watched([self.order], {((n,), 0): row for n, row in enumerate(prints)})

    def drawn(self, *agreeing: str, draw: str = "second") -> Any:
        given: Any = SimpleNamespace()
        given.run = SimpleNamespace(
            values=[SimpleNamespace(print=np.full(10, float(n + 1))) for n in range(3)]
        )
        return SimpleNamespace(
            agrees=lambda outputs: outputs[0] in agreeing,
            draw=draw,
            occurring=functools.partial(Drawn.occurring, given),
        )


def settle(port: Scripted, first: Any, second: Any) -> tuple[Scripted, list[Watched]]:
    start = [Watched([port.order], {}), port.watch("second")]
    port.runs[0] = 0
    dump: Any = SimpleNamespace(module=None)
    made: Any = port
    watch: Any = Scripted.watch
    settled: Any = pairing.settled(made, [first, second], start, watch, dump)
    return settled


@pytest.mark.parametrize("right", ["bac", "cba", "bca", "cab"])
def test_weights_are_exchanged_until_the_outputs_agree(right):
    """One or two exchanges are found; the exchange with more equal values is kept on the way."""
    port = Scripted(right)
    found, runs = settle(port, port.drawn("abc", draw="first"), port.drawn(right))
    assert found.order == right and runs[1].outputs == [right] and runs[0].outputs == ["abc"]
    assert port.runs[0] <= 6 and port.order == "abc"


def test_outputs_that_agree_need_no_exchange():
    """The first map is kept if the second draw agrees, or if the first one already fails."""
    for first, second in ((("abc",), ("abc",)), ((), ("bac",))):
        port = Scripted("bac")
        found, runs = settle(port, port.drawn(*first, draw="first"), port.drawn(*second))
        assert port.runs[0] == 0 and found.order == "abc" and runs[1].outputs == ["abc"]


def test_the_first_map_is_kept_without_an_agreement():
    """Exchanges that only bring values nearer are undone if the outputs never agree."""
    port = Scripted("bca")
    found, runs = settle(port, port.drawn("abc", draw="first"), port.drawn("none"))
    assert found.order == "abc" and runs[1].outputs == ["abc"] and port.runs[0] > 3


def test_the_number_of_runs_is_limited(monkeypatch):
    """No more runs are made than `RUNS`."""
    monkeypatch.setattr(pairing, "RUNS", 2)
    port = Scripted("bca")
    found, _ = settle(port, port.drawn("abc", draw="first"), port.drawn("none"))
    assert port.runs[0] == 2 and found.order == "abc"
