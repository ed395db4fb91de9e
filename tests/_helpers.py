"""Helpers that several test files share."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity.interop import to_numpy
from parity_tests.runner.settings import ROOT


T = TypeVar("T")

ALL = "TEST_ALL" in os.environ  # as `make test-all` sets it


def sampled(cases: Sequence[T], every: int, start: int = 0) -> Sequence[T]:
    """Return every `every`-th case from `start` on; with `make test-all`, all of them."""
    return cases if ALL else cases[start::every]


def page_release() -> str:
    """Return the release of JAX, such as "0.10", with which the committed pages are made.

    It is the pin of Python 3.11. Other releases trace other programs, and so draw other pictures.
    """
    pins = (ROOT / "constraints.txt").read_text()
    (pin,) = re.findall(r"^jax==(\d+\.\d+)\S*; python_version < '3.12'", pins, re.MULTILINE)
    return pin


def has_page_release() -> bool:
    """Whether the installed JAX is of the release with which the committed pages are made."""
    return jax.__version__.startswith(f"{page_release()}.")


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
