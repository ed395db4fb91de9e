"""The operators of `jaxgrad/functional/nn` agree with torch, even for masked infinite scores."""

import jax.numpy as jnp
import numpy as np
import torch

from jaxgrad import functional
from jaxgrad.parity.interop import to_torch
from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("nn")


def test_a_boolean_attention_mask_is_added_to_the_scores():
    """As in torch, masking an infinite attention score gives NaN instead of excluding the score."""
    q, k = np.ones((1, 2)), np.array([[np.inf, 1.0], [1.0, 2.0], [0.0, 1.0]])
    mask = np.array([[False, True, True]])

    query, key, allowed = to_torch([q, k, mask])
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, key, allowed)
    query, key, allowed = jnp.asarray(q), jnp.asarray(k), jnp.asarray(mask)
    actual = functional.scaled_dot_product_attention(query, key, key, allowed)

    assert expected.isnan().all()
    np.testing.assert_array_equal(actual, expected)
