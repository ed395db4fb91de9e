"""`prove` names the integers that a port reads in the place of others."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.report import Report
from tests.jaxgrad.parity.prove._helpers import arrays, draw


NODES, EDGES = 5, 9
SRC, DST = np.random.default_rng(0).integers(0, NODES, (2, EDGES))


class Graph(nn.Module):
    """Two layers in which nodes read the softmax over their edges."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

    def shares(self, score, index):
        e = score.exp()
        total = torch.zeros(NODES, 3).to(e).index_add(0, index, e)
        return e / total[index]

    def forward(self, h, src, dst):
        for layer in self.layers:
            m = layer(h[src] - 2 * h[dst])
            h = h + torch.zeros_like(h).index_add(0, dst, self.shares(m, dst) * m)
        return h


def graph(
    p: Any,
    h: Any,
    src: Any,
    dst: Any,
    summed: Callable[[Any, Any], Any] = lambda src, dst: dst,
    shared: Callable[[Any, Any], Any] = lambda src, dst: dst,
    ends: Callable[[Any, Any], Any] = lambda src, dst: (src, dst),
) -> jax.Array:
    src, dst = ends(src, dst)
    for n in range(2):
        m = (h[src] - 2 * h[dst]) @ p[f"layers.{n}.weight"].T + p[f"layers.{n}.bias"]
        e, index = jnp.exp(m), shared(src, dst)
        shares = e / jnp.zeros_like(h).at[index].add(e)[index]
        h = h + jnp.zeros_like(h).at[summed(src, dst)].add(shares * m)
    return h


def proved(**changed: Any) -> Report:
    torch.manual_seed(0)
    module = Graph()
    inputs = (draw(NODES, 3), SRC, DST)
    return prove(module, lambda p, *x: graph(p, *x, **changed), arrays(module), inputs)


def test_a_right_port_passes():
    """The sources and the targets of the edges are read where torch reads them."""
    assert proved().verdict == "pass"


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        pytest.param(
            {"summed": lambda src, dst: src},
            "in 2 calls at test_indices.py:37, JAX reads the integers of src, torch reads those "
            "of dst",
            id="summed",
        ),
        pytest.param(
            {"shared": lambda src, dst: src},
            "in 4 calls at test_indices.py:31 and test_indices.py:32, JAX reads the integers of "
            "src, torch reads those of dst",
            id="shared",
        ),
        pytest.param(
            {"ends": lambda src, dst: (dst, src)},
            "the integers of dst and of src are exchanged in all calls",
            id="ends",
        ),
        pytest.param(
            {"ends": lambda src, dst: (src, src)},
            "in 8 calls from test_indices.py:36 on, JAX reads the integers of src, torch reads "
            "those of dst",
            id="all",
        ),
    ],
)
def test_integers_that_are_read_in_the_place_of_others_are_named(changed, cause):
    """In the calls of a line, of a function, or in all calls."""
    report = proved(**changed)

    assert report.verdict == "fail" and report.first is not None
    rerun = "rerunning torch with this change reproduces JAX's outputs"
    assert report.first.cause == f"{cause} ({rerun})"
    assert report.first.tested


class Score(nn.Module):
    """A score of users and items, which is computed for two sets of items."""

    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(6, 3), nn.Embedding(9, 3)
        self.bias, self.tilt = nn.Embedding(9, 3), nn.Embedding(6, 3)

    def score(self, user, item):
        both = self.user(user) * self.item(item)
        return (both + self.bias(item) * self.tilt(user)).sum(-1)

    def forward(self, user, good, bad):
        return torch.sigmoid(self.score(user, good)) * self.score(user, bad)


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ("", ""),
        ("bias", "JAX reads the integers of user, torch reads those of good and of bad"),
        (
            "tilt",
            "JAX reads the integers of good and of bad, torch reads those of user; JAX clamps "
            "integers that are out of bounds",
        ),
    ],
)
def test_a_function_may_read_other_integers_in_each_of_its_calls(wrong, cause):
    """The integers of torch differ by call. JAX clamps integers that are too large for a table."""

    def score(p: Any, user: Any, item: Any) -> Any:
        both = p["user.weight"][user] * p["item.weight"][item]
        bias = p["bias.weight"][user if wrong == "bias" else item]
        tilt = p["tilt.weight"][item if wrong == "tilt" else user]
        return (both + bias * tilt).sum(-1)

    def port(p: Any, user: Any, good: Any, bad: Any) -> Any:
        return jax.nn.sigmoid(score(p, user, good)) * score(p, user, bad)

    module, rng = Score(), np.random.default_rng(1)
    inputs = rng.integers(0, 6, 8), rng.integers(0, 9, 8), rng.integers(0, 9, 8)
    report = prove(module, port, arrays(module), inputs)

    assert report.verdict == ("fail" if wrong else "pass"), report
    if wrong:
        line = Score.score.__code__.co_firstlineno + 2
        rerun = "rerunning torch with this change reproduces JAX's outputs"
        calls = f"2 calls of torch's {wrong} (embedding) at test_indices.py:{line}"
        text = f"in {calls}, {cause} ({rerun})"
        assert report.first is not None
        assert report.first.tested and report.first.cause == text
        assert report.surfaces["gradients"].verdict == "pass"  # with the same mistake in torch
