"""Errors in the user's model, inputs and outputs are explained."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove import checks


def test_inputs_become_float64_arrays():
    """A single input becomes a tuple, floats become float64, and integers stay integers."""
    (x,) = checks.as_arrays(np.ones(2, np.float32))
    named = checks.as_arrays({"ids": jnp.arange(3), "name": "x"})

    assert x.dtype == np.float64
    assert named["ids"].dtype.kind == "i" and named["name"] == "x"


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (None, "inputs= is missing: pass a tuple of numpy arrays"),
        (([np.ones(2), np.array([np.nan, 1.0])],), "input 0/1 of shape .* contains 1 NaN"),
    ],
)
def test_unusable_inputs_are_explained(inputs, words):
    """Missing inputs and NaN are explained with the path of the input."""
    with pytest.raises(ProofError, match=words):
        checks.as_arrays(inputs)


def _run_bool() -> object:
    return jax.jit(lambda x: 1 if x > 0 else 2)(1.0)


def _run_key() -> object:
    return {}["w"]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (_run_bool, "fn cannot be traced: it uses numpy.* at .*test_checks.py:.*Use jax.numpy"),
        (_run_key, "JAX: fn raised KeyError at .*test_checks.py:.*: 'w'"),
    ],
)
def test_an_exception_becomes_a_sentence(run, words):
    """An exception in the user's code becomes a sentence that gives the line that raised it."""
    with pytest.raises(ProofError, match=words):
        checks.guarded(run)


def test_outputs_must_have_equal_shapes():
    """Outputs that differ in number or shape are explained, except a loss of shape (1,)."""
    program = types.SimpleNamespace(out_paths=["logits"])
    outputs = {"logits": np.ones((2, 3))}

    checks.same_outputs(outputs, program, [np.ones((2, 3))])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProofError, match="output logits: torch returns shape .2, 3., JAX returns"):
        checks.same_outputs(outputs, program, [np.ones((3, 2))])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProofError, match="torch returns 2 outputs .*, JAX returns 1"):
        checks.same_outputs(outputs | {"b": np.ones(1)}, program, [])  # pyright: ignore[reportArgumentType]
