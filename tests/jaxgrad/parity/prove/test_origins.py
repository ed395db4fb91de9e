"""A finding originates where it is reported, or follows from the first divergence."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import Finding, Surface, prove
from jaxgrad.parity.prove import origins
from tests.jaxgrad.parity.prove._helpers import arrays, draw


def surfaces(**findings: Finding) -> dict[str, Surface]:
    """Return six surfaces, which fail if they have a finding; the gradient of w fails."""
    names = ("structure", "forward", "backward", "gradients", "updates", "precision")
    rows = ({"name": "w", "verdict": "fail"}, {"name": "v", "verdict": "pass"})
    return {
        name: Surface(name, "fail" if name in findings else "pass", "",
                      rows if name == "gradients" else (),
                      (findings[name],) if name in findings else ())
        for name in names
    }  # fmt: skip


FIRST = Finding("gradients", "w", "w", "it differs", cause="an extra stop", tested=True)


@pytest.mark.parametrize(
    ("changes", "originates"),
    [
        (dict(torch="w"), False),
        (dict(torch="v"), True),
        (dict(torch="v", cause="an extra stop", tested=True), False),
        (dict(torch="w", cause="the rate is doubled", tested=True), True),
    ],
)
def test_an_update_follows_from_a_wrong_gradient(changes: dict[str, Any], originates: bool):
    """It originates on its own surface if its gradient is right or a rerun confirmed its cause."""
    update = dataclasses.replace(Finding("updates", "", "", "off"), **changes)
    marked = origins.marked(SimpleNamespace(), surfaces(gradients=FIRST, updates=update))  # type: ignore[arg-type]

    assert marked["gradients"].findings[0].originates
    assert marked["updates"].findings[0].originates is originates


class Two(nn.Module):
    """Two layers, the input of the second of which is scaled."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(torch.tanh(self.a(x)))


def test_a_gradient_follows_from_a_wrong_cotangent_without_a_tested_cause():
    """A port that scales a cotangent has a wrong cotangent, from which the gradient follows."""
    module = Two()
    scaled = jax.custom_vjp(lambda x: x)
    scaled.defvjp(lambda x: (x, None), lambda _, grad: (1.5 * grad,))

    def apply(p: Any, x: Any) -> Any:
        h = scaled(jnp.tanh(x @ p["a.weight"].T + p["a.bias"]))
        return h @ p["b.weight"].T + p["b.bias"]

    report = prove(module, apply, arrays(module), (draw(4, 3),))
    (gradient,) = report.surfaces["gradients"].findings

    assert report.first is not None and report.first.surface == "backward"
    assert report.first.originates and gradient.torch.startswith("a.")
    assert not gradient.tested and not gradient.originates


def test_a_gradient_of_right_cotangents_originates():
    """If a port scales the gradient of a weight alone, the finding originates there."""
    module = Two()

    def apply(p: Any, x: Any) -> Any:
        weight = 2 * p["b.weight"] - lax.stop_gradient(p["b.weight"])
        return jnp.tanh(x @ p["a.weight"].T + p["a.bias"]) @ weight.T + p["b.bias"]

    report = prove(module, apply, arrays(module), (draw(4, 3),))

    assert report.first is not None
    assert (report.first.surface, report.first.torch) == ("gradients", "b.weight")
    assert report.first.originates
