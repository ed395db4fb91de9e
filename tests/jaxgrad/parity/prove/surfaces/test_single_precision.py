"""Gradients that agree in float64 may have large float32 errors, which a note reports."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays


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
