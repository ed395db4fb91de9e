"""Records of the operators in `jaxgrad/functional/indexing/scatter_reduce.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats, integers, shapes
from parity_tests.operators.indexing._shared import LINE, SINGLE, SLOTS, X


nan = np.nan
REDUCES = ["sum", "prod", "mean", "amax", "amin"]
SHARED = "torch counts the input's element among equal extremes even if include_self is False"


def _at(x, _, i, y, how, include_self=True):
    """Reduce with `.at`, after writing neutral elements if the input is excluded."""
    ways = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "max", "amin": "min"}
    start = {"prod": 1.0, "amax": -np.inf, "amin": np.inf}.get(how, 0.0)
    cells = x if include_self else x.at[i].set(start)
    reduced = getattr(cells.at[i], ways[how])(y)
    if how != "mean":
        return reduced
    return reduced / np.maximum(np.bincount(AT, minlength=x.size) + include_self, 1)


CELLS = [1.0, 5.0, 7.0, 0.0, 2.0, 3.0]
AT = np.array([1, 1, 2, 3, 3, 4, 4])
SRC = [5.0, 5.0, 7.0, 0.0, 2.0, nan, 1.0]


def _points(reduces):
    for how in reduces:
        yield call(CELLS, 0, AT, SRC, how)
    yield call(CELLS, 0, AT, SRC, "amax", include_self=False)
    yield call(CELLS, 0, AT, SRC, "prod", include_self=False)


DIFFERENCE = PinnedDifference(
    call([1.0, 5.0], 0, np.array([1, 1]), [5.0, 5.0], "amax", include_self=False),
    {"gradient/3": ([2 / 3, 2 / 3], [1.0, 1.0])},
    SHARED,
)


@operator(
    "scatter_reduce",
    max_programs=5,
    torch=torch.scatter_reduce,
    torch_gradient=True,
    differences=[DIFFERENCE],
    points=[
        *_points(["sum", "mean", "prod", "amax", "amin"]),
        call(np.arange(6), 0, AT, np.arange(7), "mean"),
    ],
    raises=[
        RaisesFor(call(X, 1, np.array([[3]]), X, "amax"), RuntimeError, "out of bounds"),
        RaisesFor(call(LINE, 0, SLOTS, LINE[:3], "foo"), RuntimeError, "must be either sum"),
        RaisesFor(
            call(LINE, 0, SLOTS, SINGLE, "sum"),
            RuntimeError,
            torch="to be equal to src.dtype",
            jax="same dtype",
        ),
    ],
    jax_idioms={"x.at[i].max(y)": _at},
    forward_mode="torch's forward mode of a product is 0",
    source="P069 P070",
)
def scatter_reduce(draw):
    shape = draw(shapes(low=1))
    dim = draw(dims(len(shape)))
    size = [draw(st.integers(1, n)) for n in shape]
    size[dim] = draw(st.integers(1, 4))
    index = draw(integers(size, 0, shape[dim]))
    how = draw(st.sampled_from(REDUCES))
    x, y = draw(floats(shape)), draw(floats(size))
    return call(x, dim, index, y, how, include_self=draw(st.booleans()))


@operator(
    "index_reduce",
    torch=torch.index_reduce,
    torch_gradient=True,
    differences=[DIFFERENCE],
    points=[
        *_points(["prod", "amax"]),
        call(np.array(1.5), 0, np.array([0]), np.array(2.0), "prod"),
    ],
    raises=[
        RaisesFor(
            call(np.array(1.5), 0, SLOTS[:1], LINE[:1], "amax"), RuntimeError, "must match self"
        ),
        RaisesFor(
            call(LINE, 0, SLOTS, LINE[:3], "sum"), RuntimeError, "Expected reduce to be one of"
        ),
        RaisesFor(call(LINE, 0, SLOTS[:1], LINE[:3], "amax"), RuntimeError, "Number of indices"),
        RaisesFor(
            call(LINE, 0, SLOTS, SINGLE, "amax"),
            RuntimeError,
            torch="same scalar type",
            jax="same dtype",
        ),
        RaisesFor(call(LINE, 0, SLOTS + 9, LINE[:3], "amax"), IndexError, "out of"),
    ],
    jax_idioms={"x.at[i].max(y)": _at},
)
def index_reduce(draw):
    x = draw(floats(draw(shapes(low=1))))
    dim = draw(dims(x.ndim))
    index = draw(integers((draw(st.integers(1, 4)),), 0, x.shape[dim]))
    shape = list(x.shape)
    shape[dim] = index.size
    how = draw(st.sampled_from(REDUCES[1:]))
    return call(x, dim, index, draw(floats(shape)), how, include_self=draw(st.booleans()))
