"""A container that holds a tensor holds its new value after the tensor changes in place."""

import numpy as np
import pytest
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)


class Listed(Layers):
    """Elements of a list that another function returns are changed."""

    def parts(self, x):
        h = self.first(x)
        return [h * 2, h * 3]

    def forward(self, x):
        found = self.parts(x)
        found[0] += 1
        found[1].mul_(2)
        return self.second(found[0] * found[1])


class Taken(Listed):
    def forward(self, x):
        found = self.parts(x)
        first = found[0]
        first += 1
        return self.second(found[0] * found[1]) + sum(found)


class Keyed(Listed):
    def forward(self, x):
        h = self.first(x)
        kept = {"h": h, "all": [h, x]}
        h += 1
        return self.second(kept["h"]) * kept["all"][0]


class PartOfAnElement(Listed):
    def forward(self, x):
        found = self.parts(x)
        found[0][:, 0] += 1
        return self.second(found[0] * found[1])


def test_an_element_of_a_list_that_changes_in_place_is_the_new_value():
    assert agrees(Listed(), X)
    assert not agrees(Listed(), X, without="found[0] + 1", instead="found[0]")
    assert agrees(Taken(), X)
    assert agrees(Keyed(), X)


def test_an_element_whose_part_changes_in_place_is_not_read():
    with pytest.raises(PortError, match="'found' shares memory with a tensor that line"):
        source(PartOfAnElement(), X)


class Stored(Listed):
    """An attribute that the module sets is changed in place, by its own name and by another."""

    def forward(self, x):
        self.h = self.first(x)
        self.h += 1
        self.h.mul_(2)
        other = self.h
        other += x
        return self.second(self.h)


class Counted(Listed):
    """The length of a list is a size, and one of its elements changes."""

    def forward(self, x):
        found = [self.first(row) for row in x]
        found[0] += 1
        return sum(found)


def test_an_attribute_that_changes_in_place_is_the_new_value():
    assert agrees(Stored(), X)


def test_a_list_whose_length_is_a_size_keeps_its_length():
    assert "assert len(found) == 3" in source(Counted(), X)
    assert agrees(Counted(), X)
