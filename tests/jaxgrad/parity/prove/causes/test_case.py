"""Gates that repair wrong gradients are found, and the values that torch detaches are listed."""

from types import SimpleNamespace
from typing import Any

from jaxgrad.parity.prove.causes.case import detached_operands


def test_the_operands_that_torch_detaches():
    """Each value is listed once, in torch's order."""
    ops = [("input", ()), ("detach", (0,)), ("data", (2,)), ("mul", (1,)), ("detach", (0,))]
    plain = {"weights": (), "requires_grad": True, "own_gradient": False}
    values = [SimpleNamespace(op=o, inputs=i, **plain) for o, i in ops]
    record: Any = SimpleNamespace(values=values, grads={})
    assert detached_operands(record) == [0, 2]
