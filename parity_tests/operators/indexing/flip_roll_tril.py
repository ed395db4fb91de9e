"""Records of the operators in `jaxgrad/functional/indexing/flip_roll_tril.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import dim_sets, dims, floats, integers, shapes
from parity_tests.operators.indexing._shared import X


@operator(
    "roll",
    points=[call(X, 1), call(np.zeros((0, 2)), 1, 1)],
    raises=[
        RaisesFor(call(X, (1, 2), 0), RuntimeError, "must align"),
        RaisesFor(call(X, 1, 5), IndexError, "out of range"),
    ],
)
def roll(draw):
    x = draw(floats(draw(shapes(low=1))))
    if draw(st.booleans()):
        return call(x, draw(st.integers(-5, 5)), draw(dims(x.ndim)))
    shifts = draw(st.lists(st.integers(-5, 5), min_size=x.ndim, max_size=x.ndim))
    return call(x, shifts, list(range(x.ndim)))


@operator(
    "flip",
    points=[call(X, ())],
    raises=[
        RaisesFor(call(X, (0, 0)), RuntimeError, "multiple times"),
        RaisesFor(call(X, (3,)), IndexError, "out of range"),
    ],
)
def flip(draw):
    x = draw(floats(draw(shapes(low=1))))
    chosen = draw(dim_sets(x.ndim))
    return call(x, (0,) if chosen is None else (chosen,) if isinstance(chosen, int) else chosen)


@operator(
    "transpose",
    max_programs=2,
    points=[call(np.array(2.0), 0, -1), call(np.ones(2), 0, 0)],
    raises=[RaisesFor(call(X, 0, 2), IndexError, "out of range")],
)
def transpose(draw):
    x = draw(floats((2, 1, 3)))
    return call(x, draw(dims(3)), draw(dims(3)))


@operator("tril", raises=[RaisesFor(call(X[0]), RuntimeError, "at least 2")])
def tril(draw):
    return call(draw(floats(draw(shapes(low=2)))), draw(st.integers(-3, 3)))


@operator("triu", raises=[RaisesFor(call(X[0]), RuntimeError, "at least 2")])
def triu(draw):
    return call(draw(floats(draw(shapes(low=2)))), draw(st.integers(-3, 3)))


@operator(
    "repeat_interleave",
    max_programs=5,
    jit=False,
    raises=[
        RaisesFor(call(X, -1), RuntimeError, "non-negative"),
        RaisesFor(call(X, np.array([1, 2, 3]), 0), RuntimeError, "same size"),
    ],
)
def repeat_interleave(draw):
    x = draw(floats(draw(shapes(low=1))))
    dim = draw(dims(x.ndim))
    if draw(st.booleans()):
        return call(x, draw(st.integers(0, 3)), draw(st.sampled_from([dim, None])))
    repeats = draw(integers((x.shape[dim],), 0, 3))
    more = {"output_size": int(repeats.sum())} if draw(st.booleans()) else {}
    return call(x, repeats, dim, **more)
