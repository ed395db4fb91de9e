"""Adapters bring functions and models into one common form."""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove.adapters import JaxFunction, as_function, name_of, trainable_mask


X = np.ones((2, 3), np.float32)
PATHS = ["enc/w", "enc/b", "head/w"]


def port(params: Any, x: Any) -> Any:
    return x * params


def test_a_function_stays_a_function():
    """A function and its params are used as they are."""
    assert as_function(port, 2.0) == JaxFunction(port, 2.0)


def test_an_nnx_module_becomes_a_function_of_its_state():
    """An nnx module becomes a function of a dict of its arrays, with or without a function."""
    module = nnx.Linear(3, 4, rngs=nnx.Rngs(0))
    for model in (as_function(module, None), as_function(lambda m, x: m(x), module)):
        assert sorted(model.params) == ["bias", "kernel"]
        assert np.allclose(model.fn(model.params, X), module(jnp.asarray(X)))
        doubled = {name: 2 * x for name, x in model.params.items()}
        assert np.allclose(model.fn(doubled, X), 2 * module(jnp.asarray(X)))


def test_a_linen_module_is_applied():
    """A linen module is called through its `apply` method."""
    module = linen.Dense(4)

    assert as_function(module, {"params": {}}).fn == module.apply


def test_a_pair_of_model_and_params_is_unpacked():
    """A tuple (fn, params) is unpacked if no params are passed separately."""
    assert as_function((port, 2.0), None) == JaxFunction(port, 2.0)


def test_a_number_is_not_a_model():
    """An object that cannot be called raises an error that suggests a remedy."""
    with pytest.raises(ProofError, match="fn is int, which is not callable: pass a function"):
        as_function(3, None)


@pytest.mark.parametrize(
    ("trainable", "mask"),
    [
        (None, None),
        ("enc/*", [True, True, False]),
        (["enc/w", "head/*"], [True, False, True]),
        (lambda path: path.endswith("b"), [False, True, False]),
        ({"enc": {"w": True, "b": False}, "head": {"w": True}}, [True, False, True]),
    ],
)
def test_trainable_leaves_are_selected(trainable, mask):
    """Leaves are selected by wildcards, by a function or by a tree of bools."""
    assert trainable_mask(trainable, PATHS) == mask


@pytest.mark.parametrize(
    ("trainable", "words"),
    [
        (["dec/*"], "trainable= contains 'dec/\\*', which matches no leaf"),
        ({"enc": {"w": True}}, "trainable= has no entry for the leaf 'enc/b'"),
    ],
)
def test_an_incomplete_selection_is_an_error(trainable, words):
    """A wildcard without a leaf and a leaf without a bool are errors."""
    with pytest.raises(ProofError, match=words):
        trainable_mask(trainable, PATHS)


def test_models_are_named_after_their_source():
    """A function is described by its file and line, and any other callable by its class."""
    assert name_of(port) == f"port (test_adapters.py:{port.__code__.co_firstlineno})"
    assert name_of(functools.partial(port)) == "partial"
