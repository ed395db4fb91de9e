"""Runs of torch and of the port are made only where a verdict needs them, and freed once judged."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side.port import Port
from jaxgrad.parity.prove.surfaces import other_inputs
from jaxgrad.parity.prove.torch_side.live import Live


torch.manual_seed(0)
NET = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
PARAMS = {name: x.numpy().copy() for name, x in NET.state_dict().items()}
X = np.random.default_rng(0).standard_normal((5, 3))


def port(p, x):
    return jnp.tanh(x @ p["0.weight"].T + p["0.bias"]) @ p["2.weight"].T + p["2.bias"]


def stopped_elsewhere(p, x):
    """Stop the gradient of a weight unless it has its given value."""
    w = p["2.weight"]
    given = jnp.abs(w - PARAMS["2.weight"]) < 1e-3
    return port({**p, "2.weight": jnp.where(given, w, jax.lax.stop_gradient(w))}, x)


@pytest.fixture
def runs(monkeypatch):
    """Record each run of torch: its draw, whether it has no gradients, whether it is a rerun."""
    calls, run = [], Live.run

    def spy(self, draw, *, forward=False, **options):
        calls.append((draw.number, forward, "rough" in options))
        return run(self, draw, forward=forward, **options)

    monkeypatch.setattr(Live, "run", spy)
    return calls


def test_the_second_draw_is_rerun_without_gradients_if_they_agree(runs):
    """Reruns measure rounding: with gradients on the first draw, forward alone on the second."""
    assert prove(NET, port, PARAMS, (X,)).verdict == "pass"
    assert [forward for number, forward, rerun in runs if number == 0 and rerun] == [False] * 2
    assert [forward for number, forward, rerun in runs if number == 1 and rerun] == [True] * 2


def test_a_gradient_that_differs_on_the_second_draw_alone_is_judged_with_its_rounding(runs):
    """A differing gradient on the second draw asks for reruns with gradients, and then fails."""
    report = prove(NET, stopped_elsewhere, PARAMS, (X,))

    assert report.surfaces["forward"].verdict == "pass"
    assert "with redrawn weights, but not with the given ones" in report.surfaces["gradients"].text
    assert (1, False, True) in runs


def test_the_control_of_the_forward_surface_uses_the_program_of_the_gradients(monkeypatch):
    """Both negative controls run a program that is compiled anyway."""
    monkeypatch.setattr(Port, "outputs", None)
    surfaces = prove(NET, port, PARAMS, (X,)).surfaces

    assert "was detected" in surfaces["forward"].control
    assert "was detected" in surfaces["backward"].control


@pytest.mark.parametrize("optimizer", [None, (lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1))])
def test_judged_gradients_are_freed_unless_updates_need_them(optimizer, monkeypatch):
    """Before other inputs are proved, no gradient of the first ones is kept without optimizer=."""
    kept: list[bool] = []

    def surfaces(evidence: Evidence, *_):
        kept.append(any(g is not None for g in evidence.runs[0].grads.values()))
        kept.append(bool(evidence.jax_gradients[0].leaves))
        return {}

    monkeypatch.setattr(other_inputs, "surfaces", surfaces)

    assert prove(NET, port, PARAMS, (X,), optimizer=optimizer).verdict == "pass"
    assert kept == [optimizer is not None] * 2
