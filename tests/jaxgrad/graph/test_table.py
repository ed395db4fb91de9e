"""Tables list nodes, primitives and saved values."""

from typing import Any

import jax.numpy as jnp
import pytest
import torch
from torch import nn

import jaxgrad
from jaxgrad.graph import backward_graph, table
from jaxgrad.parity.torch_graph import record
from tests.jaxgrad.graph.programs import X, loss, net, torch_net


def test_the_table_counts_what_saved_bytes_counts():
    """The table's JAX total equals `saved_bytes`; parameters and inputs are not counted."""
    params = net(6, 4, 1)
    model: Any = torch_net()

    def program():
        out = model.l2(model.act(model.l1(torch.ones(3, 6))))
        nn.functional.mse_loss(out, torch.ones(3, 1)).backward()

    (graph,) = record(program)
    both = table(graph, backward_graph(loss, params, X))

    assert both.jax_bytes == jaxgrad.saved_bytes(lambda p: loss(p, X), params)
    assert both.torch_bytes == 4 * (3 * 4 + 3 * 1)  # tanh's result and the model's output
    first = next(row for row in both.rows if row.torch == "AddmmBackward0")
    assert first.module == "l1" and [s.extra for s in first.torch_saved] == [False]
    text = str(both)
    assert "| l1 | AddmmBackward0 |" in text and "TanhBackward0" in text
    assert "dot_general, transpose" in text and f"{both.jax_bytes} bytes" in text


def test_a_table_of_one_framework():
    """A table of a JAX graph alone lists its primitives and counts a shared residual once."""
    rows = table(backward_graph(lambda a: jnp.sum(jnp.exp(a) * a), jnp.ones(3, "float32"))).rows
    assert [(row.jax, row.torch) for row in rows] == [("exp", ""), ("mul", ""), ("reduce_sum", "")]
    assert [str(s) for s in rows[1].jax_saved] == ["exp float32[3]", "a float32[3]"]
    counts = [s.extra for row in rows for s in row.jax_saved if s.what == "exp"]
    assert counts.count(True) == 1 < len(counts)  # exp's result is read twice but counts once


def test_table_refuses_two_graphs_of_one_framework_and_none():
    """A table of two JAX graphs, or of no graph, raises ValueError."""
    graph = backward_graph(jnp.sum, jnp.ones(3))
    with pytest.raises(ValueError, match="got JAX, JAX"):
        table(graph, graph)
    with pytest.raises(ValueError, match="got nothing"):
        table()
