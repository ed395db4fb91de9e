"""Pair the buffers that torch changes with the leaves of a port's new state.

Names decide only if they contain words. The state of an equinox module is a flat list, in which the
number of a leaf is not the number of a torch layer, so the values decide there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxgrad.parity.prove.weights.likeness import likeness, natural


Values = Mapping[str, Sequence[np.ndarray]]  # by name: the new value on each draw
_EQUAL = 1e-6  # relative to the largest element: values may be rounded to float32
_ALIKE, _GAP = 0.9, 0.1  # the least correlation of a pair, and how much less another one has


class Pairs(NamedTuple):
    """The paths of torch's buffers, and the possible paths where nothing decides."""

    paths: dict[str, str]
    ambiguous: dict[str, tuple[str, ...]]


def paired(torch: Values, jax: Values) -> Pairs:
    """Pair torch's buffers with leaves of the same size.

    Equal values decide first, then names with words, and then the correlation of the elements: a
    wrong momentum or a biased variance scales and shifts all channels alike.

    Args:
        torch: The new values of torch's buffers.
        jax: The new values of the leaves of the port's state.
    """
    pairs: dict[str, str] = {}
    for rule in (_equal, _named, _correlated):
        rest = {path: values for path, values in jax.items() if path not in pairs.values()}
        for name, path in rule({n: x for n, x in torch.items() if n not in pairs}, rest):
            if name not in pairs and path not in pairs.values():
                pairs[name] = path
    left = [path for path in jax if path not in pairs.values()]
    fits = {
        name: tuple(path for path in left if _may_be_one(values, jax[path]))
        for name, values in torch.items()
        if name not in pairs
    }
    for name, paths in fits.items():
        rivals = [other for other, others in fits.items() if set(paths) & set(others)]
        if len(paths) == len(rivals) == 1:
            pairs[name] = paths[0]
    ambiguous = {name: paths for name, paths in fits.items() if paths and name not in pairs}
    return Pairs(pairs, ambiguous)


Rule = Callable[[Values, Values], Iterator[tuple[str, str]]]


def _equal(torch: Values, jax: Values) -> Iterator[tuple[str, str]]:
    """Yield the pairs of equal values, those with the more similar names first."""

    def near(x: np.ndarray, y: np.ndarray) -> bool:
        a, b = _numbers(x), _numbers(y)
        off = np.max(np.abs(a - b), initial=0.0)
        return bool(off <= _EQUAL * np.max(np.abs(a), initial=0.0))

    equal = [
        (-likeness(name, path), natural(name), natural(path), name, path)
        for name, left in torch.items()
        for path, right in jax.items()
        if _may_be_one(left, right) and all(map(near, left, right))
    ]
    yield from ((name, path) for *_, name, path in sorted(equal))


def _named(torch: Values, jax: Values) -> Iterator[tuple[str, str]]:
    """Yield the pairs of similar names, for paths with words."""
    scored = [
        (-likeness(name, path), natural(name), natural(path), name, path)
        for name, left in torch.items()
        for path, right in jax.items()
        if re.search("[a-zA-Z]", path) and _may_be_one(left, right)
    ]
    yield from ((name, path) for *_, name, path in sorted(scored))


def _correlated(torch: Values, jax: Values) -> Iterator[tuple[str, str]]:
    """Yield the pairs whose elements vary alike, if those of no other pair do."""
    found = {
        (name, path): _correlation(left, right)
        for name, left in torch.items()
        for path, right in jax.items()
        if _may_be_one(left, right)
    }
    for (name, path), best in found.items():
        others = [x for key, x in found.items() if (key[0] == name) != (key[1] == path)]
        if best >= _ALIKE and best >= max(others, default=0.0) + _GAP:
            yield name, path


def _correlation(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> float:
    """Return the least correlation of two values on any draw, 0 for a constant."""
    found = []
    for x, y in zip(left, right, strict=True):
        a, b = (v - np.mean(v) for v in (_numbers(x), _numbers(y)))
        size = float(np.linalg.norm(a) * np.linalg.norm(b))
        found.append(float(a @ b) / size if size > 0 and np.isfinite(size) else 0.0)
    return min(found, default=0.0)


def _numbers(x: np.ndarray) -> np.ndarray:
    """Return the elements of an array as real numbers in one dimension."""
    flat: np.ndarray = np.ravel(x)
    parts = [np.real(flat), np.imag(flat)] if np.iscomplexobj(flat) else [flat]
    return np.concatenate(parts).astype(np.float64)


def _may_be_one(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> bool:
    """Return whether two values have the same size, and are both flags or both numbers.

    A port's state may hold flags of its own, such as the mode of an equinox dropout.
    """
    return all(
        np.size(x) == np.size(y) and (np.asarray(x).dtype == bool) == (np.asarray(y).dtype == bool)
        for x, y in zip(left, right, strict=True)
    )
