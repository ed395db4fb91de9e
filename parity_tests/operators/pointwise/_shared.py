"""Calls, arrays and strategies that several records of `pointwise` share."""

import numpy as np

from parity_tests.operators import REAL, call
from parity_tests.operators._harness.draw import broadcast, floats, pairs


inf, nan = np.inf, np.nan
NAN = call([nan])  # alone: at NaN, torch's value may depend on the element's position
SIDES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, inf, -inf, nan]
PAIRS = pairs(SIDES, SIDES)


def one(draw):
    return call(draw(floats()))


WIDE = ("float64", "float32")
ELEMENTARY_EDGES = [
    0.0,
    -0.0,
    inf,
    -inf,
    nan,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1e-8,
    -1e-8,
    1e155,
    -1e155,
    -37.0,
    100.0,
]
COMPLEX = (*REAL, "complex128")
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, inf, -inf, nan, 1e-300, 1e155]
ORIGIN = (PAIRS[0] == 0) & (PAIRS[1] == 0)


def two(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left)), draw(floats(right)))


def quotients(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left)), draw(floats(right, low=0.3, high=2)))


SPECIAL_EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 30.0, inf, -inf, 1e-8, 1e155]


ERF_EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-8, 3.0, -3.0, 30.0, -30.0, np.inf, -np.inf, np.nan]


def inside(draw):
    """Draw numbers inside the domain of `erfinv`."""
    return call(draw(floats(low=-0.9, high=0.9)))
