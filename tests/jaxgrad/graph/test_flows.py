"""Header arrows follow the values that modules use of each other."""

import functools

import jax
import jax.numpy as jnp
import pytest
import torch

from jaxgrad.graph import backward_graph
from jaxgrad.graph._flows import arcs, flows
from jaxgrad.graph._panels import fit
from jaxgrad.parity.torch_graph import record


def arrows(*graphs):
    """Return the header arrows of each graph, as pairs of names."""
    (panel,) = fit([{str(i): graph for i, graph in enumerate(graphs)}]).panels
    lanes = panel.diagram.lanes
    return [
        [(lanes[a], lanes[b]) for a, b in flows(panel.diagram, view)]
        for view in panel.diagram.views
    ]


def spread(params, noise, stop=lambda x: x):
    std = stop(jnp.exp(params["log_std"]))
    return jnp.mean((params["mean"] + std * noise) ** 2)


def test_two_parameters_that_are_added_are_not_a_chain():
    """The mean and the spread of a sample both lead to the loss, in torch and in JAX."""
    mean, log_std = (torch.ones(2, requires_grad=True) for _ in range(2))
    noise = torch.tensor([0.3, -0.7])

    def program():
        ((mean + log_std.exp() * noise) ** 2).mean().backward()

    (graph,) = record(program)
    params = {"mean": jnp.ones(2), "log_std": jnp.ones(2)}
    stopped = backward_graph(
        lambda params: spread(params, noise.numpy(), jax.lax.stop_gradient), params
    )
    wanted = {("log_std", "loss"), ("mean", "loss")}
    names = {leaf.name for leaf in graph.leaves}

    assert len(names) == 2
    assert set(arrows(backward_graph(lambda p: spread(p, noise.numpy()), params))[0]) == wanted
    assert set(arrows(stopped)[0]) == wanted, "the forward pass still uses the spread"
    assert len(arrows(graph)[0]) == 2 and {end for _, end in arrows(graph)[0]} == {"loss"}


def test_a_chain_has_one_arrow_from_each_module_to_the_next():
    """A residual connection past a module adds no arrow."""

    def loss(p, x):
        h = jnp.tanh(x @ p["l1"]["w"])
        return jnp.sum(jnp.tanh(h @ p["l2"]["w"]) @ p["l3"]["w"] + h)

    params = {name: {"w": jnp.ones((2, 2))} for name in ("l1", "l2", "l3")}

    assert arrows(backward_graph(loss, params, jnp.ones((1, 2)))) == [
        [("l1", "l2"), ("l2", "l3"), ("l3", "loss")]
    ]


def test_an_unused_module_has_no_arrow():
    """A module that only another setting uses is no part of the forward pass."""

    def loss(p, *, use):
        h = jnp.tanh(p["a"]["w"])
        return jnp.sum(h * p["b"]["w"] if use else h)

    params = {name: {"w": jnp.ones(2)} for name in ("a", "b")}
    both, alone = arrows(
        *(backward_graph(functools.partial(loss, use=use), params) for use in (True, False))
    )

    assert ("a", "b") in both
    assert alone == [("a", "loss")]


@pytest.mark.parametrize(
    ("pairs", "heights"),
    [
        ([(0, 1)], {}),
        ([(0, 2), (2, 4)], {(0, 2): 0, (2, 4): 0}),
        ([(0, 2), (0, 3)], {(0, 2): 0, (0, 3): 1}),
    ],
)
def test_arrows_above_the_headers_do_not_overlap(pairs, heights):
    """Neighbours need no arc; arcs over the same header have different heights."""
    assert arcs(pairs) == heights
