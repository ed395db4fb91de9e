"""Two tuples or mappings are inputs for each framework; anything else is for both."""

import numpy as np
import pytest

from jaxgrad.parity import PerSide
from jaxgrad.parity.prove.record.sides import as_pair


X = np.ones(3)


@pytest.mark.parametrize("pair", [((X,), (X,)), [[X], {"x": X}], ({"x": X}, (X, X))])
def test_a_pair_of_tuples_or_mappings_differs_by_framework(pair):
    """The first one is torch's, the second one the port's."""
    found = as_pair(pair)
    assert found is not None and found.torch is pair[0] and found.jax is pair[1]


def test_a_given_pair_is_returned():
    """A `PerSide` is returned as it is, even if it holds no tuples."""
    pair = PerSide(jax=X)
    assert as_pair(pair) is pair


class Named(tuple):
    """A tuple type of a user, which is one input."""


@pytest.mark.parametrize(
    "inputs",
    [(X, X), ((X,), X), ((X,),), ((X,), (X,), (X,)), ((), (X,)), ((X,), {}), {"a": (X,), "b": (X,)},
     Named(((X,), (X,))), X, None],
)  # fmt: skip
def test_other_inputs_are_for_both_frameworks(inputs):
    """Arrays, empty tuples, one or three tuples, and other types are not a pair."""
    assert as_pair(inputs) is None
