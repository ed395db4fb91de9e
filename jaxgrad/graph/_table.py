"""List backward graphs as a table: torch's nodes beside JAX's primitives, with saved values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from jaxgrad.graph._lanes import assign
from jaxgrad.graph._model import REACHED, Graph, Op, Saved, distinct
from jaxgrad.graph._runs import depth_for


class Row(NamedTuple):
    """An operation of torch's graph beside one of JAX's, in the order of the forward pass.

    The two are paired by module and position only; they need not compute the same thing.
    """

    module: str
    torch: str  # the name of the node: AddmmBackward0
    torch_saved: tuple[Saved, ...]
    jax: str  # the differentiated primitive
    steps: tuple[str, ...]  # the primitives of its VJP
    jax_saved: tuple[Saved, ...]


class Table(NamedTuple):
    """Rows that `print` and notebooks show as a Markdown table."""

    rows: tuple[Row, ...]

    @property
    def torch_bytes(self) -> int:
        """Bytes that torch saves for the backward pass, without parameters and inputs."""
        return sum(s.nbytes for row in self.rows for s in row.torch_saved if s.extra)

    @property
    def jax_bytes(self) -> int:
        """Bytes that JAX saves for the backward pass, as `jaxgrad.saved_bytes` counts them."""
        return sum(s.nbytes for row in self.rows for s in row.jax_saved if s.extra)

    def __str__(self) -> str:
        head = ("module", "torch node", "saves", "JAX primitive", "in the VJP", "saves")
        lines = [head, ("---",) * len(head)]
        for row in self.rows:
            left = (row.module, row.torch, _bytes(row.torch_saved))
            lines.append((*left, row.jax, ", ".join(row.steps), _bytes(row.jax_saved)))
        total = f"{self.torch_bytes} bytes", "", "", f"{self.jax_bytes} bytes"
        lines.append(("saved only for the backward pass", "", *total))
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _repr_markdown_(self) -> str:
        return str(self)


def table(*graphs: Graph) -> Table:
    """List the nodes of backward graphs and their saved values, torch's beside JAX's.

    Args:
        *graphs: A torch graph, a JAX graph, or one of each.

    Returns:
        A `Table` of the operations that the loss depends on. Operations without an equation in
        JAX's VJP are left out: an addition of equal shapes passes its cotangent on unchanged.

    Raises:
        ValueError: No graph is given, or two graphs of one framework.

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
        names = ", ".join(graph.framework for graph in graphs) or "nothing"
        raise ValueError(f"table takes a torch graph, a JAX graph, or one of each; got {names}")
    assigned = {
        name: assign(graph, tuple(distinct(leaf.name for leaf in graph.leaves if leaf.slot)))
        for name, graph in by_framework.items()
    }
    depth = min(depth_for([each]) for each in assigned.values())
    listed: dict[str, dict[str, list[Op]]] = {"torch": {}, "JAX": {}}
    for name, each in assigned.items():
        for op, path in zip(each.graph.ops, each.paths, strict=True):
            if op.state == REACHED and op.drawn:
                listed[name].setdefault(".".join(path[:depth]), []).append(op)
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
    """Format saved values with their bytes; those that need no extra memory in parentheses."""
    texts = [f"{s}: {s.nbytes}" for s in saved]
    return ", ".join(text if s.extra else f"({text})" for text, s in zip(texts, saved, strict=True))
