"""The leaves that a function returns with another value are found without running it."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad.parity.port.leftovers.updated import updated
from jaxgrad.parity.port.source.refusals import PortError


STATE = {"a": np.zeros(2), "b": [np.zeros(()), np.zeros(3)]}


def _adds(p, x):
    return {**p, "b": [p["b"][0] + x.sum(), p["b"][1]]}


def _chooses(p, x):
    return {**p, "a": lax.cond(x.sum() > 0, lambda: p["a"] + 1, lambda: p["a"])}


def _sets(p, x):
    del x
    return {**p, "a": jnp.ones(2)}


def _reads_a_value(p, x):
    return {**p, "a": p["a"] + int(x.sum())}


def _raises(p, x):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "paths"),
    [
        (_adds, {"b.0"}),
        (_chooses, {"a"}),
        (_sets, {"a"}),
        (_reads_a_value, {"a"}),
        (lambda p, x: p, set()),
        (_raises, None),
    ],
    ids=["sum", "cond", "constant", "concrete value", "nothing", "raises"],
)
def test_the_paths_of_the_leaves_that_change(function, paths):
    assert updated(function, STATE, (np.ones(2),)) == paths
    assert updated(function, STATE, {"x": np.ones(2)}) == paths


def test_another_tree_structure_is_an_error():
    with pytest.raises(PortError, match="returns params of the structure .*, and was given"):
        updated(lambda p, x: {**p, "c": x}, STATE, (np.ones(2),))
