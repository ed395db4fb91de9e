"""Calls, arrays and strategies that several records of `indexing` share."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators._harness.draw import dims, floats, integers, shapes


X = np.arange(6.0).reshape(2, 3)
TWICE = np.array([1, 1, 3])
FOUR = np.zeros(4)
SRC = np.array([5.0, 6.0, 7.0])
LAST_ONLY = (
    "torch's forward mode keeps an index's last tangent, but its gradient reaches all of them"
)
BOUNDS = "out of bounds"


def with_indices(draw, *, distinct=False):
    """Draw an input, a dimension, and indices along it that fit in the other dimensions."""
    shape = draw(shapes(low=1))
    dim = draw(dims(len(shape)))
    size = [draw(st.integers(1, n)) for n in shape]
    if not distinct:
        size[dim] = draw(st.integers(1, 4))
        return draw(floats(shape)), dim, draw(integers(size, 0, shape[dim]))
    count, size[dim] = size[dim], shape[dim]
    order = np.argsort(draw(floats(size)), dim)
    return draw(floats(shape)), dim, np.take(order, np.arange(count), dim)


def set_at(x, _, i, y):
    return x.at[i].set(y)


LINE = np.array([1.0, 5.0, 7.0, 0.0])
SLOTS = np.array([1, 1, 2])
SINGLE = LINE[:3].astype("f4")
