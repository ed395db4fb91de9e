"""Fingerprints: a few numbers that identify an array up to the order of its elements.

Transposed, reshaped and channels-last copies of an array have the same fingerprint, and comparing
fingerprints avoids keeping large arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat


_SOFT = (1e-6, 1e-3, 1.0, 1e3)  # c in x/(c+|x|), which bounds the weight of huge elements
_COUNTS = 4  # counts: elements, NaN, +inf, -inf
# A chunk fits into the processor's cache. OpenBLAS splits a dot product of 10,000 or more elements
# between threads, and on a busy machine these threads wait for each other.
_CHUNK = 2**13  # elements
EXTREMES = slice(_COUNTS, _COUNTS + 2)  # the positions of the largest and the smallest element
MEAN = _COUNTS + 2  # the position of the mean magnitude
SIZE = _COUNTS + 4 + 2 * len(_SOFT)


def fingerprint(x: Any) -> Any:
    """Return the fingerprint of `x`, a float64 vector of length `SIZE`, traced if `x` is traced."""
    np_ = jnp if compat.is_traced(x) else np
    x = np_.asarray(x)
    if np_.iscomplexobj(x):
        x = np_.concatenate([np_.real(x).ravel(), np_.imag(x).ravel()])
    if x.size == 0:
        return np_.zeros(SIZE)
    if np_ is jnp:
        return _means(_totals(x.astype(np.float64).ravel(), jnp), jnp)
    # A transposed array is read as it is stored.
    flat = x.ravel(order="K")
    starts = range(0, flat.size, _CHUNK)
    totals = [_chunk(flat[k : k + _CHUNK].astype(np.float64, copy=False)) for k in starts]
    return _means(totals[0] if len(totals) == 1 else _combined(np.stack(totals)), np)


def _chunk(x: np.ndarray) -> np.ndarray:
    """Return the totals of a vector; a finite one takes half the time."""
    high, low = x.max(), x.min()
    if not (np.isfinite(high) and np.isfinite(low)):
        return _totals(x, np)
    a = np.abs(x)
    numbers = [x.size, 0.0, 0.0, 0.0, high, low, a.sum(), x.sum()]
    inverse = np.empty_like(a)
    for c in _SOFT:
        np.divide(1.0, np.add(a, c, out=inverse), out=inverse)
        numbers += [a @ inverse, x @ inverse]
    return np.array(numbers)


def _totals(x: Any, np_: Any) -> Any:
    """Return the counts, the extremes and the sums that make up a fingerprint."""
    counts = [x.size, np_.isnan(x).sum(), np_.isposinf(x).sum(), np_.isneginf(x).sum()]
    v = np_.where(np_.isfinite(x), x, 0.0)
    a = np_.abs(v)
    numbers = [v.max(), v.min(), a.sum(), v.sum()]
    for c in _SOFT:
        inverse = 1.0 / (c + a)
        numbers += [(a * inverse).sum(), (v * inverse).sum()]
    return np_.stack([np_.asarray(n, np.float64) for n in (*counts, *numbers)])


def _combined(totals: np.ndarray) -> np.ndarray:
    """Return the totals of an array, given those of its chunks."""
    combined = totals.sum(0)
    combined[_COUNTS] = totals[:, _COUNTS].max()
    combined[_COUNTS + 1] = totals[:, _COUNTS + 1].min()
    return combined


def _means(totals: Any, np_: Any) -> Any:
    """Divide the sums by the number of elements."""
    first = _COUNTS + 2
    return np_.concatenate([totals[:first], totals[first:] / totals[0]])


def print_distance(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the relative distance of fingerprints, which is infinite where the counts differ.

    Args:
        left: One fingerprint, or several of shape (n, SIZE).
        right: Fingerprints that broadcast against `left`.
    """
    counts = np.any(left[..., :_COUNTS] != right[..., :_COUNTS], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.abs(left - right) / np.maximum(_scales(left), _scales(right))
    worst = np.max(np.nan_to_num(share[..., _COUNTS:], nan=0.0), axis=-1, initial=0.0)
    return np.where(counts, np.inf, worst)


def negated(print_: np.ndarray) -> np.ndarray:
    """Return the fingerprint of the array with the opposite sign."""
    other = np.array(print_)
    other[_COUNTS], other[_COUNTS + 1] = -print_[_COUNTS + 1], -print_[_COUNTS]
    other[2], other[3] = print_[3], print_[2]
    other[_COUNTS + 3 :: 2] *= -1  # the sums of magnitudes stay
    return other


def magnitude(print_: np.ndarray) -> np.ndarray:
    """Return the largest finite magnitude in the array that a fingerprint describes."""
    return np.max(np.abs(print_[..., _COUNTS : _COUNTS + 2]), axis=-1)


def is_constant(print_: np.ndarray) -> np.ndarray:
    """Whether all elements are equal, so that the values do not identify the array."""
    high, low = print_[..., _COUNTS], print_[..., _COUNTS + 1]
    return (high == low) | (print_[..., 0] <= 1)


def is_mask(print_: np.ndarray) -> bool:
    """Whether all elements are 0 or one other number, as those of a mask or of spikes.

    The fingerprint then tells only how many are 0, which may be equal by chance.

    >>> is_mask(fingerprint(np.array([0.0, 2.0, 2.0])))
    True
    >>> is_mask(fingerprint(np.array([0.0, 2.0, 1.0])))
    False
    """
    size = float(magnitude(print_))
    soft = print_[_COUNTS + 4 :: 2]
    expected = print_[MEAN] / (np.array(_SOFT) + size)
    other = print_[_COUNTS] == 0 or print_[_COUNTS + 1] == 0
    return bool(other and size and np.allclose(soft, expected, rtol=1e-9, atol=0.0))


def _scales(prints: np.ndarray) -> np.ndarray:
    scales = np.array(prints, np.float64)
    largest = magnitude(prints)[..., None]
    scales[..., _COUNTS : _COUNTS + 2] = largest
    for first in range(_COUNTS + 2, SIZE, 2):  # compare a mean with the mean of magnitudes
        scales[..., first + 1] = scales[..., first]
    return np.abs(scales)


def repeated(print_: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the fingerprints of an array repeated `times` times: only the counts change."""
    prints = np.broadcast_to(print_, (len(times), SIZE)).copy()
    prints[:, :_COUNTS] *= times
    return prints


def stack(prints: Sequence[Any]) -> np.ndarray:
    """Stack fingerprints into one array of shape (n, SIZE)."""
    return np.stack([np.asarray(p) for p in prints]) if len(prints) else np.zeros((0, SIZE))
