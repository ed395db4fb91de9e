"""The line of a difference inside of a `lax.scan`, whose first iterations may agree by chance."""

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays


X = 2 * np.random.default_rng(0).standard_normal((6, 8, 4)).astype(np.float32)
LENGTHS = np.array([8, 5, 6, 3, 8, 4])


class Cells(nn.Module):
    """Cells that fire if their voltage is above a threshold, which rises with what they fired."""

    def __init__(self):
        super().__init__()
        self.fc, self.rise = nn.Linear(4, 5), nn.Parameter(torch.linspace(0.1, 0.5, 5))

    def forward(self, x, lengths):
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        current = self.fc(x * mask[..., None].to(x.dtype))
        v = a = torch.zeros_like(current[:, 0])
        total = torch.zeros_like(v)
        for t in range(x.shape[1]):
            v = 0.8 * v + current[:, t]
            threshold = 0.3 + nn.functional.softplus(self.rise) * a
            s = (v > threshold).to(v.dtype) * mask[:, t, None]
            a = 0.9 * a + s
            v = v - s * threshold
            total = total + v
        return total


def port(p: Any, x: Any, lengths: Any, *, rise: Any = jax.nn.softplus, last: int = 0) -> Any:
    mask = jnp.arange(x.shape[1]) < lengths[:, None] + last
    masked = x * mask[..., None]
    current = masked @ p["fc.weight"].T + p["fc.bias"]
    adapt = rise(p["rise"])

    def step(carry: Any, inputs: Any) -> Any:
        v, a = carry
        c, alive = inputs
        v = 0.8 * v + c
        threshold = 0.3 + adapt * a
        s = (v > threshold) * alive[:, None]
        a = 0.9 * a + s
        v = v - s * threshold
        return (v, a), v

    zeros = jnp.zeros((x.shape[0], 5), x.dtype)
    _, v = lax.scan(step, (zeros, zeros), (current.swapaxes(0, 1), mask.T))
    return v.sum(0)


@pytest.mark.parametrize(
    ("mistake", "op", "line"),
    [
        ({"rise": jnp.exp}, "softplus", "adapt = rise(p["),
        ({"last": 1}, "lt", "mask = jnp.arange"),
    ],
    ids=["exp", "mask"],
)
def test_the_first_line_that_differs_is_named(mistake, op, line):
    """Spikes are zeros and ones, of which two programs may have as many without being equal."""
    torch.manual_seed(0)
    module = Cells()
    assert prove(module, port, arrays(module), (X, LENGTHS)).verdict == "pass"

    def wrong(p: Any, x: Any, lengths: Any) -> Any:
        return port(p, x, lengths, **mistake)

    found = prove(module, wrong, arrays(module), (X, LENGTHS)).first

    assert found is not None and found.op == op
    source, start = inspect.getsourcelines(port)
    number = start + next(k for k, text in enumerate(source) if line in text)
    assert found.jax.startswith(f"test_forward_scans.py:{number} ")
    assert found.tested, found.cause


class Adapting(nn.Module):
    """An average of detached outputs, which begins with `new_zeros`, moves a threshold."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        current = self.fc(x)
        a = current.new_zeros(x.shape[0], 5)
        total = torch.zeros_like(a)
        for t in range(x.shape[1]):
            s = torch.sigmoid(current[:, t] - a)
            a = 0.9 * a + 0.1 * s.detach()
            total = total + s
        return total


def test_a_detach_is_not_reported_as_no_grad():
    """Calling `new_zeros` on a tensor with a gradient reads only its dtype and device."""

    def adapting(p: Any, x: Any) -> Any:
        current = x @ p["fc.weight"].T + p["fc.bias"]

        def step(a: Any, c: Any) -> Any:
            s = jax.nn.sigmoid(c - a)
            return 0.9 * a + 0.1 * s, s

        zeros = jnp.zeros((x.shape[0], 5), x.dtype)
        return lax.scan(step, zeros, current.swapaxes(0, 1))[1].sum(0)

    torch.manual_seed(0)
    module = Adapting()
    found = prove(module, adapting, arrays(module), (X,)).first

    assert found is not None and found.tested
    assert "a stop_gradient is missing there" in found.cause or "(detach)" in found.cause
    assert "no_grad" not in found.cause
