"""A weight map may be written by the user."""

import numpy as np
import pytest

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove.weights.given import from_mapping


TENSORS = {"w": np.arange(6.0).reshape(2, 3)}
LEAVES, PATHS = [np.zeros((3, 2))], ["kernel"]


@pytest.mark.parametrize("target", [("kernel", (1, 0)), ("kernel", np.transpose)])
def test_a_target_may_permute_axes(target):
    """A target may permute axes with a tuple or with a function."""
    weights = from_mapping({"w": target}, TENSORS, LEAVES, PATHS)

    assert np.array_equal(weights.to_jax(TENSORS)[0], TENSORS["w"].T)


def test_a_path_alone_reshapes():
    """A target that is only a path reshapes the tensor to the leaf."""
    weights = from_mapping({"w": "kernel"}, TENSORS, LEAVES, PATHS)

    assert np.array_equal(weights.to_jax(TENSORS)[0], np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"v": "kernel"}, "weights= contains 'v', but the module's tensors are \\['w'\\]"),
        ({"w": "bias"}, "weights= sends 'w' to 'bias', but the leaves of params are"),
        ({"w": ("kernel", (0, 1, 2))}, "which does not fit"),
    ],
)
def test_an_impossible_map_is_explained(mapping, words):
    """An unknown name, an unknown path and a wrong shape are explained."""
    with pytest.raises(ProofError, match=words):
        from_mapping(mapping, TENSORS, LEAVES, PATHS)
