"""Calls, arrays and strategies that several records of `linalg` share."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import REAL, PinnedDifference, RaisesFor, Sample, call
from parity_tests.operators._harness.draw import floats


inf, nan = np.inf, np.nan
WIDE = ("float64", "float32")
COMPLEX = (*WIDE, "complex128")
BATCHES = st.sampled_from([(), (), (2,), (1, 2)])
WIDE_MATRIX = np.ones((2, 3))
VECTOR = np.ones(3)
UNSYMMETRIC = (
    "torch's forward mode does not symmetrize the tangent, but its gradient is symmetrized"
)


def symmetric(draw):
    n = draw(st.integers(1, 3))
    x = draw(floats((*draw(BATCHES), n, n), -1, 1))
    return x + x.swapaxes(-1, -2) + np.diag(4.0 + 2 * np.arange(n))


# Factoring this needs no rounding, so every LAPACK gives the same result.
DEPENDENT = [[1.0, 1.0, 2.0], [0.0, 0.0, 3.0]]
DEPENDENT_COLUMNS = (
    "for linearly dependent columns torch's forward mode is finite, but its gradient is NaN"
)
ZERO_SINGULAR_VALUES = PinnedDifference(
    call([[0.0, 0.0]]),
    {"tangent/2": ([[nan, nan]], [[nan, inf]])},
    "for singular values 0 torch's forward mode is NaN; JAX has the inf of torch's gradient",
)


def distinct_singular_values(draw):
    """Draw a matrix whose singular values are well separated."""
    x = wide_or_tall(draw)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * (s + 2 * np.arange(s.size)[::-1])) @ vh


EYE = np.eye(2)
# Its factors and those of its transpose are exact with every LAPACK.
SINGULAR = np.array([[1.0, 2.0, 4.0], [2.0, 4.0, 8.0], [1.0, 0.0, 2.0]])
INFINITE = [[inf, 1.0], [inf, 2.0]]
LAPACKS = (
    "below an infinite pivot JAX's LAPACK (OpenBLAS) has 0, but torch's (MKL) has inf / inf, NaN"
)
SOLVED_BY_INFINITE = PinnedDifference(
    call(INFINITE, [[1.0], [2.0]]),
    {
        "forward/0": (nan, [[0.0], [1.0]]),
        "gradient/0": (nan, [[0.0, 0.0], [0.0, -1.0]]),
        "gradient/1": (nan, [[0.0], [1.0]]),
    },
    LAPACKS,
)
LU_OF_INFINITE = PinnedDifference(
    call(INFINITE),
    {
        "forward/0": ([[inf, 1.0], [nan, nan]], [[inf, 1.0], [0.0, 2.0]]),
        "gradient/0": (nan, [[nan, 2.0], [nan, 4.0]]),
    },
    LAPACKS,
)
NOT_SQUARE = RaisesFor(call(WIDE_MATRIX), RuntimeError, "batches of square matrices")
NOT_MATRIX = RaisesFor(call(VECTOR), RuntimeError, "at least 2 dim")


def regular(draw: Any, n: int, batch: tuple[int, ...] = ()) -> np.ndarray:
    """Draw square matrices that are far from singular."""
    return draw(floats((*batch, n, n), -1, 1)) + 2.5 * np.eye(n)


def square_matrix(*options: Any) -> Callable[..., Sample]:
    def strategy(draw):
        batch = draw(st.sampled_from([(), (), (2,)]))
        x = regular(draw, draw(st.integers(1, 3)), batch)
        return call(x, *([draw(st.sampled_from(options))] if options else []))

    return strategy


def wide_or_tall(draw):
    m, n = draw(st.permutations([1, 2, 3]))[:2]
    return draw(floats((m, n), -1, 1)) + 2 * np.eye(m, n)


def diagonally_dominant(draw, n=None):
    n = draw(st.integers(1, 3)) if n is None else n
    batch = draw(st.sampled_from([(), (2,)]))
    return draw(floats((*batch, n, n), -1, 1)) + 3 * np.eye(n)


ALL_DTYPES = (*REAL, "complex128")
BATCH = np.ones((1, 2, 3))
SMALL = st.integers(1, 3)


def shaped(*letters: str) -> Callable[..., Sample]:
    """Return a strategy that draws one array per word; each letter names a dimension's size."""

    def strategy(draw):
        sizes = {c: draw(SMALL) for c in "bijk"}
        return call(*(draw(floats(tuple(sizes[c] for c in word))) for word in letters))

    return strategy
