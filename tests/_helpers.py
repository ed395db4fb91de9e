"""Helpers that several test files share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity.interop import to_numpy


T = TypeVar("T")

ALL = "TEST_ALL" in os.environ  # as `make test-all` sets it


def sampled(cases: Sequence[T], every: int, start: int = 0) -> Sequence[T]:
    """Return every `every`-th case from `start` on; with `make test-all`, all of them."""
    return cases if ALL else cases[start::every]


def same(expected: Any, actual: Any, ulp: float = 16, *, absolute: bool = False) -> None:
    """Compare two trees of arrays and None: their structure, dtypes, shapes and values.

    Values may differ by `ulp` units of their dtype's epsilon, relative to the expected value; with
    `absolute`, also relative to 1. NaN equals NaN.
    """
    left, right = to_numpy(expected), to_numpy(actual)
    assert jax.tree.structure(left) == jax.tree.structure(right), (left, right)
    leaves = [map(np.asarray, jax.tree.leaves(tree)) for tree in (left, right)]
    for a, b in zip(*leaves, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        eps = float(jnp.finfo(a.dtype).eps) if jnp.issubdtype(a.dtype, jnp.inexact) else 0.0
        wide = np.complex128 if np.iscomplexobj(a) else np.float64
        atol = ulp * eps if absolute else 0.0
        np.testing.assert_allclose(b.astype(wide), a.astype(wide), rtol=ulp * eps, atol=atol)


def close_or_none(actual: Any, expected: Any) -> None:
    """Compare a gradient of float64 with torch's: both are None, or they agree to 1e-12."""
    assert (actual is None) == (expected is None), f"jaxgrad {actual}, torch {expected}"
    if actual is not None:
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)
