"""Programs in both frameworks, and helpers that extract facts from their graphs and pictures."""

# torch, flax and numpy declare results as unions; the tests know the actual type.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIncompatibleMethodOverride=false

import itertools
import re
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from torch import nn

from jaxgrad.graph import Graph
from jaxgrad.graph._panels import fit
from jaxgrad.graph._words import describe
from jaxgrad.parity.torch_graph import record
from parity_tests.case import identity
from parity_tests.cases._net import linear, mse


X, Y = jnp.ones((3, 6)), jnp.ones((3, 1))


def net(*sizes: int) -> Any:
    """Return the parameters of linear layers l1, l2, ..."""
    rng = np.random.default_rng(0)
    return {
        f"l{i + 1}": {
            "weight": jnp.asarray(rng.standard_normal((b, a))),
            "bias": jnp.asarray(rng.standard_normal(b)),
        }
        for i, (a, b) in enumerate(itertools.pairwise(sizes))
    }


def loss(params, x, stop=identity):
    """Return the mean squared error of a two-layer network, with `stop` applied after layer 1."""
    h = stop(jnp.tanh(linear(params["l1"], x)))
    return mse(linear(params["l2"], h), Y)


def torch_net() -> nn.Module:
    """Return a two-layer network with the same names as `net`."""
    torch.manual_seed(0)
    layers = {"l1": nn.Linear(6, 4), "act": nn.Tanh(), "l2": nn.Linear(4, 1)}
    model = nn.Module()
    for name, layer in layers.items():
        model.add_module(name, layer)
    return model


def torch_step(cut: str = "") -> Graph:
    """Record a backward pass of `torch_net` with its first layer's gradient stopped by `cut`."""
    model: Any = torch_net()
    x, y = torch.ones(3, 6), torch.ones(3, 1)
    modes = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode}

    def program():
        with modes.get(cut, torch.enable_grad)():
            h = model.act(model.l1(x))
        h = {"detach": h.detach, "inference_mode": h.clone}.get(cut, lambda: h)()
        nn.functional.mse_loss(model.l2(h), y).backward()

    (graph,) = record(program)
    return graph


def states(graph: Graph) -> dict[str, set[str]]:
    """Map each module to the states of its operations."""
    by_module: dict[str, set[str]] = {}
    for op in graph.ops:
        by_module.setdefault(".".join(op.scope), set()).add(op.state)
    return by_module


def grads(graph: Graph) -> dict[str, float | None]:
    """Map each leaf that can have a gradient to the norm of that gradient."""
    return {leaf.name: leaf.grad for leaf in graph.leaves if leaf.slot}


def drawn(svg: str) -> str:
    """Return a picture's SVG elements other than text."""
    body = svg[svg.index("</style>") :]
    return re.sub(r"<(title|text)[^>]*>[^<]*</\1>", "", body)


def texts(svg: str) -> list[str]:
    """Return a picture's text strings in drawing order."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def described(graphs: dict[str, Graph]) -> dict[str, str]:
    """Describe in words each setting's lanes, cuts, gradients and errors."""
    (panel,) = fit([graphs]).panels
    return {name: describe(panel.diagram, view) for name, view in panel.views.items()}
