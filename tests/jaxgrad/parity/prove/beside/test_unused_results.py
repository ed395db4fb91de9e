"""A call that only returns a copy does nothing if its result is not used, and a note says so."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest
import torch
from jax import lax
from torch import nn

import jaxgrad
from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Written(nn.Module):
    """It writes into a tensor, stops a part of a gradient, and has a hook."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        h = self.layer(x).tanh().clone()
        h[:, 0] *= 2
        h[:, 1] = h[:, 1].detach()
        h.register_hook(lambda grad: 3 * grad)
        return h.square().sum()


def times(grad: Any) -> Any:
    return 3 * grad


def right(h: Any) -> Any:
    h = h.at[:, 0].mul(2)
    h = h.at[:, 1].set(lax.stop_gradient(h[:, 1]))
    return jaxgrad.hook(h, times)


def lone_write(h: Any) -> Any:
    h.at[:, 0].mul(2)
    h = h.at[:, 1].set(lax.stop_gradient(h[:, 1]))
    return jaxgrad.hook(h, times)


def lone_stop(h: Any) -> Any:
    h = h.at[:, 0].mul(2)
    lax.stop_gradient(h[:, 1])
    return jaxgrad.hook(h, times)


def lone_hook(h: Any) -> Any:
    h = h.at[:, 0].mul(2)
    h = h.at[:, 1].set(lax.stop_gradient(h[:, 1]))
    jaxgrad.hook(h, times)
    return h


def notes(change: Callable[[Any], Any]) -> list[str]:
    module = Written()

    def port(p: Any, x: Any) -> Any:
        h = jnp.tanh(x @ p["layer.weight"].T + p["layer.bias"])
        return (change(h) ** 2).sum()

    report = prove(module, port, arrays(module), (draw(5, 4),))
    assert report.verdict == ("pass" if change is right else "fail"), str(report)
    return [note for note in report.notes if "never uses" in note]


@pytest.mark.parametrize(
    ("change", "line", "called"),
    [(lone_write, 1, "scatter-mul"), (lone_stop, 2, "stop_gradient"), (lone_hook, 3, "attach")],
)
def test_a_result_that_is_thrown_away_is_noted(change, line, called):
    """The note names the line, and says that the call leaves its argument as it is."""
    (note,) = notes(change)
    number = change.__code__.co_firstlineno + line
    assert note == (
        f"the port never uses the result of test_unused_results.py:{number} ({called}): .at[...], "
        "stop_gradient and jaxgrad.hook leave their argument as it is and return a new array"
    )


def test_a_port_that_uses_all_results_has_no_note():
    """The negative control."""
    assert notes(right) == []
