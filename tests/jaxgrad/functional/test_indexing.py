"""The operators of `jaxgrad/functional/indexing` agree with torch, including sums of booleans."""

from typing import Any

import jax.numpy as jnp
import torch

from jaxgrad import functional
from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("indexing")


def test_accumulating_booleans_at_an_index_is_a_logical_or():
    """`index_put` with `accumulate=True` combines booleans by a logical or, as in torch."""
    arguments: Any = ([False, True], [0, 0], [True, False])
    x, i, y = map(torch.tensor, arguments)
    a, at, b = map(jnp.array, arguments)

    expected = torch.index_put(x, (i,), y, accumulate=True)
    assert functional.index_put(a, (at,), b, accumulate=True).tolist() == expected.tolist()
