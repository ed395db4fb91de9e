"""Calls, arrays and strategies that several records of `reduction` share."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import REAL, call
from parity_tests.operators._harness.draw import dim_sets, dims, floats


inf, nan = np.inf, np.nan
COMPLEX = (*REAL, "complex128")
EMPTY = np.zeros((0, 2))
TIES = [[2.0, 1.0, 2.0, 1.0, 2.0], [0.0, -0.0, 0.0, -1.0, inf], [3.0, 3.0, 3.0, 3.0, 3.0]]
WITH_NAN = [[1.0, nan, 2.0, 3.0], [nan, inf, nan, -inf], [nan, nan, nan, nan]]
EVEN = [[4.0, 1.0, 3.0, 2.0], [1.0, 2.0, 2.0, 3.0]]


def repeated(draw):
    x = draw(floats())
    return call(np.asarray(np.round(x)), draw(dims(x.ndim)), draw(st.booleans()))


INTEGERS = np.arange(3)
EDGES = [[1.0, nan, 3.0, nan], [inf, 1.0, inf, -inf], [-inf, -inf, -inf, -inf]]


def over(draw, **options):
    x = draw(floats())
    return call(x, draw(dim_sets(x.ndim)), keepdim=draw(st.booleans()), **options)
