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

    assert report.verdict == "fail"
    rerun = "rerunning torch with this change reproduces JAX's outputs"
    assert report.first.cause == f"{cause} ({rerun})"
    assert report.first.tested
