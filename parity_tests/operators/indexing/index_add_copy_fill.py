"""Records of the operators in `jaxgrad/functional/indexing/index_add_copy_fill.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats, integers, shapes
from parity_tests.operators.indexing._shared import BOUNDS, FOUR, LAST_ONLY, SRC, TWICE, X, set_at


# One slice of a 0-d array.
SCALAR = call(np.array(1.5), 0, np.array(0), np.array(2.0))
VECTOR_IN_SCALAR = call(np.array(1.5), 0, np.array([0]), np.ones(1))


def _sliced(draw, *, distinct=False):
    x = draw(floats(draw(shapes(low=1))))
    dim = draw(dims(x.ndim))
    n = x.shape[dim]
    if distinct:
        index = np.argsort(draw(floats((n,))))[: draw(st.integers(1, n))]
    else:
        index = draw(integers((draw(st.integers(1, 4)),), 0, n))
    shape = list(x.shape)
    shape[dim] = index.size
    return x, dim, index, draw(floats(shape))


@operator(
    "index_add",
    points=[call(FOUR, 0, TWICE, SRC), SCALAR],
    raises=[
        RaisesFor(VECTOR_IN_SCALAR, RuntimeError, "source tensor shape must match"),
        RaisesFor(call(X, 1, np.array([3, 1, 1]), X), RuntimeError, BOUNDS),
        RaisesFor(call(X, 1, np.array([-1, 1, 1]), X), RuntimeError, BOUNDS),
        RaisesFor(
            call(FOUR, 0, np.array([0, 1, 4]), SRC), IndexError, torch="out of range", jax=BOUNDS
        ),
        RaisesFor(call(FOUR, 0, np.array([0, 1]), SRC), RuntimeError, "Number of indices"),
        RaisesFor(
            call(FOUR, 0, TWICE, SRC.astype("f4")),
            RuntimeError,
            torch="same scalar",
            jax="same dtype",
        ),
    ],
)
def index_add(draw):
    return call(*_sliced(draw), alpha=draw(st.sampled_from([1, 2.5])))


@operator(
    "index_copy",
    points=[call(FOUR, 0, TWICE, SRC), SCALAR, VECTOR_IN_SCALAR],
    raises=[
        RaisesFor(call(X, 0, np.array([0]), SRC), IndexError, "dimensionality must match"),
        RaisesFor(call(FOUR, 0, np.array([0, 1, 4]), SRC), IndexError, BOUNDS),
        RaisesFor(call(FOUR, 0, np.array([0, 1, -1]), SRC), IndexError, BOUNDS),
        RaisesFor(call(FOUR, 0, np.array([0]), SRC), IndexError, "Number of"),
        RaisesFor(call(FOUR, 0, TWICE, SRC.astype("f4")), RuntimeError, "same dtype"),
    ],
    jax_idioms={"x.at[i].set(y)": set_at},
    forward_mode=LAST_ONLY,
    source="P068",
)
def index_copy(draw):
    return call(*_sliced(draw, distinct=True))


@operator(
    "index_fill",
    points=[
        call(X, 1, np.array([0, 2, 0]), np.array(9.0)),
        call(np.array(1.5), 0, np.array([0]), 9.0),
        call(np.array(1.5), 0, np.zeros(0, int), 9.0),
    ],
    raises=[
        RaisesFor(call(X, 1, np.array([3]), 9.0), IndexError, BOUNDS),
        RaisesFor(call(X, 1, np.array([1]), np.ones(2)), RuntimeError, "0-dimensional"),
        RaisesFor(
            call(X, 1, np.array([1]), 1j),
            RuntimeError,
            torch="complex Scalar to non",
            jax="the input is float64",
        ),
    ],
)
def index_fill(draw):
    x, dim, index, _ = _sliced(draw)
    return call(x, dim, index, draw(st.one_of(st.floats(-1, 1), floats(()))))
