"""Gates that repair wrong gradients are found, and the values that torch detaches are listed."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxgrad.parity.prove.causes.case import Kept, detached_operands


def test_the_operands_that_torch_detaches():
    """Each value is listed once, in torch's order."""
    ops = [("input", ()), ("detach", (0,)), ("data", (2,)), ("mul", (1,)), ("detach", (0,))]
    plain = {"weights": (), "requires_grad": True, "function": ""}
    values = [SimpleNamespace(op=o, inputs=i, **plain) for o, i in ops]
    record: Any = SimpleNamespace(values=values, grads={})
    assert detached_operands(record) == [0, 2]


def test_results_are_kept_as_long_as_there_is_memory():
    """A result that needs more memory than is left is computed again."""
    kept, made = Kept(most=100), []

    def value(key: str, size: int) -> np.ndarray:
        return kept.value(key, lambda: made.append(key) or np.zeros(size), lambda x: [x, None])

    assert value("a", 10) is value("a", 10)
    assert value("b", 10) is not value("b", 10)
    assert value("c", 2) is value("c", 2)
    assert made == ["a", "b", "b", "c"]
