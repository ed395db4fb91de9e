"""Gradients that agree in float64 may have large float32 errors, which a note reports."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.surfaces import single_precision
from tests.jaxgrad.parity.prove._helpers import arrays, proved


@pytest.mark.parametrize("fast", [True, False])
def test_a_formula_that_loses_digits_in_float32_gets_a_note(fast):
    """A variance as E[x^2] - E[x]^2 passes in float64 and gets a note about float32."""

    def norm(params, x):
        mean = jnp.mean(x, -1, keepdims=True)
        square = jnp.mean(x**2, -1, keepdims=True) - mean**2
        var = square if fast else jnp.var(x, -1, keepdims=True)
        return (x - mean) * lax.rsqrt(var + 1e-5) * params["weight"] + params["bias"]

    module = nn.LayerNorm(16)
    params = arrays(module)
    x = (5 + 0.1 * np.random.default_rng(0).standard_normal((4, 16))).astype(np.float32)
    report = prove(module, norm, params, (x,))
    assert report.verdict == "pass", report
    assert any("loses digits" in note for note in report.notes) == fast, report.notes
    assert "in float32, JAX's error is at most" in report.surfaces["gradients"].text


def test_outputs_and_gradients_have_a_statement(arguments: dict[str, Any]):
    """The forward and gradients surfaces state float32 errors; JAX's are not above torch's."""
    report = proved(arguments)
    for name in ("forward", "gradients"):
        assert "in float32, JAX's error is at most" in report.surfaces[name].text, name
    assert not any("float32" in note for note in report.notes)


def test_an_output_that_loses_digits_gets_a_note(arguments: dict[str, Any]):
    """An output that is computed by cancellation passes in float64 and gets a note."""

    def cancelling(p: Any, x: Any) -> Any:
        large = 2.0**12 + jnp.sum(x)
        return (arguments["fn"](p, x) + large) - large

    report = proved(arguments, fn=cancelling)
    assert report.verdict == "pass", report
    assert any(n.startswith("in float32, the output is off by") for n in report.notes), report.notes


def test_a_large_model_says_why_float32_is_not_compared(
    arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    """The statement is never missing in silence."""
    monkeypatch.setattr(single_precision, "_LARGEST", 10)
    optimizer = (lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1))
    report = proved(arguments, optimizer=optimizer)
    for name in ("forward", "gradients", "updates"):
        text = report.surfaces[name].text
        assert "float32 is not compared: the model has 0 million weights, more than 0" in text


def test_a_port_that_needs_float64_is_mentioned(arguments: dict[str, Any]):
    """A port that raises in float32 passes, and the report has its message."""

    def picky(p: Any, x: Any) -> Any:
        if x.dtype == np.float32:
            raise TypeError("I need float64")
        return arguments["fn"](p, x)

    report = proved(arguments, fn=picky)
    assert "float32 is not compared: the port" in report.surfaces["gradients"].text, report
    assert "I need float64" in report.surfaces["forward"].text


def test_nan_in_both_precisions_is_no_error():
    """NaN equals NaN, and where torch's own error is infinite there is nothing to compare."""
    nan = np.array([np.nan, 1.0])

    assert single_precision.relative_error(nan, nan) == 0
    assert single_precision.relative_error(np.ones(2), nan) == float("inf")
    assert single_precision.Float32Error("x", float("inf"), float("inf")).ratio == 1
