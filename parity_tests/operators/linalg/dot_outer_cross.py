"""Records of the operators in `jaxgrad/functional/linalg/dot_outer_cross.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes
from parity_tests.operators.linalg._shared import (
    ALL_DTYPES,
    COMPLEX,
    EYE,
    SMALL,
    VECTOR,
    WIDE_MATRIX,
    shaped,
)


@operator(
    "linalg.cross",
    raises=[
        RaisesFor(call(EYE, EYE), RuntimeError, "must have length 3"),
        RaisesFor(call(VECTOR, np.ones((2, 3))), RuntimeError, "same number of dimensions"),
    ],
    dtypes=COMPLEX,
)
def cross(draw):
    shape = list(draw(shapes(low=1, high=2)))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    shape[dim] = 3
    other = [n if n == 3 else draw(st.sampled_from([n, 1])) for n in shape]
    return call(draw(floats(shape)), draw(floats(other)), dim=dim)


@operator("linalg.vecdot", dtypes=COMPLEX)
def vecdot(draw):
    x = draw(floats(dims=1))
    y = draw(floats(x.shape[1:] if x.ndim > 1 and draw(st.booleans()) else x.shape))
    return call(x, y, dim=draw(st.integers(-y.ndim, -1)))


operator(
    "dot",
    points=[call(np.zeros(0), np.zeros(0))],
    raises=[
        RaisesFor(call(VECTOR, WIDE_MATRIX), RuntimeError, "1D tensors expected"),
        RaisesFor(call(VECTOR, VECTOR.astype("f4")), RuntimeError, "same dtype"),
        RaisesFor(call(VECTOR, VECTOR[:2]), RuntimeError, "inconsistent tensor size"),
    ],
    dtypes=ALL_DTYPES,
)(shaped("i", "i"))


operator(
    "vdot",
    raises=[RaisesFor(call(VECTOR, VECTOR[:2]), RuntimeError, "inconsistent tensor size")],
    dtypes=ALL_DTYPES,
)(shaped("i", "i"))


operator(
    "outer",
    raises=[RaisesFor(call(WIDE_MATRIX, VECTOR), RuntimeError, "Expected 1-D argument self")],
    points=[call(VECTOR, np.arange(2))],
)(shaped("i", "j"))


@operator(
    "inner",
    points=[call(np.array(2), VECTOR), call(np.array(True), np.arange(4).reshape(2, 2))],
    raises=[RaisesFor(call(WIDE_MATRIX, VECTOR[:2]), RuntimeError, "last dimension must match")],
)
def inner(draw):
    if draw(st.booleans()):
        return call(draw(floats()), draw(floats(())))
    n = draw(SMALL)
    shape = st.tuples(SMALL, st.just(n))
    return call(draw(floats(draw(shape))), draw(floats(draw(shape)[draw(st.integers(0, 1)) :])))
