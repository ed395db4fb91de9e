"""Draw the hooks of tensors, which torch keeps outside its graph, as operations of it."""

from __future__ import annotations

from collections.abc import Mapping

from jaxgrad.graph import ABSENT, REACHED, Edge, Graph, Op


def with_hooks(graph: Graph, hooked: Mapping[int | str, int]) -> Graph:
    """Insert an operation between each hooked value and the operations that use it.

    Args:
        graph: A graph without hooks.
        hooked: The number of hooks on the results of operations (by index) and on leaves.
    """
    ops: list[Op] = []
    number: dict[int | str, int] = {}  # the new index of each operation
    hook_of: dict[int | str, int] = {}

    def insert(end: int | str, edge: Edge, scope: tuple[str, ...]) -> None:
        count = hooked[end]
        name = "hook" if count == 1 else f"hook ×{count}"
        hook_of[end] = len(ops)
        ops.append(Op(name, "hook", scope, (edge,), ABSENT, folded=name))

    for leaf in graph.leaves:
        if leaf.name in hooked:
            insert(leaf.name, Edge(leaf.name), ())
    for i, op in enumerate(graph.ops):
        edges = []
        for edge in op.edges:
            through = hook_of.get(edge.to) if edge.flows else None
            if through is not None:
                better = op.state == REACHED or ops[through].state == ABSENT
                state = op.state if better else ops[through].state
                ops[through] = ops[through]._replace(state=state)
                edges.append(Edge(through))
            else:
                edges.append(edge._replace(to=number.get(edge.to, edge.to)))
        number[i] = len(ops)
        ops.append(op._replace(edges=tuple(edges)))
        if i in hooked:
            insert(i, Edge(number[i]), op.scope)
    failure = graph.failure
    if failure is not None and failure.op is not None:
        failure = failure._replace(op=number[failure.op])
    return graph._replace(ops=tuple(ops), failure=failure)
