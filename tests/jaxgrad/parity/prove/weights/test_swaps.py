"""Weights of one shape are exchanged, those whose names contradict their values first."""

import numpy as np
import pytest

from jaxgrad.parity.prove.weights.infer import infer
from jaxgrad.parity.prove.weights.map import Piece, WeightMap
from jaxgrad.parity.prove.weights.swaps import _groups, arranged, described, misnamed, orders


RNG = np.random.default_rng(0)
TENSORS = {f"{i}.{n}": RNG.standard_normal(s) for i in (0, 1, 2)
           for n, s in (("weight", (3, 3)), ("bias", (3,)))}  # fmt: skip


def mapped(layers: dict[int, int], paths: str = "{}/{}") -> WeightMap:
    """Return the map of params whose layers hold the tensors of other layers."""
    leaves = {
        paths.format(i, n): TENSORS[f"{k}.{n}"]
        for i, k in layers.items()
        for n in ("weight", "bias")
    }
    return infer(TENSORS, list(leaves.values()), list(leaves))[0]


def test_the_names_of_the_leaves_come_first():
    """Leaves whose tensors are rotated get the tensors of their names in the first arrangement."""
    rotated = mapped({0: 1, 1: 2, 2: 0})
    order = next(orders(rotated, named=True))
    named = arranged(rotated, order)

    assert [named.names_of(i) for i in range(6)] == [[name] for name in TENSORS]
    assert described(rotated, order) == (
        "leaf '0/weight' holds torch's '1.weight', but the port needs '0.weight' there; leaf "
        "'0/bias' holds torch's '1.bias', but the port needs '0.bias' there; and 4 more"
    )


def test_exchanges_that_names_do_not_suggest_are_apart():
    """If all names are right, whole modules are exchanged before single tensors."""
    right = mapped({0: 0, 1: 1, 2: 2})
    found = list(orders(right, named=False))

    assert not list(orders(right, named=True))
    assert len(found) == len(set(found)) == 3 + 6
    assert found[0] == (2, 3, 0, 1, 4, 5)
    assert sum(i != k for i, k in enumerate(found[-1])) == 2


def test_names_that_contradict_values_are_noted():
    """A leaf with the name of another tensor is noted; a name that no tensor has is not."""
    assert misnamed(mapped({0: 1, 1: 0})) == [
        "names contradict values: leaf '0/weight' holds torch's '1.weight', not '0.weight', leaf "
        "'0/bias' holds torch's '1.bias', not '0.bias', leaf '1/weight' holds torch's '0.weight', "
        "not '1.weight', and 1 more"
    ]
    assert not misnamed(mapped({0: 0, 1: 1}))
    assert not misnamed(mapped({0: 1, 1: 0}, "layer{}/{}"))


@pytest.mark.parametrize(
    ("order", "count", "rest"),
    [((0, 1, 2, 3), 0, ""), ((1, 0, 2, 3), 2, ""), ((1, 2, 0, 3), 2, "; and 1 more")],
)
def test_two_exchanges_are_described_in_full(order, count, rest):
    """Only the third and later leaves are counted."""
    text = described(vectors("abcd"), order)
    assert text.count("as torch uses") == count
    assert text.removesuffix("; the code or the params are wrong").endswith(rest)
    assert ("more" in text) == bool(rest)


def vectors(names: str, **changes: dict[str, object]) -> WeightMap:
    """Return a map in which each leaf holds the vector of its own name."""
    tensors = {n: RNG.standard_normal(3) for n in names}
    pieces = tuple(
        Piece(i, (slice(None),), n, np.arange(3), **changes.get(n, {}))  # pyright: ignore[reportArgumentType]
        for i, n in enumerate(names)
    )
    return WeightMap(pieces, tuple(tensors.values()), tensors, tuple(names))


def test_only_plain_pieces_of_one_shape_are_exchanged():
    """A scaled piece, a shifted vector and a single piece of its shape stay."""
    changes = {"c": {"scale": 2.0}, "d": {"offset": np.ones(3)}, "e": {"scale": np.ones(3)}}
    assert _groups(vectors("abcde", **changes)) == [[0, 1]]
    assert _groups(vectors("acde", **changes)) == []
    assert list(orders(vectors("ab"), named=False)) == [(1, 0)]


def test_a_part_of_the_same_tensor_is_described():
    """Two parts of one tensor are exchanged with words that say so."""
    x = RNG.standard_normal(6)
    pieces = tuple(Piece(i, (slice(None),), "qk", np.arange(3) + 3 * i) for i in (0, 1))
    fused = WeightMap(pieces, (x[:3], x[3:]), {"qk": x}, ("q", "k"))
    assert described(fused, (1, 0)) == (
        "the port uses leaf 'q' as torch uses another part of 'qk'; "
        "leaf 'k' as torch uses another part of 'qk'; the code or the params are wrong"
    )


@pytest.mark.parametrize("count", [3, 4])
def test_three_contradictions_are_named(count):
    """The fourth contradiction is only counted; equal values contradict nothing."""
    names = "abcd"[:count]
    right = vectors(names)
    order = (*range(1, count), 0)
    (note,) = misnamed(arranged(right, order))
    assert note.count("holds") == 3
    assert note.endswith(", and 1 more") == (count == 4)
    equal = WeightMap(right.pieces, right.leaves, dict.fromkeys(names, np.ones(3)), right.paths)
    assert misnamed(arranged(equal, order)) == []
