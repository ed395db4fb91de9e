"""Weights that are computed each time they are read, because a copy is as large as the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np


class Lazy(Mapping[str, np.ndarray]):
    """Arrays by name, each of which a function computes when it is read."""

    def __init__(self, names: Iterable[str], read: Callable[[str], np.ndarray]):
        self._names = dict.fromkeys(names)
        self._read = read

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without computing an array


def replaced(state: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> Lazy:
    """Return the arrays with new ones in place of some; new float32 numbers become float64."""

    def read(name: str) -> np.ndarray:
        if name not in new:
            return state[name]
        x = np.asarray(new[name])
        return x.astype(np.result_type(x, np.float64), copy=False) if x.dtype.kind in "fc" else x

    return Lazy(state, read)
