"""`backward_graph` records a JAX function's operations, states and gradients."""

import re

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jaxgrad
from jaxgrad.graph import ABSENT, REACHED, backward_graph, side_by_side
from tests.jaxgrad.graph.programs import X, grads, loss, net, texts


def test_norms_are_those_of_jax_grad():
    """The leaves of a graph carry the norms of `jax.grad`'s gradients."""
    params = net(6, 4, 1)
    wanted = jax.grad(loss)(params, X)
    norms = grads(backward_graph(loss, params, X))

    assert set(norms) == {"l1.weight", "l1.bias", "l2.weight", "l2.bias"}
    for name, norm in norms.items():
        layer, leaf = name.split(".")
        assert norm == pytest.approx(float(jnp.linalg.norm(jnp.ravel(wanted[layer][leaf]))))


def test_stop_gradient_leaves_outlines_and_none():
    """Operations behind `stop_gradient` are absent but stay listed, and their leaves get None."""
    params = net(6, 4, 1)
    plain = backward_graph(loss, params, X)
    stopped = backward_graph(lambda p: loss(p, X, lax.stop_gradient), params)

    assert [op.kind for op in plain.ops] == [op.kind for op in stopped.ops]
    assert [op.steps for op in plain.ops[:4]] == [op.steps for op in stopped.ops[:4]]
    assert {op.state for op in plain.ops} == {REACHED}
    assert {op.state for op in stopped.ops[:5]} == {ABSENT}
    assert {edge.cut for op in stopped.ops for edge in op.edges} == {"", "stop_gradient"}
    assert grads(stopped)["l1.weight"] is None and grads(plain)["l1.weight"]
    zeros = backward_graph(lambda p: loss(p, X, lax.stop_gradient), params, unused="zeros")
    assert grads(zeros)["l1.weight"] == 0.0


def test_a_callback_behind_a_cut_is_left_out():
    """A host callback inside `no_grad` is left out of the graph without an error."""

    def on_host(x):
        return jax.pure_callback(lambda a: a + 1, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    def fun(w):
        return jnp.sum(jaxgrad.no_grad(on_host)(w * 2) * w)

    graph = backward_graph(fun, jnp.ones(3))
    assert [op.name for op in graph.ops if op.state == REACHED] == ["mul", "reduce_sum"]


def test_shapes_suffice_without_norms():
    """Arguments given as `ShapeDtypeStruct` yield the same steps, and badges without a norm."""
    params = net(6, 4, 1)
    graph = backward_graph(loss, jax.eval_shape(lambda: params), X)

    assert [op.steps for op in graph.ops] == [
        op.steps for op in backward_graph(loss, params, X).ops
    ]
    assert "∇weight" in [t.strip() for t in texts(side_by_side({"": graph}))]


@pytest.mark.parametrize(
    ("fun", "words"),
    [
        (lambda w: {"loss": w}, "returned dict: return the loss, or (loss, aux) with has_aux=True"),
        (jnp.argmax, "returned int"),
    ],
)
def test_a_function_without_a_loss_is_refused(fun, words):
    """A function that returns no floating point array raises TypeError naming what it returned."""
    with pytest.raises(TypeError, match=re.escape(words)):
        backward_graph(fun, jnp.ones(3))


def test_backward_graph_refuses_an_unknown_unused():
    """`backward_graph` raises ValueError if `unused` is neither "none" nor "zeros"."""
    with pytest.raises(
        ValueError, match="unused must be .none. .torch. or .zeros. .jax.grad., got 'zero'"
    ):
        backward_graph(jnp.sum, jnp.ones(3), unused="zero")
