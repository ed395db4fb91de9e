"""Records of the operators in `jaxgrad/functional/indexing/diagonal_trace.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import COMPLEX, REAL, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes
from parity_tests.operators.indexing._shared import X


SAME = RaisesFor(call(X, 0, 1, 1), RuntimeError, "cannot be identical")


@operator(
    "diagonal",
    raises=[SAME, RaisesFor(call(X[0]), IndexError, "out of range")],
    dtypes=(*REAL, *COMPLEX),
)
def diagonal(draw):
    x = draw(floats(draw(shapes(low=2))))
    return call(x, draw(st.integers(-1, 1)), *draw(st.permutations(range(x.ndim)))[:2])


@operator(
    "diag_embed",
    points=[call(np.zeros((2, 0)))],
    raises=[SAME, RaisesFor(call(X, 0, 7, 1), IndexError, "out of range")],
)
def diag_embed(draw):
    x = draw(floats(draw(shapes(low=1, high=2))))
    return call(x, draw(st.integers(-2, 2)), *draw(st.permutations(range(x.ndim + 1)))[:2])


@operator("diagflat", points=[call(np.array(2.0), 1)])
def diagflat(draw):
    return call(draw(floats()), draw(st.integers(-2, 2)))


@operator(
    "trace",
    points=[call(np.zeros((0, 2))), call(np.arange(4).reshape(2, 2))],
    raises=[RaisesFor(call(X[0]), RuntimeError, "expected a matrix")],
)
def trace(draw):
    return call(draw(floats(draw(shapes(2, 2)))))


@operator(
    "diag",
    raises=[RaisesFor(call(np.ones((2, 2, 2))), RuntimeError, "Got 3D")],
)
def diag(draw):
    shape = draw(shapes(low=1, high=2))
    bound = min(shape) - 1 if len(shape) == 2 else 2
    return call(draw(floats(shape)), draw(st.integers(-bound, bound)))
