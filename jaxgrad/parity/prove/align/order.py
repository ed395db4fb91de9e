"""Whether values with the same elements have them in the same order, up to the layout of axes.

A fingerprint does not see the order of elements, because a correct port may transpose, split or
merge axes. It may not shuffle them: all sines before all cosines are not an interleaved encoding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np


_MOST_AXES = 5  # whose transpositions are tried
_CLOSE = 1e-9  # relative to the largest element
_INDICATOR = 3  # different numbers, as in a mask or one-hot vectors


def same_layout(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether one array is the other with its axes transposed, split or merged, up to rounding.

    Two arrays with the same axes, in any order, must be equal after a transposition.

    Args:
        x: An array.
        y: An array with the same elements.
    """
    x, y = np.squeeze(x), np.squeeze(y)
    if x.size != y.size or max(x.ndim, y.ndim) > _MOST_AXES:
        return x.size == y.size
    if any(_equal(np.transpose(y, axes).ravel(), x.ravel()) for axes in _orders(y)):
        return True
    if sorted(x.shape) == sorted(y.shape):
        return False
    if any(_equal(np.transpose(x, axes).ravel(), y.ravel()) for axes in _orders(x)):
        return True
    for split in _split(y, x.shape):
        if any(_equal(np.transpose(split, axes).ravel(), x.ravel()) for axes in _orders(split)):
            return True
    return len(np.unique(x)) > _INDICATOR and _is_transposition(x.ravel(), y.ravel())


def reordering(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the indices with which the flat elements of each `x` give those of its `y`.

    Elements that are equal on one draw are told apart by the others. Axes of `ys` are transposed
    first, or merged and split, so that they have the shape of `xs`.

    Args:
        xs: A value on each draw.
        ys: A value with the same elements on each draw.

    Returns:
        The indices; None if there are none, or if the elements have the same order.
    """
    shape = xs[0].shape
    orders = _orders(ys[0]) if ys[0].ndim == len(shape) <= _MOST_AXES else ()
    axes = next((o for o in orders if tuple(ys[0].shape[k] for k in o) == shape), None)
    turned = [(y if axes is None else np.transpose(y, axes)).ravel() for y in ys]
    flat = [x.ravel() for x in xs]
    if any(x.size != y.size for x, y in zip(flat, turned, strict=True)):
        return None
    pairs = list(zip(flat, turned, strict=True))
    if all(_equal(x, y) for x, y in pairs):
        return None
    found = np.empty(flat[0].size, np.int64)
    found[_sorted(turned)] = _sorted(flat)
    square = (k for (a, b), k in _exchanges(shape) if shape[a] == shape[b] > 1)
    tried = itertools.chain(square, [found])  # elements may be equal on every draw
    return next((k for k in tried if all(_equal(x[k], y) for x, y in pairs)), None)


def _exchanges(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """Yield each pair of axes, and the flat indices that exchange them."""
    flat = np.arange(math.prod(shape)).reshape(shape)
    for pair in itertools.combinations(range(len(shape)), 2):
        yield pair, np.swapaxes(flat, *pair).ravel()


def exchanged_axes(indices: np.ndarray | None, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Return the two axes of an array of this shape that flat indices exchange, if they do."""
    if indices is None:
        return None
    return next((pair for pair, k in _exchanges(shape) if np.array_equal(k, indices)), None)


def _split(x: np.ndarray, sizes: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield an array with one axis split in two, of which one has one of these sizes."""
    for axis, n in enumerate(x.shape if x.ndim < _MOST_AXES else ()):
        for size in {*sizes, *(n // k for k in sizes if n % k == 0)} - {1, n}:
            if n % size == 0 and n not in sizes:
                yield x.reshape(*x.shape[:axis], size, n // size, *x.shape[axis + 1 :])


def _orders(x: np.ndarray) -> Iterator[tuple[int, ...]]:
    return itertools.permutations(range(x.ndim))


def _equal(x: np.ndarray, y: np.ndarray) -> bool:
    scale = float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))
    return bool(np.allclose(x, y, rtol=0, atol=_CLOSE * scale, equal_nan=True))


def _sorted(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the order in which the elements increase, on the first draw, then on the next."""
    keys = []
    for x in arrays:
        scale = float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x))) or 1.0
        keys.append(np.round(x.ravel() / scale, 9))
    return np.lexsort(keys[::-1])


def _is_transposition(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether splitting an array's axes and transposing them gives another one.

    Equal elements make this ambiguous; then it counts as one.
    """
    order = _sorted([x])
    if np.any(np.diff(x[order]) <= _CLOSE * float(np.max(np.abs(x), initial=0.0))):
        return True
    at = np.empty(x.size, np.int64)
    at[_sorted([y])] = order  # y[k] is x[at[k]]
    expected, size = at[:1], 1
    if at[0] != 0:
        return False
    while size < at.size:  # each axis continues with a constant stride
        stride, length = at[size], 2
        while (length + 1) * size <= at.size and at[length * size] == length * stride:
            length += 1
        while at.size % (size * length):
            length -= 1
        if length < 2:
            return False
        expected = (stride * np.arange(length)[:, None] + expected).ravel()
        size *= length
    return bool(np.array_equal(at, expected))
