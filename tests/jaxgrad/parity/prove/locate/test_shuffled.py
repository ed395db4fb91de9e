"""Operands that JAX has in another order count as values that it does not have."""

import contextlib
from typing import Any

import jax.numpy as jnp
import pytest
import torch
from torch import nn

from jaxgrad.parity.prove.clock import Clock
from jaxgrad.parity.prove.evidence import gather
from jaxgrad.parity.prove.locate import shuffled
from jaxgrad.parity.prove.record import adapters
from jaxgrad.parity.prove.record.torch_side.factory import open_torch_side
from jaxgrad.parity.prove.request import Request
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Net(nn.Module):
    """A layer that reads features in the order in which they are joined."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(6, 2)

    def forward(self, x):
        h = self.a(x)
        return self.b(torch.cat([h.sin(), h.cos()], 1))


def port(p: Any, x: Any) -> Any:
    h = x @ p["a.weight"].T + p["a.bias"]
    joined = jnp.concatenate([jnp.cos(h), jnp.sin(h)], 1)
    return joined @ p["b.weight"].T + p["b.bias"]


def test_a_shuffled_operand_is_no_longer_matched():
    """The joined features are shuffled; their parts, and the input of the first layer, are not."""
    torch.manual_seed(0)
    module = Net()
    request = Request(module, port, arrays(module), (draw(5, 4),))
    with adapters.float64_on_cpu(), contextlib.closing(open_torch_side(request)) as side:
        evidence = gather(request, Clock(), side)
        run = side.run(evidence.draws[0], keep=True)
        numbers = {value.op: i for i, value in enumerate(run.values)}
        start, joined = len(run.values) - 1, numbers["cat"]
        other = shuffled.without_shuffled(evidence, 0, run, [start])
        assert other is not None
        alignment = other.alignments[0]
        assert list(alignment.shuffled) == [joined]
        assert not alignment.visible(joined)
        assert alignment.visible(numbers["sin"])
        assert shuffled.copies(other, 0, joined) == shuffled.copies(evidence, 0, joined)
        assert evidence.alignments[0].visible(joined)  # the first evidence is unchanged
        assert shuffled.without_shuffled(other, 0, run, [joined]) is None


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return (self.a(x) @ self.b(x).mT + 0.5).exp()


@pytest.mark.parametrize("program", ["right", "exchanged", "another layout"])
def test_an_operand_is_transposed_if_no_copy_has_its_order(program):
    """An array with another shape has another layout, in which nothing is wrong."""

    def port(p: Any, x: Any) -> Any:
        q, k = (x @ p[f"{n}.weight"].T + p[f"{n}.bias"] for n in "ab")
        if program == "another layout":
            scores = jnp.einsum("btd,bsd->tbs", q, k)
            return jnp.exp(2 * scores + 0.5).transpose(1, 0, 2)
        return jnp.exp(2 * (k @ q.mT if program == "exchanged" else q @ k.mT) + 0.5)

    torch.manual_seed(0)
    module = Scores()
    request = Request(module, port, arrays(module), (draw(2, 5, 4),))
    with adapters.float64_on_cpu(), contextlib.closing(open_torch_side(request)) as side:
        evidence = gather(request, Clock(), side)
        run = side.run(evidence.draws[0], keep=True)
        numbers = {value.op: i for i, value in enumerate(run.values)}
        found = shuffled.transposed(evidence, 0, run, numbers["add"])
        if program != "exchanged":
            assert found is None
        else:
            number, key = found or (None, None)
            assert number == numbers["matmul"]
            assert key is not None and key[0] in evidence.port.program.equations
