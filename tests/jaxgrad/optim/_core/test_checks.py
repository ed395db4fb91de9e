"""The checks of hyperparameters name the invalid value and its bound."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from jaxgrad import optim


def test_an_error_names_the_bound():
    """The error message contains the invalid value and the bound that it violates."""
    with pytest.raises(
        ValueError, match=r"Invalid learning rate: -1.0 \(it must be at least 0.0\)"
    ):
        optim.adam(-1.0)
    with pytest.raises(ValueError, match="Tensor lr must be 1-element, but its shape is .2,."):
        optim.adam(jnp.ones(2))


@pytest.mark.parametrize("name", ["adamw", "sgd", "rmsprop", "adagrad", "nadam"])
def test_a_hyperparameter_must_be_a_number(name):
    """A learning rate that is a string raises an error that names it."""
    with pytest.raises(TypeError, match="lr must be a number or a schedule, but got 'abc'"):
        getattr(optim, name)("abc")


def test_betas_must_be_two_numbers():
    """One number and a tuple of one number are not two betas."""
    for betas in (0.9, (0.9,)):
        with pytest.raises(ValueError, match="betas must be two numbers, but .*0.9.* was given"):
            optim.adamw(betas=betas)  # pyright: ignore[reportArgumentType]
