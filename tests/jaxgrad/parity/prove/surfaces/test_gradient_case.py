"""The values that torch detaches are the places where a port may lack a stop_gradient."""

import numpy as np

from jaxgrad.parity.prove.surfaces.gradient_case import detached_operands
from jaxgrad.parity.prove.torch_side.values import TorchRun, Value


def value(op: str, *inputs: int) -> Value:
    return Value("", op, inputs, (2,), np.zeros(16))


def test_operands_of_detach_and_data_are_listed_once():
    """A value that is detached twice is listed once, and other operands are not listed."""
    values = [value("a"), value("b"), value("detach", 1), value("data", 0), value("detach", 1)]
    run = TorchRun([*values, value("mul", 2)], [], {}, [], {}, [], {}, None, [], [], {})

    assert detached_operands(run) == [1, 0]
