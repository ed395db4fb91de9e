"""Gates that repair wrong gradients are found, and the values that torch detaches are listed."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.causes.case import _affordable, detached_operands


def test_the_operands_that_torch_detaches():
    """Each value is listed once, in torch's order."""
    ops = [("input", ()), ("detach", (0,)), ("data", (2,)), ("mul", (1,)), ("detach", (0,))]
    plain = {"weights": (), "requires_grad": True, "own_gradient": False}
    values = [SimpleNamespace(op=o, inputs=i, **plain) for o, i in ops]
    record: Any = SimpleNamespace(values=values, grads={})
    assert detached_operands(record) == [0, 2]


ONES = np.ones(2)


@pytest.mark.parametrize(
    ("size", "reruns"), [(0, 150), (2e8 / 40 - 1, 40), (2e8 / 7, 8), (1e12, 8)]
)
def test_a_large_model_is_rerun_less_often(size, reruns):
    """All reruns together compute 200 million numbers, but there are 8 to 150 of them."""
    assert _affordable(size) == reruns
