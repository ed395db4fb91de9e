"""A tree is packed into a single file without pickle."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxgrad.parity import Finding
from jaxgrad.parity.prove.record.torch_side import packing


@pytest.mark.parametrize(
    "tree",
    [
        {
            "1": (np.arange(6.0).reshape(2, 3), [True, None, "x", 2]),
            "k": {3: np.zeros((0, 2), int)},
        },
        Finding("forward", "fc", "net.py", "off", (0, 1), 1.5, float("inf")),
    ],
)
def test_a_tree_is_read_as_it_was_written(tmp_path, tree):
    """A tree that is read equals the one written, in structure, dtypes, shapes and values."""
    packing.write(tmp_path / "tree.npz", tree)
    copy = packing.read(tmp_path / "tree.npz", Finding)
    leaves, structure = jax.tree.flatten(tree)

    assert jax.tree.structure(copy) == structure
    for x, y in zip(jax.tree.leaves(copy), leaves, strict=True):
        assert type(x) is type(y)
        assert np.array_equal(x, y)
        assert getattr(x, "dtype", None) == getattr(y, "dtype", None)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"x": object()}, "an object of type object cannot be written"),
        ([np.array(["a"])], "an array of dtype <U1 cannot be written"),
    ],
)
def test_other_objects_are_not_pickled(tmp_path, tree, words):
    """Objects that would need pickle raise TypeError."""
    with pytest.raises(TypeError, match=words):
        packing.write(tmp_path / "tree.npz", tree)


@dataclasses.dataclass
class Pair:
    """A dataclass that these tests pack and unpack."""

    x: np.ndarray
    rest: object


def test_records_are_nested(tmp_path):
    """Dataclasses may contain other dataclasses and empty arrays."""
    path = tmp_path / "tree.npz"
    packing.write(path, [Pair(np.arange(3), Pair(np.zeros((2, 0)), None))])
    (copy,) = packing.read(path, Pair)

    assert np.array_equal(copy.x, np.arange(3))
    assert copy.rest.x.shape == (2, 0) and copy.rest.rest is None


def test_an_unknown_record_is_rejected(tmp_path):
    """A dataclass that the reader does not know raises KeyError."""
    path = tmp_path / "tree.npz"
    packing.write(path, Pair(np.arange(3), 1))

    with pytest.raises(KeyError, match="Pair"):
        packing.read(path)


@pytest.mark.parametrize("content", [b"", b"not a zip file"])
def test_another_file_is_rejected(tmp_path, content):
    """A file that is not a packed tree raises ValueError."""
    path = tmp_path / "tree.npz"
    path.write_bytes(content)

    with pytest.raises(ValueError, match="Error|pickle|zip"):
        packing.read(path)
