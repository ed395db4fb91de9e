"""The source of a function is found where its code is, also of a lambda beside others."""

import ast
import sys

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import source_of
from tests.jaxgrad.parity.port._ports import agrees


OTHERS = [lambda x: x + 1, lambda x: x + 2]
NESTED = [lambda make: make(lambda epoch: 0.5)]
CONSTANTS = [lambda x: 1.0, lambda x: 2.0]


def body(function) -> str:
    node = source_of(function).node
    assert isinstance(node, ast.Lambda)
    return ast.unparse(node.body)


def test_a_lambda_is_found_by_its_place_in_the_line():
    """Lambdas with the same arguments on one line differ by the place of their bodies."""
    assert [body(function) for function in OTHERS] == ["x + 1", "x + 2"]


def test_a_lambda_that_returns_a_constant_is_found_by_its_arguments():
    """Since Python 3.12 its code has no place in the line; its arguments and its line remain."""
    inner = NESTED[0](lambda function: function)
    assert body(inner) == "0.5" and body(NESTED[0]) == "make(lambda epoch: 0.5)"


def test_constants_that_cannot_be_told_apart_are_refused():
    """Two such lambdas with equal arguments on one line are an error that says what to do."""
    if sys.version_info < (3, 12):
        assert [body(function) for function in CONSTANTS] == ["1.0", "2.0"]
        return
    with pytest.raises(PortError, match="shares its line with others; define it with `def`"):
        body(CONSTANTS[0])


class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x).tanh() * 2


def test_a_graph_that_torch_fx_has_traced_is_ported():
    """The function of a traced graph belongs to no Python module."""
    x = np.ones((2, 4), np.float32)
    assert agrees(torch.fx.symbolic_trace(Traced()), x)


class Negative(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.count = nn.Linear(4, 3), np.prod((2, 4))

    def forward(self, x):
        return -0.5 * self.count * self.fc(x)


def test_a_negative_number_of_numpy_is_written_as_a_number_of_python():
    assert agrees(Negative(), np.ones((2, 4), np.float32))


class _Private(nn.Module):
    """Python gives names of two underscores another name in each class."""

    def __init__(self):
        super().__init__()
        self.__layer = nn.Linear(4, 4)

    def __scaled(self, x):
        return self.__layer(x) * 2

    def forward(self, x):
        def inner(y):
            return self.__scaled(y)

        return inner(x + 1)


def test_private_attributes_are_found():
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    assert agrees(_Private(), x)
