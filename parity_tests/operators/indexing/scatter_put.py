"""Records of the operators in `jaxgrad/functional/indexing/scatter_put.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes
from parity_tests.operators.indexing._shared import (
    BOUNDS,
    FOUR,
    LAST_ONLY,
    LINE,
    SINGLE,
    SLOTS,
    SRC,
    TWICE,
    X,
    set_at,
    with_indices,
)


@operator(
    "scatter",
    points=[call(FOUR, 0, TWICE, SRC), call(FOUR, 0, TWICE, 2.0)],
    raises=[
        RaisesFor(call(X, 1, np.array([[3]]), 1.0), RuntimeError, BOUNDS),
        RaisesFor(call(X, 1, np.array([[-1]]), 1.0), RuntimeError, BOUNDS),
        RaisesFor(call(X, 1, np.array([0]), 1.0), RuntimeError, "same number"),
        RaisesFor(call(X, 1, np.ones((2, 2), int), X[:1]), RuntimeError, "no larger size"),
        RaisesFor(call(FOUR, 0, TWICE, SRC, reduce="min"), RuntimeError, "either add or multiply"),
        RaisesFor(
            call(FOUR, 0, TWICE, 2.0, reduce="add"),
            RuntimeError,
            "not implemented",
            when="backward",
        ),
        RaisesFor(
            call(FOUR, 0, TWICE, SRC.astype("f4")),
            RuntimeError,
            torch="src.dtype",
            jax="same dtype",
        ),
    ],
    jax_idioms={"x.at[i].set(y)": set_at},
    forward_mode=LAST_ONLY,
    source="P068",
)
def scatter(draw):
    x, dim, index = with_indices(draw, distinct=True)
    shape = index.shape
    return call(x, dim, index, draw(st.one_of(st.floats(-1, 1), floats(shape), floats(shape))))


@operator(
    "scatter_add",
    points=[call(FOUR, 0, TWICE, SRC)],
    raises=[RaisesFor(call(X, 1, np.array([[3]]), X), RuntimeError, BOUNDS)],
)
def scatter_add(draw):
    x, dim, index = with_indices(draw)
    return call(x, dim, index, draw(floats(index.shape)))


@operator(
    "put",
    torch=torch.put,
    points=[call(FOUR, TWICE, SRC), call(FOUR, TWICE, SRC, True)],
    raises=[
        RaisesFor(call(X, np.array([6]), [1.0]), IndexError, "out of range"),
        RaisesFor(call(X, TWICE, [1.0]), IndexError, "same number"),
        RaisesFor(call(FOUR, TWICE, SRC.astype("f4")), RuntimeError, "same dtype"),
    ],
    jax_idioms={
        "x.at[i].set(y)": lambda x, i, y, add=False: x.at[i].add(y) if add else x.at[i].set(y)
    },
    forward_mode=LAST_ONLY,
    source="P068",
)
def put(draw):
    x = draw(floats(draw(shapes(low=1))))
    index = np.argsort(draw(floats((x.size,))))[: draw(st.integers(1, x.size))]
    index = index - x.size * draw(st.integers(0, 1))
    return call(x, index, draw(floats(index.shape)), draw(st.booleans()))


@operator(
    "index_put",
    torch=torch.index_put,
    points=[
        call(LINE, (SLOTS,), [5.0, 6.0, 7.0]),
        call(LINE, (SLOTS,), [5.0, 6.0, 7.0], True),
        call(X, (np.array([[0], [-1]]), np.array([0, 2])), np.array(9.0)),
    ],
    raises=[
        RaisesFor(call(LINE, (SLOTS + 3,), LINE[:3]), IndexError, "out of bounds"),
        RaisesFor(
            call(LINE, (SLOTS,), SINGLE),
            RuntimeError,
            torch="destination dtypes match",
            jax="same dtype",
        ),
    ],
    jax_idioms={
        "x.at[i].set(y)": lambda x, i, y, add=False: x.at[i].add(y) if add else x.at[i].set(y)
    },
    forward_mode=(
        "torch's forward mode keeps an index's last tangent, but its gradient reaches all of them"
    ),
    source="P068",
)
def index_put(draw):
    x = draw(floats(draw(shapes(low=2))))
    first = np.argsort(draw(floats(x.shape[:1])))[: draw(st.integers(1, len(x)))]
    shape = (first.size, *x.shape[1:])
    return call(x, (first,), draw(floats(shape[draw(st.integers(0, 1)) :])), draw(st.booleans()))
