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
