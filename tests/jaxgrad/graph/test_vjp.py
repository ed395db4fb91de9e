"""The equations of a VJP are attributed to the operations of the program."""

import jax

from jaxgrad.graph import backward_graph
from tests.jaxgrad.graph.programs import X, loss, net


def test_equations_belong_to_one_operation():
    """Every equation of the VJP, except sums of cotangents, belongs to one operation."""
    params = net(6, 4, 1)
    graph = backward_graph(loss, params, X)
    _, pull = jax.vjp(lambda p: loss(p, X), params)
    wanted = [e.primitive.name for e in jax.make_jaxpr(pull)(1.0).eqns]

    assert sorted(s for op in graph.ops for s in op.steps) == sorted(
        name for name in wanted if name != "add_any"
    )
    assert [op.name for op in graph.ops if op.drawn][:4] == [
        "transpose",
        "dot_general",
        "broadcast_in_dim",
        "add",
    ]
