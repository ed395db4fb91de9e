"""Two snapshots of a module differ where a call has changed it."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.leftovers.snapshots import Snapshot


class Held:
    def __init__(self):
        self.count, self.nested = 0, {"values": [torch.zeros(2)]}


class Inner(nn.Module):
    total: torch.Tensor

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("total", torch.zeros(()))
        self.numbers, self.array, self.held = [1, {"a": 2}], np.zeros(2), [Held()]
        self.plain, self.text, self.places = torch.zeros(2), "a", {1}


class Outer(nn.Module):
    inner: Inner

    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.again = self.inner


def _sets(inner):
    inner.text = "b"


def _sets_an_equal_tensor(inner):
    inner.plain = torch.zeros(2)


def _adds_an_attribute(inner):
    inner.new = 1


def _deletes_an_attribute(inner):
    del inner.text


def _changes(name):
    return {
        "numbers": lambda inner: inner.numbers[1].update(a=3),
        "array": lambda inner: inner.array.__setitem__(0, 1.0),
        "places": lambda inner: inner.places.add(2),
        "plain": lambda inner: inner.plain.add_(1),
    }[name]


CHANGES = {
    "weight": (lambda inner: inner.weight.data.add_(1), "tensor"),
    "total": (lambda inner: inner.total.fill_(float("nan")), "tensor"),
    "buffer": (lambda inner: inner.register_buffer("buffer", torch.ones(1)), "tensor"),
    "weight ": (lambda inner: inner.weight.requires_grad_(False), "flag"),
    "training": (lambda inner: inner.eval(), "mode"),
    "text": (_sets, "set"),
    "text ": (_deletes_an_attribute, "set"),
    "new": (_adds_an_attribute, "set"),
    "plain ": (_sets_an_equal_tensor, "set"),
    **{name: (_changes(name), "changed") for name in ("numbers", "array", "places", "plain")},
    "held.0.count": (lambda inner: setattr(inner.held[0], "count", 1), "set"),
    "held.0.nested": (lambda inner: inner.held[0].nested["values"][0].add_(1), "changed"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_found(name):
    """A module with two names has each difference under both."""
    change, kind = CHANGES[name]
    module = Outer()
    before = Snapshot.of(module)
    change(module.inner)

    found = {(x.path, x.kind) for x in before.differences(Snapshot.of(module))}

    path = name.strip()
    assert found == {(f"inner.{path}", kind), (f"again.{path}", kind)}


def test_a_module_that_does_not_change_has_no_differences():
    module = Outer()
    module.inner.total.fill_(float("nan"))
    before = Snapshot.of(module)

    assert not list(before.differences(Snapshot.of(module)))


def test_the_owner_of_an_attribute_is_the_object_that_has_it():
    module = Outer()
    before = Snapshot.of(module)
    module.inner.held[0].count = 1

    (change,) = [x for x in before.differences(Snapshot.of(module)) if x.path[0] == "i"]

    assert (change.owner, change.name) == (module.inner.held[0], "count")
