"""A few numbers that stand for an array whatever the order of its axes.

Two arrays that hold the same numbers in another order have the same fingerprint: a transposed, a
reshaped or a channels-last copy is recognised, and nothing large is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat


_SOFT = (1e-6, 1e-3, 1.0, 1e3)  # x/(c+|x|): small and large elements count alike, a mask's -1e9 too
_COUNTS = 4  # elements, NaN, +inf, -inf
SIZE = _COUNTS + 4 + 2 * len(_SOFT)


def fingerprint(x: Any) -> Any:
    """The numbers that stand for `x`, a float64 vector of length `SIZE`; traced if `x` is."""
    np_ = jnp if compat.is_traced(x) else np
    x = np_.asarray(x)
    if np_.iscomplexobj(x):
        x = np_.concatenate([np_.real(x).ravel(), np_.imag(x).ravel()])
    x = x.astype(np.float64).ravel()
    if x.size == 0:
        return np_.zeros(SIZE)
    counts = [x.size, np_.isnan(x).sum(), np_.isposinf(x).sum(), np_.isneginf(x).sum()]
    v = np_.where(np_.isfinite(x), x, 0.0)
    a = np_.abs(v)
    numbers = [v.max(), v.min(), a.mean(), v.mean()]
    for c in _SOFT:
        inverse = 1.0 / (c + a)
        numbers += [(a * inverse).mean(), (v * inverse).mean()]
    return np_.stack([np_.asarray(n, np.float64) for n in (*counts, *numbers)])


def apart(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """How far fingerprints are apart, relative; infinite where the counts differ.

    Args:
      left: One fingerprint, or several, (n, SIZE).
      right: The same.
    """
    counts = np.any(left[..., :_COUNTS] != right[..., :_COUNTS], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.abs(left - right) / np.maximum(_scales(left), _scales(right))
    worst = np.max(np.nan_to_num(share[..., _COUNTS:], nan=0.0), axis=-1, initial=0.0)
    return np.where(counts, np.inf, worst)


def magnitude(print_: np.ndarray) -> np.ndarray:
    """The largest finite magnitude of what a fingerprint stands for."""
    return np.max(np.abs(print_[..., _COUNTS : _COUNTS + 2]), axis=-1)


def is_constant(print_: np.ndarray) -> np.ndarray:
    """Whether every element is the same: it says nothing about where an array came from."""
    high, low = print_[..., _COUNTS], print_[..., _COUNTS + 1]
    return (high == low) | (print_[..., 0] <= 1)


def _scales(prints: np.ndarray) -> np.ndarray:
    scales = np.array(prints, np.float64)
    largest = magnitude(prints)[..., None]
    scales[..., _COUNTS : _COUNTS + 2] = largest
    for first in range(_COUNTS + 2, SIZE, 2):  # a mean against the mean of magnitudes
        scales[..., first + 1] = scales[..., first]
    return np.abs(scales)


def times(print_: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The fingerprints of an array that is repeated so often: only the counts are others."""
    found = np.broadcast_to(print_, (len(number), SIZE)).copy()
    found[:, :_COUNTS] *= number
    return found


def stack(prints: Sequence[Any]) -> np.ndarray:
    """Several fingerprints as one (n, SIZE) array."""
    return np.stack([np.asarray(p) for p in prints]) if len(prints) else np.zeros((0, SIZE))
