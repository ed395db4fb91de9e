"""The operators of `jaxgrad/functional/reduction` agree with torch on every recorded call."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("reduction")


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore:(var|std)")  # torch warns of too few degrees of freedom
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_the_spread_of_nothing_is_nan(name):
    """Variance and mean over an empty dim are NaN, with an empty gradient, as in torch."""
    for shape, dim in (((0,), None), ((2, 0, 3), 1), ((0, 3), 0)):
        expected = getattr(torch, name)(torch.zeros(shape), dim)
        outputs = getattr(functional, name)(jnp.zeros(shape), dim)
        for ours, theirs in zip(jax.tree.leaves(outputs), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(ours, theirs.numpy())
    spread = getattr(functional, name[:3])
    assert jax.grad(lambda x: spread(x, 0).sum())(jnp.zeros((0, 3))).shape == (0, 3)
