"""Weights and runs that are computed when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar, overload

import numpy as np


T = TypeVar("T")


class Lazy(Mapping[str, np.ndarray]):
    """Arrays by name, each of which a function computes when it is read.

    It is computed each time, because a copy of all weights is as large as the model.
    """

    def __init__(
        self,
        names: Iterable[str],
        read: Callable[[str], np.ndarray],
        stored: Callable[[str], np.ndarray] | None = None,
    ):
        self._names = dict.fromkeys(names)
        self._read = read
        self._stored = stored or read

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def stored(self, name: str) -> np.ndarray:
        """Return the same numbers in the dtype in which they are stored, perhaps float32."""
        return self._stored(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without computing an array


def stored(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return an array that is only read once in the dtype in which it is stored."""
    return arrays.stored(name) if isinstance(arrays, Lazy) else np.asarray(arrays[name])


class LazyList(Sequence[T], Generic[T]):
    """A list of which a function computes each item when it is first read."""

    def __init__(self, count: int, make: Callable[[int], T]):
        self._count = count
        self._make = make
        self._items: dict[int, T] = {}

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        numbers = range(self._count)[index]
        if isinstance(numbers, range):
            return [self[i] for i in numbers]
        if numbers not in self._items:
            self._items[numbers] = self._make(numbers)
        return self._items[numbers]

    def __len__(self) -> int:
        return self._count


def replaced(state: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> Lazy:
    """Return the arrays with new ones in place of some; new float32 numbers become float64."""

    def read(name: str) -> np.ndarray:
        if name not in new:
            return state[name]
        x = np.asarray(new[name])
        return x.astype(np.result_type(x, np.float64), copy=False) if x.dtype.kind in "fc" else x

    return Lazy(
        state, read, lambda name: np.asarray(new[name]) if name in new else stored(state, name)
    )
