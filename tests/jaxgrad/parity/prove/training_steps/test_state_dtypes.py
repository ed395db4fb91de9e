"""An optimizer's state that only one framework stores below float32 is a finding."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.training_steps import state_dtypes


def program(dtype: Any) -> Any:
    params = {"w": jnp.ones((2, 2), dtype), "ids": jnp.arange(2)}
    return jax_program.program(
        lambda p, x: x @ p["w"], params, (np.ones((1, 2)),), None, None, False
    )


@pytest.mark.parametrize(
    ("dtype", "tx", "dtypes"),
    [
        (jnp.float32, optax.adam(1e-3), {"0/mu/w": "float32", "0/nu/w": "float32"}),
        (
            jnp.float32,
            optax.adam(1e-3, mu_dtype=jnp.bfloat16),
            {"0/mu/w": "bfloat16", "0/nu/w": "float32"},
        ),
        (jnp.bfloat16, optax.adam(1e-3), {"0/mu/w": "bfloat16", "0/nu/w": "bfloat16"}),
        (jnp.float32, optax.sgd(1e-3), {}),
        (jnp.float32, optax.inject_hyperparams(optax.sgd)(1e-3), {}),
        (jnp.float32, optax.GradientTransformation(lambda p: 1 / 0, lambda *x: x), {}),  # pyright: ignore[reportArgumentType]
    ],
    ids=["adam", "mu_dtype", "bfloat16", "none", "numbers", "raises"],
)
def test_the_dtypes_of_optaxs_state_are_those_of_the_users_params(dtype, tx, dtypes):
    """Counts and single numbers are not listed."""
    assert state_dtypes.of_optax(program(dtype), tx) == dtypes


def test_the_state_of_a_weight_without_dimensions_is_listed():
    """The momentum of a single number, such as a temperature, has a dtype of its own."""
    params = {"t": jnp.ones((), jnp.float32)}
    own = jax_program.program(lambda p, x: x * p["t"], params, (np.ones(2),), None, None, False)

    dtypes = state_dtypes.of_optax(own, optax.sgd(0.1, 0.9, accumulator_dtype=jnp.bfloat16))
    assert dtypes == {"0/trace/t": "bfloat16"}


@pytest.mark.parametrize(
    ("torch", "jax", "finding"),
    [
        ({"w": "float32"}, {"mu/w": "bfloat16"}, ("optax", "bfloat16", "torch", "float32")),
        ({"w": "bfloat16"}, {"mu/w": "float32"}, ("torch", "bfloat16", "optax", "float32")),
        ({"w": "float16"}, {"mu/w": "bfloat16"}, ("optax", "bfloat16", "torch", "float16")),
        (
            {"v": "float32", "w": "bfloat16"},
            {"mu/w": "float32"},
            ("torch", "bfloat16", "optax", "float32"),
        ),
        ({"w": "bfloat16"}, {"mu/w": "bfloat16", "nu/w": "float32"}, None),
        ({"w": "float32"}, {"mu/w": "float64"}, None),
        ({}, {"mu/w": "bfloat16"}, None),
        ({"w": "bfloat16"}, {}, None),
        (
            {"v": "float16", "w": "bfloat16"},
            {"mu/w": "bfloat16", "nu/w": "float32"},
            ("torch", "float16", "optax", "float32"),
        ),
    ],
)
def test_a_state_that_only_one_side_rounds_is_found(torch, jax, finding):
    """The sentence names the side that rounds first, and what the other one stores."""
    found = state_dtypes.findings(torch, jax)
    if finding is None:
        assert found == ()
        return
    first, dtype, second, kept = finding
    assert (
        found[0].text
        == f"{first} stores its state in {dtype}, and {second} stores its state in {kept}"
    )
    assert (found[0].surface, found[0].op) == ("precision", "optimizer")
    assert {**torch, **jax}[found[0].torch] in (dtype, kept)
    assert jax[found[0].jax] in (dtype, kept)
