"""Weights that are trained or tied in only one framework are found."""

from typing import Any

import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Finding, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Pair(nn.Module):
    """Two linear layers, tied or not."""

    def __init__(self, tied: bool):
        super().__init__()
        self.one, self.two = (nn.Linear(3, 3, bias=False) for _ in range(2))
        if tied:
            self.two.weight = self.one.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.two(torch.tanh(self.one(x)))


def apply(params: Any, x: Any) -> Any:
    return lax.tanh(x @ params["one"].T) @ params["two"].T


def first(module: nn.Module, fn: Any = apply, **options: Any) -> Finding:
    """Prove a port that stores both layers' weights, and return the first finding."""
    state = arrays(module)
    params = {"one": state["one.weight"], "two": state["two.weight"]}
    report = prove(module, fn, params, (draw(4, 3),), **options)
    assert report.first is not None, report
    return report.first


@pytest.fixture
def module() -> Pair:
    torch.manual_seed(0)
    return Pair(tied=False)


def test_a_weight_tied_only_in_torch_is_found():
    """A weight that torch ties is found if the port stores it in two trained leaves."""
    finding = first(Pair(tied=True))

    assert (finding.surface, finding.torch) == ("structure", "one.weight")
    assert "torch has one parameter, but JAX has 2 leaves that are not tied" in finding.text


def test_a_frozen_parameter_that_jax_trains_is_found(module):
    """A parameter that is frozen in torch is found if JAX differentiates it."""
    module.two.requires_grad_(False)
    finding = first(module)

    assert (finding.torch, finding.jax) == ("two.weight", "two")
    assert "frozen in torch (requires_grad is False) but trained in JAX" in finding.text


def test_a_stopped_parameter_is_found(module):
    """A parameter behind a stop_gradient is found, and so is the stop_gradient's source line."""
    stopped = lambda p, x: apply(p | {"two": lax.stop_gradient(p["two"])}, x)  # noqa: E731
    finding = first(module, stopped)

    assert finding.torch == "two.weight"
    assert "no derivative path leads to the leaf in JAX" in finding.text
    assert "test_structure.py:" in finding.cause


def test_an_excluded_parameter_is_found(module):
    """A parameter that torch trains and `trainable=` excludes is found."""
    finding = first(module, trainable=["one"])

    assert finding.torch == "two.weight"
    assert "trained in torch, but trainable= excludes it in JAX" in finding.text
