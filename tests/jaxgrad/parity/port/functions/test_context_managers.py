"""A `with` statement over the user's own context manager is interpreted through its generator."""

import contextlib

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
EVENTS: list[str] = []


@contextlib.contextmanager
def frozen(h):
    scale = h.detach().abs().max()
    with torch.no_grad():
        yield scale


@contextlib.contextmanager
def doubled(h):
    try:
        yield h * 2
    finally:
        EVENTS.append("left")


class Plain(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.layer, self.step = nn.Linear(4, 4), step

    def forward(self, x):
        return self.step(self.layer(x))


def _frozen(h):
    with frozen(h) as scale:
        pair = (h * 2, h * 3 + scale)
    first, second = pair
    return h + first * second


def _returns(h):
    with torch.no_grad(), doubled(h) as twice:
        return h + twice


def _nested(h):
    with torch.no_grad(), torch.autocast("cpu"):
        mean = h.mean(-1, keepdim=True)
    return h * mean


class Off:
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, *_):
        torch.set_grad_enabled(self.before)


def _grad_mode_of_a_class(h):
    with Off():
        scale = h * 2
    return h * scale


def test_the_block_runs_where_the_generator_yields():
    """What the generator computes is written before the block, under its gradient mode."""
    torch.manual_seed(0)
    line = "pair = lax.stop_gradient(h * 2), lax.stop_gradient(h * 3 + scale)"
    assert agrees(Plain(_frozen), X)
    assert not agrees(Plain(_frozen), X, without=line, instead="pair = (h * 2, h * 3 + scale)")


def test_a_block_that_returns_leaves_the_generator():
    """`return` in the block runs the generator's `finally`, and its result is stopped."""
    EVENTS.clear()
    text = source(Plain(_returns), X)
    assert "lax.stop_gradient(" in text


def test_a_class_that_switches_gradients_off_stops_them():
    """A context manager that is a class is entered, and the gradient mode is read after that."""
    torch.manual_seed(0)
    line = "lax.stop_gradient(h * 2)"
    assert agrees(Plain(_grad_mode_of_a_class), X)
    assert not agrees(Plain(_grad_mode_of_a_class), X, without=line, instead="h * 2")


def test_each_manager_of_a_with_statement_is_entered():
    """The second manager of `with a, b:` is entered too."""
    text = source(Plain(_nested), X)
    assert "jaxgrad.autocast(" in text and "lax.stop_gradient" in text


def test_a_generator_outside_of_a_with_statement_is_refused():
    """A generator that is not a context manager has no counterpart."""

    def loops(h):
        def parts():
            yield h

        return sum(parts())

    with pytest.raises(PortError, match="a generator is not ported; return a list"):
        source(Plain(loops), X)
