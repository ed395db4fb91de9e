"""A wrong table is named itself, and not the operation that reads it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.causes import constants as unequal_constants
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Window(nn.Module):
    """A layer times a window, which it holds in a buffer or in a plain attribute, or computes."""

    w: Tensor

    def __init__(self, holds: str):
        super().__init__()
        self.fc, self.holds = nn.Linear(4, 4), holds
        if holds == "buffer":
            self.register_buffer("w", torch.hann_window(4), persistent=False)
        self.plain = torch.hann_window(4)

    def forward(self, x):
        if self.holds == "buffer":
            w = self.w
        elif self.holds == "attribute":
            w = self.plain
        else:
            w = 0.5 - 0.5 * torch.cos(torch.arange(4).to(x) * torch.pi / 2)
        return torch.tanh(self.fc(x)) * w


def windowed(p: Any, x: Any, w: Any) -> Any:
    h = jnp.tanh(x @ p["fc.weight"].T + p["fc.bias"])
    return h * w(4)


def periodic(n: int) -> Any:
    return 0.5 - 0.5 * jnp.cos(jnp.arange(n) * (2 * jnp.pi / n))


def of_window(holds: str, w: Any, seed: int = 0) -> Report:
    torch.manual_seed(seed)
    module = Window(holds)
    return prove(module, lambda p, x: windowed(p, x, w), arrays(module), (draw(2, 4),), seed=seed)


@pytest.mark.parametrize(
    ("holds", "what"),
    [
        ("buffer", "torch's buffer w does not occur in the JAX program, and neither does the "
         "[2, 4] output of torch's mul, which depends on it."),
        ("attribute", "torch's constant of 4 numbers does not occur in the JAX program"),
        ("nothing", "the constant [4] output of torch's rsub does not occur in the JAX program, "
         "and neither does the [2, 4] output of torch's mul"),
    ],
)  # fmt: skip
def test_a_wrong_window_is_the_value_without_an_equal(holds, what):
    """torch's window is periodic, numpy's symmetric: the sentence claims no equal inputs."""
    finding = of_window(holds, jnp.hanning).first

    assert finding is not None and finding.surface == "forward"
    assert finding.text.startswith(what)
    assert "every input" not in finding.text
    line = windowed.__code__.co_firstlineno + 2
    assert finding.jax.startswith(f"test_constants.py:{line}")


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("holds", ["buffer", "attribute", "nothing"])
def test_a_right_window_passes(holds, seed):
    """The port computes it in its own way."""
    of_window(holds, periodic, seed).check()


class Time(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, t):
        freq = torch.exp(-np.log(1e4) * torch.arange(4) / 4)
        return self.fc(torch.sin(t[:, None] * freq)) + x


def time(p: Any, x: Any, t: Any, steps: float = 4, *, shift: int = 0, bias: float = 1.0) -> Any:
    freq = jnp.exp(jnp.arange(4) * -(np.log(1e4) / steps))
    angles = (t + shift)[:, None] * freq
    return jnp.sin(angles) @ p["fc.weight"].T + bias * p["fc.bias"] + x


def of_time(**options: Any) -> Report:
    torch.manual_seed(0)
    module = Time()
    inputs = (draw(2, 4), np.array([3, 250]))
    return prove(module, lambda p, x, t: time(p, x, t, **options), arrays(module), inputs)


def test_wrong_frequencies_are_named_at_the_line_that_computes_them():
    """The sine and the layer after it depend on an input of integers, so they are no constants."""
    finding = of_time(steps=3).first

    assert finding is not None
    assert finding.op == "exp" and finding.torch == "(root)"
    assert finding.text.startswith(
        "the constant [4] output of torch's exp does not occur in the JAX program, and neither "
        "does the [2, 4] output of torch's linear, which depends on it."
    )
    line = time.__code__.co_firstlineno + 1
    assert finding.jax.startswith(f"test_constants.py:{line}")


def test_an_equal_table_is_not_named():
    """The frequencies are equal, the angles are not: a correct port may compute others."""
    finding = of_time(shift=1).first

    assert finding is not None
    assert "constant" not in finding.text


@pytest.mark.parametrize(
    ("x", "table"),
    [([0.1, 0.5], True), ([0.0, 1.0, 0.5], True), ([0.0, -np.inf], False), ([0.0, -1e9], False),
     ([0.0, 1.0, 1.0], False), ([0.0, 0.0, 1.0], False), ([2.0, 2.0], False), ([0.0, 2.0], True)],
)  # fmt: skip
def test_masks_are_no_tables(x, table):
    """A mask may be added in one program, and select in the other."""
    assert unequal_constants.is_table(np.asarray(fingerprint(np.array(x)))) is table


def test_a_mistake_beside_an_equal_table_keeps_its_place():
    """Every operand of the layer occurs in the port."""
    finding = of_time(bias=2.0).first
    of_time().check()

    assert finding is not None and finding.torch == "fc"
    assert finding.text.startswith("every input of torch's linear also occurs in the JAX program")


class Rotated(nn.Module):
    """Rotary positions, whose cosines a buffer holds twice, beside each other."""

    cos: Tensor
    sin: Tensor

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 4, bias=False)
        angles = torch.outer(*(torch.tensor(x, dtype=torch.float64) for x in (range(6), [1, 0.01])))
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1))

    def forward(self, x):
        q = self.q(x)
        half = torch.cat([-q[..., 2:], q[..., :2]], -1)
        return q * self.cos + half * self.sin


def rotated(p: Any, x: Any, *, sign: float, complex_: bool) -> Any:
    a, b = jnp.split(x @ p["q.weight"].T, 2, -1)
    angles = jnp.outer(jnp.arange(6.0), jnp.array([1.0, 0.01]))
    table = jnp.exp(1j * angles)
    cos, sin = (table.real, table.imag) if complex_ else (jnp.cos(angles), jnp.sin(angles))
    return jnp.concatenate([a * cos - sign * b * sin, b * cos + a * sin], -1)


@pytest.mark.parametrize("complex_", [False, True])
def test_a_table_that_occurs_in_another_form_is_not_missing(complex_):
    """torch's table repeats the port's, which may be a part of a complex constant."""
    module, x = Rotated(), (draw(2, 6, 4),)

    def port(sign: float) -> Any:
        return lambda p, x: rotated(p, x, sign=sign, complex_=complex_)

    prove(module, port(1.0), arrays(module), x).check()
    finding = prove(module, port(-1.0), arrays(module), x).first
    assert finding is not None
    assert "buffer" not in finding.text


class Masked(nn.Module):
    mask: Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.tril(torch.ones(4, 4)).bool())

    def forward(self, x):
        return torch.sin(x).masked_fill(self.mask, 0.0)


def test_a_mask_of_booleans_is_no_floating_input():
    """It is not compared, so that the sentence speaks of the floating inputs alone."""

    def port(p: Any, x: Any) -> Any:
        return jnp.where(jnp.tril(jnp.ones((4, 4), bool), -1), 0.0, jnp.sin(x))

    finding = prove(Masked(), port, {}, (draw(4, 4),)).first
    assert finding is not None
    assert finding.text.startswith("every floating input of torch's masked_fill also occurs")


def test_a_constant_that_is_computed_otherwise_is_not_searched_behind_its_reader():
    """The number of edges of each node depends on integers alone; a GRU cell reads the mean."""

    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.cell = nn.Linear(4, 4), nn.GRUCell(4, 4)

        def forward(self, h, source, target):
            messages = torch.tanh(self.inner(h))[source]
            total = torch.zeros(5, 4, dtype=h.dtype).index_add(0, target, messages)
            ones = torch.ones_like(target, dtype=h.dtype)
            degree = torch.zeros(5, dtype=h.dtype).index_add(0, target, ones)
            return self.cell(total / degree.clamp(min=1)[:, None], h)

    def port(p, h, source, target):
        messages = jnp.tanh(h @ p["inner.weight"].T + p["inner.bias"])[source]
        total = jax.ops.segment_sum(messages, target, 5)
        degree = jax.ops.segment_sum(jnp.ones(len(target)), target, 5)
        mean = total / (degree + 1)[:, None]
        x = mean @ p["cell.weight_ih"].T + p["cell.bias_ih"]
        y = h @ p["cell.weight_hh"].T + p["cell.bias_hh"]
        (r, z, n), (s, t, m) = jnp.split(x, 3, -1), jnp.split(y, 3, -1)
        z = jax.nn.sigmoid(z + t)
        return (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + s) * m) + z * h

    torch.manual_seed(0)
    module = Mean()
    edges = np.array([0, 1, 2, 3, 4, 0, 2]), np.array([1, 2, 3, 3, 1, 2, 1])
    first = prove(module, port, arrays(module), (draw(5, 4), *edges)).first

    assert first is not None and first.op == "div"
    line = port.__code__.co_firstlineno + 4
    assert first.jax.startswith(f"test_constants.py:{line} ")
