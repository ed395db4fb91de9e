"""Numbers of the configuration have the author's names in the port."""

import inspect
import math
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as tf

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((2, 6, 8)).astype(np.float32)
SLOPE = 0.2
WIDTH = 8


class Heads(nn.Module):
    def __init__(self, heads=4, axis=-1):
        super().__init__()
        self.fc, self._parts, self.head_dim, self.axis = nn.Linear(8, 8), heads, 8 // heads, axis
        self.scale, self.eps, self.on = 3.0, 1e-6, heads > 2

    def forward(self, x):
        b, n, _ = x.shape
        x = self.fc(x).view(b, n, self._parts, self.head_dim)
        x = x * self.head_dim**-0.5 if self.on else x
        x = x.softmax(dim=self.axis) + self.eps
        return x.reshape(b, n, self._parts * self.head_dim)


def test_an_attribute_is_a_keyword_with_its_value_as_the_default():
    """The body has the author's expressions, and the entry takes the numbers too."""
    text = source(Heads(), X)
    assert "def heads(p, x, *, parts=4, head_dim=2):" in text
    assert "reshape(b, n, parts, head_dim)" in text and "* head_dim**-0.5" in text
    assert "reshape(b, n, parts * head_dim)" in text
    assert agrees(Heads(), X)


def test_what_needs_no_name_stays_a_number():
    """An axis, an epsilon and a test that is folded are not keywords."""
    text = source(Heads(), X)
    assert "axis=-1)" in text and "+ 1e-6" in text and "on=" not in text


def test_a_keyword_changes_the_port():
    """With another number of heads the port is the torch module with this number."""
    ported = port(Heads(4), (X,), prove=False)
    other = Heads(1)
    other.on, other.head_dim = True, 8
    names = set(inspect.signature(ported.fn).parameters) - {"p", "x"}
    assert names == {"parts", "head_dim"}
    fn: Any = ported.fn
    result = fn(ported.params(other.state_dict()), X, parts=1, head_dim=8)
    np.testing.assert_allclose(result, other(torch.tensor(X)).detach(), rtol=1e-5)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.scale = nn.Linear(8, 8), 1 / math.sqrt(18)

    def forward(self, x):
        return self.fc(x) * self.scale + self.scale


def test_an_attribute_that_is_a_formula_is_a_variable():
    """A keyword would not follow the number in it, and ruff refuses a call as a default."""
    text = source(Scaled(), X)
    assert "def scaled(p, x):" in text and text.count("scale = 1 / math.sqrt(18)") == 1
    assert "* scale + scale" in text
    assert agrees(Scaled(), X)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Heads(4), Heads(2)
        self.second.on = True

    def forward(self, x):
        return self.second(self.first(x))


def test_copies_with_other_numbers_take_them_as_keywords():
    """What a formula is made of is passed, not the value of the formula."""
    text = source(Two(), X)
    assert "parts=4, head_dim=2)" in text and "parts=2, head_dim=4)" in text
    assert text.count("** -0.5") + text.count("**-0.5") == 1
    assert agrees(Two(), X)


class Constants(nn.Module):
    def forward(self, x):
        return tf.leaky_relu(x, SLOPE) * WIDTH**-0.5 / (WIDTH - 2)


def test_a_constant_of_the_torch_file_is_one_of_the_port():
    """It is written once, before the functions; nnx classes have it too."""
    for style in ("functions", "nnx"):
        text = port(Constants(), (X,), style=style, prove=False).source
        assert "\nSLOPE = 0.2\nWIDTH = 8\n\n\n" in text
        assert "F.leaky_relu(x, SLOPE)" in text or "negative_slope=SLOPE" in text
        assert "* WIDTH**-0.5 / (WIDTH - 2)" in text


def scaled(x, h, *, gain=2.5):
    return x * h * gain + h


class Passes(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 4

    def forward(self, x, t1=1.5):
        h = t1 / self.steps
        for _ in range(self.steps):
            x = scaled(x, h).sin()
        return scaled(x, h)


def test_a_number_that_is_an_argument_is_passed_as_the_author_passes_it():
    """A variable that holds a formula is assigned once, and defaults are kept."""
    text = source(Passes(), X)
    assert "def passes(p, x, *, " in text and "t1=1.5" in text and "steps=4" in text
    assert "    h = t1 / steps\n    for _ in range(steps):\n" in text
    assert "def scaled(x, *, h, gain=2.5):" in text and "scaled(x, h=h)" in text


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.drop_prob = nn.Parameter(torch.ones(8)), 1 / 30

    def forward(self, x):
        keep_prob = 1 - self.drop_prob
        shift = torch.floor(x + keep_prob)
        return x * self.weight / keep_prob * shift


def test_a_formula_of_a_formula_is_assigned_after_it():
    """The formula of `keep_prob` reads `drop_prob`, so `drop_prob` is assigned first."""
    text = source(Kept(), X)
    assert "    drop_prob = 1 / 30\n    keep_prob = 1 - drop_prob\n" in text
    assert agrees(Kept(), X)


class Shift(nn.Module):
    def __init__(self, offset, axis):
        super().__init__()
        self.weight, self.offset, self.axis = nn.Parameter(torch.ones(8)), offset, axis

    def forward(self, x):
        total = -1
        for _ in range(3):
            total = total + x.sum(dim=self.axis, keepdim=True)
        return x * self.weight + self.offset + total


class Shifts(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Shift(-0.5, -1), Shift(-0.25, -2)

    def forward(self, x):
        return self.second(self.first(x))


def test_a_negative_number_is_one_number_with_its_sign():
    """A keyword takes the author's value, and a loop may start at a negative number."""
    text = source(Shifts(), X)
    assert "offset=-0.5" in text and "offset=-0.25" in text
    assert "x.sum(axis=axis, keepdims=True)" in text and "] + offset" in text
    assert "    total = -1\n    for _ in range(3):\n" in text
    assert agrees(Shifts(), X)
