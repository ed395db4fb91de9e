"""Weights that are trained or tied in only one framework are found."""

from typing import Any

import numpy as np
import optax
import pytest
import torch
from flax import linen, nnx
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


class Shifted(nn.Module):
    """A scale that torch trains, and a mean that is a buffer."""

    mean: Tensor

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0, 3.0, 5.0]))
        self.register_buffer("mean", torch.tensor([0.1, 0.2, 0.4]))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * (x - self.mean)


class LinenShifted(linen.Module):
    """The same, with the mean in one of two collections."""

    collection: str

    @linen.compact
    def __call__(self, x: Any) -> Any:
        scale = self.param("scale", linen.initializers.ones, (3,))
        if self.collection == "params":
            return scale * (x - self.param("mean", linen.initializers.ones, (3,)))
        return scale * (x - self.variable(self.collection, "mean", np.ones, 3).value)


class NnxShifted(nnx.Module):
    """The same, with the mean in one of two types of variables."""

    def __init__(self, collection: str):
        state = arrays(Shifted())
        self.scale = nnx.Param(state["scale"])
        self.mean = (nnx.Param if collection == "params" else nnx.BatchStat)(state["mean"])

    def __call__(self, x: Any) -> Any:
        return self.scale * (x - self.mean)


def shifted(kind: str) -> tuple[Any, Any]:
    """Return the port of one kind and its params, with the mean among the trained leaves or not."""
    state = arrays(Shifted())
    library, collection = kind.split()
    if library == "linen":
        scale, mean = {"scale": state["scale"]}, {"mean": state["mean"]}
        variables = {"params": scale, collection: mean}
        if collection == "params":
            variables = {"params": scale | mean}
        return LinenShifted(collection), variables
    return NnxShifted(collection), None


@pytest.mark.parametrize("kind", ["linen params", "linen stats", "nnx params", "nnx stats"])
def test_a_buffer_among_the_params_of_flax_is_found(kind):
    """A buffer that the port holds as a parameter is found, with both names; a variable passes."""
    fn, params = shifted(kind)
    report = prove(Shifted(), fn, params, (draw(4, 3),))

    if kind.endswith("stats"):
        assert report.verdict == "pass", report
    else:
        assert report.first is not None and report.first.surface == "structure"
        assert (report.first.torch, report.first.jax.rpartition("/")[2]) == ("mean", "mean")
        assert "torch has a buffer, but JAX trains the leaf" in report.first.text
        assert "trainable=" in report.first.cause
        assert prove(Shifted(), fn, params, (draw(4, 3),), trainable=["*scale"]).verdict == "pass"


def test_an_optimizer_that_trains_a_buffer_is_found():
    """A plain tree with a buffer in it passes, unless an optimizer moves all of its leaves."""
    fn = lambda p, x: p["scale"] * (x - p["mean"])  # noqa: E731
    options: Any = dict(optimizer=(lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1)))
    arguments = Shifted(), fn, arrays(Shifted()), (draw(4, 3),)
    report = prove(*arguments, **options)

    assert prove(*arguments).verdict == "pass"
    assert report.first is not None and (report.first.torch, report.first.jax) == ("mean", "mean")
    assert "a tree of its own" in report.first.cause
    assert prove(*arguments, **options, trainable="scale").verdict == "pass"
