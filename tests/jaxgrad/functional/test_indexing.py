"""The operators of `jaxgrad/functional/indexing` agree with torch, including sums of booleans."""

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
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


@pytest.mark.parametrize("reduce", ["add", "multiply"])
@pytest.mark.parametrize("src", [np.array([5.0, 6.0, 7.0]), 2.5], ids=["array", "number"])
def test_scatter_combines_elements_with_the_input(reduce, src):
    """`scatter(reduce=)` adds or multiplies each element, including those of a repeated index."""
    x, index = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 3])
    theirs = torch.from_numpy(src) if isinstance(src, np.ndarray) else src
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch deprecates it for arrays
        expected = torch.from_numpy(x).scatter(0, torch.from_numpy(index), theirs, reduce=reduce)
    given: Any = jnp.asarray(src) if np.ndim(src) else src
    ours = functional.scatter(jnp.asarray(x), 0, jnp.asarray(index), given, reduce=reduce)
    np.testing.assert_allclose(ours, expected.numpy(), rtol=1e-6)
