"""The gradient of a complex parameter is the conjugate of torch's, which every report says."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
import torch
from torch import nn

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X = draw(4, 3)
CONJUGATE = optax.stateless(lambda grads, _: jax.tree.map(jnp.conj, grads))


class Mixed(nn.Module):
    """A complex matrix beside a real scale."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.b = nn.Parameter(torch.randn(3, 3, dtype=torch.complex64))
        self.w = nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ((x * self.w).to(self.b.dtype) @ self.b).abs()


def port(p: Any, x: Any) -> Any:
    return jnp.abs((x * p["w"]).astype(p["b"].dtype) @ p["b"])


def proved(tx: Any = None, optimizer: Any = torch.optim.SGD) -> Report:
    pair = None if tx is None else (lambda params: optimizer(params, 0.1), tx)
    return prove(Mixed(), port, arrays(Mixed()), (X,), optimizer=pair, steps=2 if pair else 0)


def test_the_gradients_surface_says_that_they_are_conjugates():
    """The sentence names the complex parameters, and says what to pass to the optimizer."""
    text = proved().surfaces["gradients"].text
    assert (
        "complex parameters (b): JAX's gradient is the conjugate of torch's; pass "
        "jnp.conj(grads) to the optimizer" in text
    )


def test_a_report_without_complex_parameters_does_not_mention_them():
    """A real module has no such sentence."""
    module = nn.Linear(3, 2)
    report = prove(module, lambda p, x: x @ p["weight"].T + p["bias"], arrays(module), (X,))
    assert "complex" not in str(report)


def test_a_step_with_jaxs_own_gradient_fails():
    """optax ascends in the imaginary part; the cause is confirmed by a rerun that conjugates."""
    report = proved(optax.sgd(0.1))
    assert report.verdict == "fail" and report.first is not None
    assert (report.first.surface, report.first.torch, report.first.tested) == ("updates", "b", True)
    assert report.first.cause.startswith(
        "JAX's gradient of a complex parameter is the conjugate of torch's: pass jnp.conj(grads) "
        "to the optimizer, as optax.chain("
    )


def test_a_step_that_conjugates_the_gradients_passes():
    """Its error in float32 is measured in both parts of a complex number."""
    report = proved(optax.chain(CONJUGATE, optax.sgd(0.1)))
    assert report.verdict == "pass", report
    assert not any("float32" in note for note in report.notes)


@pytest.mark.slow
def test_torchs_moments_of_a_complex_number_are_two():
    """torch's Adam takes the real and the imaginary part apart, and optax's their magnitude."""
    for tx in (optax.adam(0.1), optax.chain(CONJUGATE, optax.adam(0.1))):
        report = proved(tx, torch.optim.Adam)
        assert report.first is not None
        assert "torch's optimizers treat a complex number as two real ones" in report.first.cause
    split = optax.contrib.split_real_and_imaginary(optax.adam(0.1))
    assert proved(optax.chain(CONJUGATE, split), torch.optim.Adam).verdict == "pass"
