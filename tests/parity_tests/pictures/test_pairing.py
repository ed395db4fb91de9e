"""A case's torch graphs are paired with its JAX graphs, and both get the same parameter names."""

import pytest

from jaxgrad.graph import Graph, Leaf
from jaxgrad.graph._panels import fit
from parity_tests.case import load
from parity_tests.pictures import draw_case as pictures
from parity_tests.pictures import pairing as pairs


CASES = load()


def test_graphs_are_paired_by_their_leaves():
    """torch's graph is paired with the JAX graph that has the same leaves; others are ignored."""
    for name in ("graph/next_functions", "graph/leaf_flags"):
        (row,) = pictures.settings(CASES[name]).values()
        assert row.torch is not None and row.jax is not None
        assert pairs.same_leaves(row.torch, row.jax)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name, lanes",
    {
        "backward/chain_rule": ["a, b", "d", "loss"],
        "backward/simple_nn": ["l1", "l2", "loss"],
        "hooks/register_hook": ["fc1", "fc2", "loss"],
    }.items(),
)
def test_both_sides_have_the_same_lanes(name, lanes):
    """Index names from a list or nn.Sequential are replaced by the other framework's names."""
    (row,) = pictures.settings(CASES[name]).values()
    assert row.torch is not None and row.jax is not None
    for panel in fit([{"": row.torch}, {"": row.jax}]).panels:
        assert list(panel.diagram.lanes) == lanes


def test_equal_gradients_are_not_renamed():
    """Parameters with equal gradients cannot be matched, so they keep their index names."""
    torch_graph = Graph("torch", "", (), (Leaf("0.w", 1.0), Leaf("1.w", 1.0)))
    jax_graph = Graph("JAX", "", (), (Leaf("a.w", 1.0), Leaf("b.w", 1.0)))
    assert pairs.named_alike((torch_graph, jax_graph)) == [(torch_graph, jax_graph)]
