"""Listing a JAX program's operations inlines `jit` and folds other inner programs."""

import jax
import jax.numpy as jnp
from jax import lax

from jaxgrad.graph import backward_graph, side_by_side
from tests.jaxgrad.graph.programs import texts


@jax.custom_vjp
def doubled(x):
    return jnp.sin(x)


doubled.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (2 * jnp.cos(x) * g,))


def test_jit_is_inlined_and_the_rest_is_folded_into_named_boxes():
    """`jit` is inlined; scan, cond, remat and custom rules are one named operation each."""

    def fun(w):
        h = jax.jit(lambda h: jnp.sin(h) * h)(w)
        h = jax.nn.relu(doubled(h))
        h = jax.checkpoint(jnp.tanh)(h)
        h, _ = lax.scan(lambda c, _: (jnp.sin(c) * w, None), h, None, length=5)
        return jnp.sum(lax.cond(h[0] > 0, jnp.sin, jnp.cos, h))

    graph = backward_graph(fun, jnp.arange(3.0))
    assert [op.name for op in graph.ops] == [
        "sin", "mul", "custom_vjp doubled", "custom_jvp relu", "remat tanh", "scan ×5", "cond",
        "reduce_sum",
    ]  # fmt: skip
    folded = [op.folded for op in graph.ops if op.folded]
    assert folded == ["doubled", "relu", "remat tanh", "scan ×5", "cond"]
    assert set(folded) <= set(texts(side_by_side({"": graph})))
    assert "cos" in graph.ops[2].steps  # the rule's own primitives belong to its box
