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
