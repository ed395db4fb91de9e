"""Find the permutation, split, merge or flip of axes that turns one array into another."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Sequence

import numpy as np


def layout(tensor: np.ndarray, leaf: np.ndarray, rtol: float = 0.0) -> np.ndarray | None:
    """Return each `leaf` element's index in the flattened `tensor`, or None if no layout fits."""
    if tensor.size != leaf.size:
        return None
    numbers = _numbers(tensor.size)
    for shape in _shapes(tensor, leaf):
        view, positions = tensor.reshape(shape), numbers.reshape(shape)
        for order in itertools.permutations(range(len(shape))):
            if (
                _squeezed(view.transpose(order).shape) != _squeezed(leaf.shape)
                and len(shape) != tensor.ndim
            ):
                continue
            for flips in _flips(order, shape, leaf):
                arranged = np.flip(view.transpose(order), flips).reshape(leaf.shape)
                if _same(arranged, leaf, rtol):
                    return np.flip(positions.transpose(order), flips).reshape(leaf.shape)
    return None


_shared: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()


def _numbers(size: int) -> np.ndarray:
    """Return 0, 1, ..., size - 1, one array for all tensors of a size, as it may be as large."""
    numbers = _shared.get(size)
    if numbers is None:
        numbers = np.arange(size, dtype=np.int32 if size < 2**31 else np.int64)
        numbers.setflags(write=False)
        _shared[size] = numbers
    return numbers


def _shapes(tensor: np.ndarray, leaf: np.ndarray) -> Iterator[tuple[int, ...]]:
    """Yield the tensor's shape, then shapes with an axis split as in the leaf (attention heads)."""
    yield tensor.shape
    for axis, size in enumerate(tensor.shape):
        for length in {n for n in leaf.shape if 1 < n < size and size % n == 0}:
            for pair in {(length, size // length), (size // length, length)}:
                shape = (*tensor.shape[:axis], *pair, *tensor.shape[axis + 1 :])
                if len(shape) <= 6:
                    yield shape


def _flips(
    order: Sequence[int], shape: Sequence[int], leaf: np.ndarray
) -> Iterator[tuple[int, ...]]:
    """Yield the axes to flip: first none; then, for kernels, the spatial axes."""
    yield ()
    spatial = tuple(i for i, axis in enumerate(order) if axis >= 2)
    if spatial and len(shape) == leaf.ndim and len(shape) in (3, 4, 5):
        yield spatial


def _same(a: np.ndarray, b: np.ndarray, rtol: float) -> bool:
    if a.size > 4096:  # compare a few elements first: it is much faster
        sample = np.linspace(0, a.size - 1, 64, dtype=np.int64)
        if not _close(
            a.ravel()[sample] if a.flags.c_contiguous else a.flat[sample], b.flat[sample], rtol
        ):
            return False
    return _close(a, b, rtol)


def _close(a: np.ndarray, b: np.ndarray, rtol: float) -> bool:
    return np.allclose(a, b, rtol=rtol, atol=rtol) if rtol else np.array_equal(a, b)


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)
