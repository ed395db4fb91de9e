"""The backward graphs as rows: torch's nodes beside JAX's primitives, and what each saves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from jaxgrad.graph._model import REACHED, Graph, Op, Saved, distinct
from jaxgrad.graph._runs import depth_for, place_all


class Row(NamedTuple):
    """An operation of torch's graph beside one of JAX's, in the order of the forward pass.

    They stand beside each other by module and order; that they do the same is not said.
    """

    module: str
    torch: str  # the name of the node, AddmmBackward0
    torch_saved: tuple[Saved, ...]
    jax: str  # the primitive that is differentiated
    steps: tuple[str, ...]  # the primitives of the VJP that do it
    jax_saved: tuple[Saved, ...]


class Table(NamedTuple):
    """Rows; `print` and notebooks show them as a table in Markdown."""

    rows: tuple[Row, ...]

    @property
    def torch_bytes(self) -> int:
        """What torch keeps from the forward to the backward pass, parameters and inputs apart."""
        return sum(s.nbytes for row in self.rows for s in row.torch_saved if s.extra)

    @property
    def jax_bytes(self) -> int:
        """What JAX keeps, counted the same way: `jaxgrad.saved_bytes`."""
        return sum(s.nbytes for row in self.rows for s in row.jax_saved if s.extra)

    def __str__(self) -> str:
        head = ("module", "torch node", "saves", "JAX primitive", "in the VJP", "saves")
        lines = [head, ("---",) * len(head)]
        for row in self.rows:
            left = (row.module, row.torch, _bytes(row.torch_saved))
            lines.append((*left, row.jax, ", ".join(row.steps), _bytes(row.jax_saved)))
        total = f"{self.torch_bytes} bytes", "", "", f"{self.jax_bytes} bytes"
        lines.append(("kept for the backward pass alone", "", *total))
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _repr_markdown_(self) -> str:
        return str(self)


def table(*graphs: Graph) -> Table:
    """List the nodes of backward graphs with what each saves: torch's beside JAX's.

    Args:
      *graphs: One of torch, one of JAX, or one alone.

    Returns:
      A `Table` of the operations that the loss reaches; only those that are in the backward pass:
      an addition of equal shapes hands its cotangent on and has no equation in JAX's VJP.

    Raises:
      ValueError: There is no graph, or two of one framework.

    Example:
      >>> import jax.numpy as jnp, jaxgrad.graph
      >>> x = jnp.ones(3, "float32")
      >>> graph = jaxgrad.graph.backward_graph(lambda x: jnp.sum(jnp.sin(x) * x), x)
      >>> [(row.jax, row.steps) for row in jaxgrad.graph.table(graph).rows]
      [('sin', ('mul',)), ('mul', ('mul', 'mul')), ('reduce_sum', ('broadcast_in_dim',))]
      >>> print(", ".join(map(str, jaxgrad.graph.table(graph).rows[1].jax_saved)))
      sin float32[3], x float32[3]

    Torch: `node.name()` and `node._saved_self`, ... of each node behind `loss.grad_fn`.
    """
    by_framework = {graph.framework: graph for graph in graphs}
    if not graphs or len(by_framework) < len(graphs):
        given = ", ".join(graph.framework for graph in graphs) or "nothing"
        raise ValueError(f"table takes a graph of torch, one of JAX, or one of each; got {given}")
    placed = {name: place_all([graph])[0] for name, graph in by_framework.items()}
    depth = min(depth_for([each]) for each in placed.values())
    listed: dict[str, dict[str, list[Op]]] = {"torch": {}, "JAX": {}}
    for name, each in placed.items():
        for op, home in zip(each.graph.ops, each.homes, strict=True):
            if op.state == REACHED and op.drawn:
                listed[name].setdefault(".".join(home[:depth]), []).append(op)
    modules = distinct([*listed["torch"], *listed["JAX"]])
    rows = [
        _row(module, left, right)
        for module in sorted(modules, key=lambda module: module == "loss")
        for left, right in itertools.zip_longest(
            *(listed[name].get(module, []) for name in ("torch", "JAX"))
        )
    ]
    return Table(tuple(rows))


def _row(module: str, torch: Op | None, jax: Op | None) -> Row:
    left = ("", ()) if torch is None else (torch.name, torch.saved)
    right = ("", (), ()) if jax is None else (jax.name, jax.steps, jax.saved)
    return Row(module, *left, *right)


def _bytes(saved: Sequence[Saved]) -> str:
    """Each value with its bytes; in parentheses what is there anyway, or counted before."""
    texts = [f"{s}: {s.nbytes}" for s in saved]
    return ", ".join(text if s.extra else f"({text})" for text, s in zip(texts, saved, strict=True))
