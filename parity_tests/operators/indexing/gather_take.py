"""Records of the operators in `jaxgrad/functional/indexing/gather_take.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats, integers, shapes
from parity_tests.operators.indexing._shared import BOUNDS, X, with_indices


@operator(
    "gather",
    points=[
        call(np.array(2.0), 0, np.array([0, 0])),
        call(X, 1, np.zeros((2, 0), int)),
        call(X, 1, np.zeros((0, 2, 3), int)),
    ],
    raises=[
        RaisesFor(call(X, 1, np.array([[3]])), RuntimeError, BOUNDS),
        RaisesFor(call(X, 1, np.array([[-1]])), RuntimeError, BOUNDS),
        RaisesFor(call(X, 1, np.array([0])), RuntimeError, "same number"),
        RaisesFor(call(X, 1, np.zeros((3, 1), int)), RuntimeError, "no larger than"),
        RaisesFor(call(X, 1, [[0.0]]), RuntimeError, "int32/int64"),
        RaisesFor(call(X, 2, np.array([[0]])), IndexError, "out of range"),
    ],
    jax_idioms={
        "jnp.take_along_axis(x, i, dim)": lambda x, d, i: jnp.take_along_axis(
            x.reshape(i.shape if not x.ndim else x.shape)[:1] if not x.ndim else x, i, d
        )
    },
    source="P071",
)
def gather(draw):
    return call(*with_indices(draw))


@operator(
    "take",
    points=[call(X, np.array([-1, 5, 5]))],
    raises=[RaisesFor(call(X, np.array([6])), IndexError, "out of range")],
    source="P071",
)
def take(draw):
    x = draw(floats(draw(shapes(low=1))))
    return call(x, draw(integers(draw(shapes()), -x.size, x.size)))


@operator(
    "take_along_dim",
    points=[call(X, np.array([[-1]]), 1), call(X, np.array([5, 0]))],
    raises=[RaisesFor(call(X, np.array([0]), 1), RuntimeError, "same number")],
)
def take_along_dim(draw):
    x = draw(floats((2, 3)))
    dim = draw(st.integers(-2, 1))
    shape = [2, 3]
    shape[dim] = draw(st.integers(1, 3))
    return call(x, draw(integers(shape, 0, x.shape[dim])), dim)


@operator(
    "index_select",
    points=[call(X, 1, np.array(1)), call(np.array(2.0), -1, np.array([0]))],
    raises=[
        RaisesFor(call(np.array(2.0), 0, np.array([0, 0])), RuntimeError, "Index to scalar"),
        RaisesFor(call(X, 1, np.array([-1])), RuntimeError, torch="INDICES", jax=BOUNDS),
        RaisesFor(call(X, 1, np.array([5])), RuntimeError, torch="INDICES", jax=BOUNDS),
        RaisesFor(call(X, 0, np.array([5])), IndexError, torch="out of range", jax=BOUNDS),
        RaisesFor(call(X[None], 2, np.array([-1])), IndexError, torch="out of range", jax=BOUNDS),
        RaisesFor(call(X, 1, np.array([[0]])), IndexError, "vector"),
        RaisesFor(call(X, 0, np.array([0.5])), RuntimeError, "int32 or int64"),
    ],
    source="P071",
)
def index_select(draw):
    x = draw(floats(draw(shapes(low=1))))
    dim = draw(dims(x.ndim))
    return call(x, dim, draw(integers((draw(st.integers(0, 3)),), 0, x.shape[dim])))
