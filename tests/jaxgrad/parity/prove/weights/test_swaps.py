"""Weights of one shape are exchanged, those whose names contradict their values first."""

import numpy as np

from jaxgrad.parity.prove.weights.infer import infer
from jaxgrad.parity.prove.weights.map import WeightMap
from jaxgrad.parity.prove.weights.swaps import arranged, described, misnamed, orders


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
    """Of leaves with the right names, modules are exchanged before single tensors."""
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
