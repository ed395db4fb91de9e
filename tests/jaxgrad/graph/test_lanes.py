"""Each operation is assigned to a module, whichever library defines the model."""

# torch, flax and numpy declare results as unions; the tests know the actual type.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIncompatibleMethodOverride=false

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from flax import linen, nnx

from jaxgrad.graph import backward_graph, side_by_side
from parity_tests.cases._net import mse
from tests.jaxgrad.graph.programs import X, Y, grads, texts


def test_lanes_come_from_named_scopes_else_from_parameters():
    """Lanes are named after named scopes, or after parameters if there are no scopes."""
    params = {"w1": jnp.ones((6, 4)), "w2": jnp.ones((4, 1))}

    def scoped(params):
        with jax.named_scope("encoder"):
            h = jnp.tanh(X @ params["w1"])
        with jax.named_scope("decoder"):
            out = h @ params["w2"]
        return mse(out, Y)

    def unscoped(params):
        return mse(jnp.tanh(X @ params["w1"]) @ params["w2"], Y)

    named = texts(side_by_side({"": backward_graph(scoped, params)}))
    assert [t for t in named if t in ("encoder", "decoder", "loss")] == [
        "encoder", "decoder", "loss",
    ]  # fmt: skip
    plain = texts(side_by_side({"": backward_graph(unscoped, params)}))
    assert [t for t in plain if t in ("w1", "w2", "loss")] == ["w1", "w2", "loss"]


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(1, name="l2")(jnp.tanh(linen.Dense(4, name="l1")(x)))


class NnxNet(nnx.Module):
    def __init__(self, rngs):
        self.l1, self.l2 = nnx.Linear(6, 4, rngs=rngs), nnx.Linear(4, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(jnp.tanh(self.l1(x)))


class EqxNet(eqx.Module):
    l1: eqx.nn.Linear
    l2: eqx.nn.Linear
    activation: Any

    def __call__(self, x):
        return self.l2(self.activation(self.l1(x)))


def linen_net():
    module = LinenNet()
    params = module.init(jax.random.key(0), X)
    return backward_graph(lambda params: mse(jnp.asarray(module.apply(params, X)), Y), params)


def nnx_net():
    definition, state = nnx.split(NnxNet(nnx.Rngs(0)))
    return backward_graph(lambda state: mse(nnx.merge(definition, state)(X), Y), state)


def nnx_module():
    return backward_graph(lambda model: mse(model(X), Y), NnxNet(nnx.Rngs(0)))


def equinox_net():
    a, b = jax.random.split(jax.random.key(0))
    model = EqxNet(eqx.nn.Linear(6, 4, key=a), eqx.nn.Linear(4, 1, key=b), jnp.tanh)
    return backward_graph(lambda model: mse(jax.vmap(model)(X), Y), model)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", [linen_net, nnx_net, nnx_module, equinox_net])
def test_modules_of_every_library_give_the_same_lanes(make):
    """flax.linen, flax.nnx and equinox models give the same lanes and parameter names."""
    graph = make()
    words = texts(side_by_side({"": graph}))

    assert [w for w in words if w in ("l1", "l2", "loss")] == ["l1", "l2", "loss"]
    assert {name.split(".")[0] for name in grads(graph)} == {"l1", "l2"}
    assert all(norm for norm in grads(graph).values())


def test_a_module_that_runs_again_after_others_is_another_lane():
    """A module whose weights are used at both ends of a program gets a second, numbered lane."""
    params = {"embed": {"w": jnp.ones((7, 4))}, "body": {"w": jnp.eye(4)}}

    def tied(params):
        h = jnp.tanh(params["embed"]["w"][:2] @ params["body"]["w"])
        return jnp.sum(jnp.exp(h @ params["embed"]["w"].T))

    words = texts(side_by_side({"": backward_graph(tied, params)}))
    lanes = [w for w in words if w in ("embed", "body", "embed (2)", "loss")]
    assert lanes == ["embed", "body", "embed (2)", "loss"]
    assert len([w for w in words if w.startswith("∇w ")]) == 2


def test_a_loop_over_one_module_is_one_lane():
    """A module that a Python loop applies repeatedly has a single lane."""
    params = {"cell": {"u": jnp.eye(4), "v": jnp.ones((4, 3))}, "out": {"w": jnp.ones((2, 4))}}
    steps = jnp.ones((6, 3))

    def recurrent(params):
        h = jnp.zeros(4)
        for x in steps:
            h = jnp.tanh(params["cell"]["u"] @ h + params["cell"]["v"] @ x)
        return jnp.sum(params["out"]["w"] @ h)

    words = texts(side_by_side({"": backward_graph(recurrent, params)}))
    assert [w for w in words if w in ("cell", "out", "loss")] == ["cell", "out", "loss"]
    assert not [w for w in words if w.startswith("cell (")]
