"""The float32 error of an optimizer is compared, given the same gradients."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
import torch

import jaxgrad
from tests.jaxgrad.parity.prove._helpers import proved


def adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, 1e-3, betas=(0.9, 0.99999))


TRANSFORMATIONS = {
    "optax": (optax.adam(1e-3, b2=0.99999), True),  # 1 - b2 has few digits in float32
    "jaxgrad": (jaxgrad.optim.adam(1e-3, betas=(0.9, 0.99999)), False),
}


@pytest.mark.parametrize(("tx", "noted"), TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
def test_an_optimizer_that_loses_digits_gets_a_note(arguments: Any, tx: Any, noted: bool):
    """optax's Adam corrects its bias in float32, which loses digits; ours does as torch does."""
    report = proved(arguments, optimizer=(adam, tx), steps=2)
    assert report.verdict == "pass", report
    assert "in float32, JAX's error is at most" in report.surfaces["updates"].text
    assert any("float32, the update of" in note for note in report.notes) == noted, report.notes


def test_an_optimizer_that_rejects_float32_is_mentioned(arguments: dict[str, Any]):
    """A transformation that raises in float32 passes, and the report has its message."""

    def scale(updates: Any, _: Any) -> Any:
        if jax.tree.leaves(updates)[0].dtype == jnp.float32:
            raise TypeError("I need float64")
        return jax.tree.map(lambda x: -0.1 * x, updates)

    pair = (lambda p: torch.optim.SGD(p, 0.1), optax.stateless(scale))
    report = proved(arguments, optimizer=pair)
    assert report.verdict == "pass", report
    text = report.surfaces["updates"].text
    assert "float32 is not compared: the optax transformation rejects it: I need" in text
