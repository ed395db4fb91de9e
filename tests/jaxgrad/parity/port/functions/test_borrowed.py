"""Lists and dicts that a function changes for its caller."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Collects(nn.Module):
    """Two functions fill a list of sizes and a dict of tensors, as graph networks do."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def measure(self, sizes, dim, h):
        if sizes[dim] is None:
            sizes[dim] = h.size(0)

    def collect(self, sizes, found, h):
        for dim in range(2):
            self.measure(sizes, dim, h)
        found["mean"] = h.mean()
        found["size"] = sizes[1]
        return found

    def forward(self, x):
        sizes, h = [None, None], self.fc(x)
        found = self.collect(sizes, {}, h)
        rows = 5 if found["size"] is None else found["size"]
        return torch.zeros(rows, 4) + h * found["mean"] + sizes[0]


def test_what_a_function_sets_in_an_argument_is_read_by_its_caller():
    assert agrees(Collects(), X)
    assert not agrees(Collects(), X, without='found["mean"]', instead="1")


def test_classes_do_not_change_the_arguments_of_their_methods():
    with pytest.raises(PortError, match="an argument is changed in a function, and read by its"):
        port(Collects(), (X,), style="nnx", prove=False)


class Flattens(nn.Module):
    """A function without a result fills two lists, as `kornia` makes its constants."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def flatten(self, data, shape, leaves):
        shape.append(len(data))
        for x in data:
            leaves.append(x)

    def forward(self, x):
        shape, leaves = [1], []
        self.flatten((2.0, 3.0, 4.0, 5.0), shape, leaves)
        return self.fc(x) * torch.tensor(leaves).view(shape)


def test_what_a_function_without_a_result_appends_is_in_the_list_of_its_caller():
    assert agrees(Flattens(), X)
    assert not agrees(Flattens(), X, without="5.0", instead="6.0")


class Drops(nn.Module):
    """A function deletes the first element of its caller's list."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def drop(self, parts):
        del parts[0]
        return len(parts)

    def forward(self, x):
        parts = [self.fc(x), self.fc(2 * x), 3 * self.fc(x * x)]
        count = self.drop(parts)
        return sum(parts) * count


def test_an_element_that_a_function_deletes_is_missing_in_its_caller():
    """The port sums two of the three elements."""
    assert agrees(Drops(), X)
