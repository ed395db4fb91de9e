"""The operators of `jaxgrad/functional/fft` agree with torch on every recorded call."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("fft")


@pytest.mark.parametrize("name", ["fftn", "ifftn"])
def test_a_transform_over_no_dims_converts_to_complex(name):
    """A 0-d input, or `dim=()`, is returned as a complex number, as in torch."""
    for x, options in ((np.float32(2.5), {}), (np.ones((2, 3), np.float32), {"dim": ()})):
        expected = getattr(torch.fft, name)(torch.tensor(x), **options)
        ours = getattr(functional.fft, name)(jnp.asarray(x), **options)
        assert ours.dtype == jnp.complex64
        np.testing.assert_array_equal(ours, expected.numpy())
