"""Records of the operators in `jaxgrad/functional/indexing/slice_scatter.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats, shapes
from parity_tests.operators.indexing._shared import LINE, X


SIZE = "size equal to the slice"


@operator(
    "select_scatter",
    raises=[
        RaisesFor(call(X, LINE, 0, 1), RuntimeError, SIZE),
        RaisesFor(call(X, LINE[:3], 0, 2), IndexError, "out of range"),
    ],
)
def select_scatter(draw):
    x = draw(floats(draw(shapes(low=1))))
    dim = draw(dims(x.ndim))
    shape = np.delete(x.shape, dim)
    n = x.shape[dim]
    return call(x, draw(floats(tuple(shape))), dim, draw(st.integers(-n, n - 1)))


@operator(
    "slice_scatter",
    points=[call(LINE, [1.0], 0, -1, 9)],
    raises=[
        RaisesFor(call(LINE, LINE[:3], 0, 1, 3), RuntimeError, SIZE),
        RaisesFor(call(LINE, LINE, 0, 0, 3, 0), RuntimeError, "must be positive"),
    ],
)
def slice_scatter(draw):
    x = draw(floats(draw(shapes(low=1))))
    dim = draw(dims(x.ndim))
    ends = draw(st.integers(0, 2)), draw(st.sampled_from([None, 2, 3])), draw(st.integers(1, 3))
    places = [slice(None)] * x.ndim
    places[dim] = slice(*ends)
    return call(x, draw(floats(x[tuple(places)].shape)), dim, *ends)


@operator(
    "diagonal_scatter",
    raises=[
        RaisesFor(call(X, LINE), RuntimeError, SIZE),
        RaisesFor(call(LINE, LINE), IndexError, "out of range"),
    ],
)
def diagonal_scatter(draw):
    x = draw(floats(draw(shapes(low=2, least=2))))
    rows, columns = draw(st.permutations(range(x.ndim)))[:2]
    offset = draw(st.integers(-1, 1))
    shape = np.diagonal(x, offset, rows, columns).shape
    return call(x, draw(floats(shape)), offset, rows, columns)
