"""`nnx.at`: the layers of one version of torch."""

import inspect

import jax
import jax.numpy as jnp
import pytest

from jaxgrad import nnx as layers
from jaxgrad._core.torch_versions import BOUND_OF_CLAMP
from jaxgrad.parity.port.nnx.layers import _AS_FUNCTIONS


OLDER = layers.at("2.13")
CLASSES = {n: v for n, v in vars(layers).items() if inspect.isclass(v) and n[0].isupper()}
VERSIONED = {
    name
    for name, layer in CLASSES.items()
    if "torch" in inspect.signature(layer.__init__).parameters
}


def test_a_loss_has_the_gradient_of_its_version():
    """At the margin the gradient is -1 up to torch 2.13, and 0 since 2.14."""
    x, y = jnp.array([1.0]), jnp.array([-1])
    for make, slope in ((OLDER.HingeEmbeddingLoss, -1), (layers.HingeEmbeddingLoss, 0)):
        assert jax.grad(make())(x, y) == slope
    pair = jnp.ones(1), jnp.ones(1), jnp.ones(1)
    assert jax.grad(OLDER.MarginRankingLoss())(*pair) == -1
    assert jax.grad(layers.MarginRankingLoss())(*pair) == 0


def test_exactly_the_layers_of_changed_operators_take_the_version():
    names = {"".join(p.title() for p in op.split("_")) for op in BOUND_OF_CLAMP.operators}
    assert VERSIONED and names >= VERSIONED


def test_a_port_writes_every_versioned_layer_as_a_function():
    """A written port names torch's version once, in `functional.at`, and not in its layers."""
    assert all(_AS_FUNCTIONS.fullmatch(name) for name in VERSIONED)


def test_other_layers_are_the_same_classes():
    assert OLDER.Linear is layers.Linear and OLDER.init is not None


def test_an_unknown_version_raises():
    for make in (lambda: layers.at("1.0"), lambda: layers.HingeEmbeddingLoss(torch="1.0")):
        with pytest.raises(ValueError, match="not of torch 1"):
            make()
