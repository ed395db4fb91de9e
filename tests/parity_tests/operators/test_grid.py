"""The comparison of an operator with torch fails when the two differ."""

import dataclasses
import unittest

import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.operators import call, load
from parity_tests.operators._harness import grid


OPERATORS = load()


def test_a_record_can_fail(monkeypatch):
    """A function whose convention differs from torch's fails at its kink and nowhere else."""
    monkeypatch.setattr(grid, "jax_side", lambda _: jnp.abs)

    problems = grid.check(OPERATORS["abs"]).problems

    assert any("point" in text and "gradient/0" in text for text in problems)
    assert not any("drawn" in text for text in problems)


def test_a_call_that_torch_rejects_in_another_dtype(monkeypatch):
    """If torch rejects a call in another dtype and JAX does not, a problem is reported."""
    record = dataclasses.replace(
        OPERATORS["cov"],
        strategy=lambda _: call(np.eye(2), aweights=np.ones(2)),
        dtypes=("float64", "complex128"),
        jit=False,
    )
    assert not grid.check(record).problems

    monkeypatch.setattr(grid, "jax_side", lambda _: lambda x, **_: jnp.cov(x, ddof=0))
    problems = grid.check(dataclasses.replace(record, points=(), raises=())).problems

    assert any("JAX should raise" in text for text in problems)


def test_an_operator_that_is_newer_than_torch_is_skipped_with_the_reason():
    """A record that names a later version of torch skips its test, and any other record runs."""
    record = dataclasses.replace(OPERATORS["linear_cross_entropy"], since="99.0")

    with pytest.raises(unittest.SkipTest, match="which torch 99.0 introduced"):
        grid.check(record)
    assert not OPERATORS["relu"].too_new
