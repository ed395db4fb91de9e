"""A note says that torch computes something else in float32 than in float64."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Branching(nn.Module):
    """A layer whose activation is chosen by a function."""

    def __init__(self, activation: Callable[[Tensor], Tensor]):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.inner(x))


def by_dtype(x: Tensor) -> Tensor:
    return torch.tanh(x) if x.dtype == torch.float32 else torch.sigmoid(x)


def by_size(x: Tensor) -> Tensor:
    return torch.tanh(x) if x.element_size() == 4 else torch.sigmoid(x)


def in_own_dtype(x: Tensor) -> Tensor:
    return torch.sigmoid(x).to(x.dtype) * torch.ones(3, dtype=x.dtype)


def at_least_eps(x: Tensor) -> Tensor:
    return torch.log(x.abs().clamp(min=10 * torch.finfo(x.dtype).eps ** 0.125))


def proved(activation: Any, jax_activation: Any, dtype: torch.dtype = torch.float32) -> Report:
    module = Branching(activation).to(dtype)

    def port(p: Any, x: Any) -> Any:
        return jax_activation(x @ p["inner.weight"].T + p["inner.bias"])

    return prove(module, port, arrays(module), (X.astype(str(dtype).removeprefix("torch.")),))


def branches(report: Report) -> list[str]:
    return [note for note in report.notes if "in float32 than in float64" in note]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + jnp.exp(-x))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("activation", [by_dtype, by_size])
@pytest.mark.parametrize(("port", "verdict"), [(sigmoid, "pass"), (jnp.tanh, "fail")])
def test_a_branch_on_the_dtype_is_noted_with_both_calls(activation, port, verdict):
    """The port of either branch gets the note, and only the port of the float64 branch passes."""
    report = proved(activation, port)
    assert report.verdict == verdict, report
    (note,) = branches(report)
    assert "tanh in (root) at test_dtype_branches.py:" in note
    assert "sigmoid in (root) at test_dtype_branches.py:" in note
    assert note.index("tanh") < note.index("sigmoid")


def test_a_module_that_only_casts_to_a_dtype_gets_no_note():
    """Reading a dtype is not a branch."""
    assert not branches(proved(in_own_dtype, sigmoid))
    assert not branches(proved(in_own_dtype, jnp.tanh))


def test_a_module_in_float64_gets_no_note():
    """The user runs the same branch as the proof."""
    report = proved(by_dtype, sigmoid, torch.float64)
    assert report.verdict == "pass", report
    assert not branches(report)


def test_a_number_of_the_dtype_is_noted_where_the_port_has_that_of_float32():
    """A port that takes the number from the dtype passes without a note."""

    def written(x: Any) -> Any:
        return jnp.log(jnp.maximum(jnp.abs(x), 10 * 1.1920929e-07**0.125))

    def taken(x: Any) -> Any:
        return jnp.log(jnp.maximum(jnp.abs(x), 10 * float(jnp.finfo(x.dtype).eps) ** 0.125))

    report = proved(at_least_eps, written)
    assert report.verdict == "fail", report
    (note,) = branches(report)
    assert "uses a different number" in note
    assert "1.36" in note
    assert "0.11" in note
    report = proved(at_least_eps, taken)
    assert report.verdict == "pass", report
    assert not branches(report)


def test_the_largest_number_of_a_dtype_is_no_reason_to_fail():
    """A failed proof has no note on a bound that no element reaches, as torch's Categorical has."""

    def bounded(x: Tensor) -> Tensor:
        return x.clamp(min=torch.finfo(x.dtype).min) * 2

    report = proved(bounded, lambda x: x * 3)
    assert report.verdict == "fail", report
    assert not branches(report)


def test_a_module_that_rejects_float32_gets_no_note():
    """A module with a float64 constant raises in float32."""

    def mixed(x: Tensor) -> Tensor:
        assert x.dtype == torch.float64
        return torch.sigmoid(x)

    report = proved(mixed, sigmoid)
    assert not branches(report)
