"""A call that only returns a copy does nothing if its result is not used, and a note says so."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import optax
import pytest
import torch
from jax import lax
from torch import nn

import jaxgrad
import jaxgrad.functional
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
    return [note for note in report.notes if note.startswith("no output of the port")]


@pytest.mark.parametrize(
    ("change", "line", "called"),
    [(lone_write, 1, "scatter-mul"), (lone_stop, 2, "stop_gradient"), (lone_hook, 3, "attach")],
)
def test_a_result_that_is_thrown_away_is_noted(change, line, called):
    """The note names the line, and says that the call does not change its argument."""
    (note,) = notes(change)
    number = change.__code__.co_firstlineno + line
    assert note == (
        f"no output of the port depends on the result of test_unused_results.py:{number} "
        f"({called}): return it or assign it, because .at[...], stop_gradient and jaxgrad.hook do "
        "not change their argument"
    )


def test_a_port_that_uses_all_results_has_no_note():
    """The negative control."""
    assert notes(right) == []


def test_calls_of_a_library_and_calls_that_are_used_once_have_no_note():
    """`optax.ctc_loss` writes into an array that it does not return; so may a stop of a tree."""
    torch.manual_seed(0)
    module = nn.Linear(3, 4)

    def port(p: Any, x: Any) -> Any:
        frozen = {name: lax.stop_gradient(value) for name, value in p.items()}
        logits = x @ frozen["weight"].T + p["bias"]
        lengths = jnp.zeros(logits.shape[:2]), jnp.zeros((len(x), 2))
        labels = jnp.ones((len(x), 2), jnp.int32)
        return 2 * logits, optax.ctc_loss(logits, lengths[0], labels, lengths[1])

    class Scored(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.bias = module.weight, module.bias

        def forward(self, x):
            logits = nn.functional.linear(x, self.weight.detach(), self.bias)
            labels, count = torch.ones((len(x), 2), dtype=torch.long), len(x)
            loss = nn.functional.ctc_loss(
                logits.log_softmax(-1).transpose(0, 1), labels,
                torch.full((count,), x.shape[1]), torch.full((count,), 2), reduction="none",
            )  # fmt: skip
            return logits, loss

    report = prove(Scored(), port, arrays(module), (draw(2, 5, 3),))
    assert report.verdict == "fail"
    assert not any(note.startswith("no output of the port") for note in report.notes)


def test_what_an_operator_of_jaxgrad_does_not_use_is_not_noted():
    """`functional.std` computes a value with a stop_gradient that this call does not need."""

    class Scaled(nn.Linear):
        def forward(self, input):
            weight = self.weight / self.weight.std(dim=1, keepdim=True)
            return torch.tanh(input @ weight.T)

    def port(p: Any, x: Any) -> Any:
        weight = p["weight"] / jaxgrad.functional.std(p["weight"], dim=1, keepdim=True)
        return jnp.sin(x @ weight.T)

    module = Scaled(3, 4, bias=False)
    report = prove(module, port, arrays(module), (draw(5, 3),))
    assert report.verdict == "fail"
    assert not any("never uses" in note for note in report.notes)
