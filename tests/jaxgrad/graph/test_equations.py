"""A JAX graph lists the equations of the VJP, and outlines those that a cut removes."""

import jax.numpy as jnp
from jax import lax

from jaxgrad.graph import ABSENT, REACHED, backward_graph
from tests.jaxgrad.graph.programs import X, loss, net


def feeders(graph, leaf):
    """Return the primitives whose result is the gradient of a leaf."""
    return [each.names for each in graph.equations if any(e.to == leaf for e in each.edges)]


def test_a_bias_is_fed_by_the_reduce_sum_of_the_vjp():
    """The gradient of a bias comes from a `reduce_sum`, not from the broadcast that used it."""
    graph = backward_graph(loss, net(6, 4, 2), X)
    assert feeders(graph, "l1.bias") == [("reduce_sum",)]
    assert feeders(graph, "l1.weight") == [("transpose",)]
    names = {name for each in graph.equations for name in each.names}
    assert names.isdisjoint({"add", "integer_pow", "tanh"}), "these are forward primitives"


def test_a_value_that_is_used_twice_has_a_sum_of_cotangents():
    """The two cotangents of a value that is used twice meet in an `add_any` equation."""
    graph = backward_graph(lambda w: jnp.sum(jnp.sin(w) * w), jnp.ones(3))
    names = [each.names[0] for each in graph.equations]
    assert names == ["add_any", "mul", "mul", "mul", "broadcast_in_dim"]
    assert sorted(len(each.edges) for each in graph.equations) == [1, 1, 1, 1, 2]


def test_equations_behind_a_cut_are_outlined_and_the_cut_is_on_the_edge_to_them():
    """The equations are the same with `stop_gradient`; those that it removes are absent."""
    plain = backward_graph(loss, net(6, 4, 1), X)
    stopped = backward_graph(lambda p: loss(p, X, lax.stop_gradient), net(6, 4, 1))
    assert [each.kind for each in plain.equations] == [each.kind for each in stopped.equations]
    assert {each.state for each in plain.equations} == {REACHED}
    gone = [each for each in stopped.equations if each.state == ABSENT]
    assert {stopped.ops[each.op].scope for each in gone} == {()}
    cuts = [(i, e.to) for i, each in enumerate(stopped.equations) for e in each.edges if e.cut]
    ((source, target),) = cuts
    assert stopped.equations[source].names == ("dot_general",)
    assert stopped.ops[stopped.equations[int(target)].op].name == "tanh"


def test_a_frozen_parameter_has_no_equation():
    """A parameter that is not differentiated is read by an equation that passes no gradient."""
    params = net(6, 4, 1)
    graph = backward_graph(lambda l2, l1: loss({"l1": l1, "l2": l2}, X), params["l2"], params["l1"])
    assert feeders(graph, "bias") == [("broadcast_in_dim",)]
    edges = [e for each in graph.equations for e in each.edges]
    assert not any(e.flows for e in edges if isinstance(e.to, str) and "constant" in e.to)


def test_a_stopped_use_is_cut_before_the_sum_of_the_uses():
    """The sum would add both uses, so that no cut may be behind it."""
    graph = backward_graph(lambda x: jnp.sum(jnp.sin(x) * lax.stop_gradient(x)), jnp.ones(3))
    cuts = [
        (each.names, graph.equations[edge.to].names)
        for each in graph.equations
        for edge in each.edges
        if edge.cut and isinstance(edge.to, int)
    ]

    assert cuts == [(("mul",), ("add_any",))]
    (total,) = [each for each in graph.equations if each.names == ("add_any",)]
    assert total.state == ABSENT and not any(edge.cut for edge in total.edges)
