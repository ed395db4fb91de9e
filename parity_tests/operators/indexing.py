"""Records of reading and writing at indices, and of masks."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats, integers, masks, shapes


X = np.arange(6.0).reshape(2, 3)
TWICE = np.array([1, 1, 3])
FOUR, SRC = np.zeros(4), np.array([5.0, 6.0, 7.0])
LAST_ONLY = "torch's keeps the last tangent of an index, its gradient goes to all"
BOUNDS = "out of bounds"


def _indexed(draw, *, distinct=False):
    """An input, a dim, and indices along it that fit in the other dims."""
    shape = draw(shapes(low=1))
    dim = draw(dims(len(shape)))
    size = [draw(st.integers(1, n)) for n in shape]
    if not distinct:
        size[dim] = draw(st.integers(1, 4))
        return draw(floats(shape)), dim, draw(integers(size, 0, shape[dim]))
    count, size[dim] = size[dim], shape[dim]
    order = np.argsort(draw(floats(size)), dim)
    return draw(floats(shape)), dim, np.take(order, np.arange(count), dim)


@operator(
    "gather",
    points=[call(np.array(2.0), 0, np.array([0, 0])), call(X, 1, np.zeros((2, 0), int))],
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
    return call(*_indexed(draw))


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
        RaisesFor(call(X, 1, np.array([[0]])), IndexError, "vector"),
    ],
    source="P071",
)
def index_select(draw):
    x = draw(floats(draw(shapes(low=1))))
    dim = draw(dims(x.ndim))
    return call(x, dim, draw(integers((draw(st.integers(0, 3)),), 0, x.shape[dim])))


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
    points=[call(FOUR, 0, TWICE, SRC)],
    raises=[
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


def _set(x, _, i, y):
    return x.at[i].set(y)


@operator(
    "index_copy",
    points=[call(FOUR, 0, TWICE, SRC)],
    raises=[
        RaisesFor(call(FOUR, 0, np.array([0, 1, 4]), SRC), IndexError, BOUNDS),
        RaisesFor(call(FOUR, 0, np.array([0, 1, -1]), SRC), IndexError, BOUNDS),
        RaisesFor(call(FOUR, 0, np.array([0]), SRC), IndexError, "Number of"),
        RaisesFor(call(FOUR, 0, TWICE, SRC.astype("f4")), RuntimeError, "same dtype"),
    ],
    jax_idioms={"x.at[i].set(y)": _set},
    forward_mode=LAST_ONLY,
    source="P068",
)
def index_copy(draw):
    return call(*_sliced(draw, distinct=True))


@operator(
    "index_fill",
    points=[call(X, 1, np.array([0, 2, 0]), np.array(9.0))],
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


@operator(
    "masked_select",
    max_programs=5,
    jit=False,
    points=[call(X, np.array([True, False, True]))],
    raises=[RaisesFor(call(X, np.array([1, 0, 1])), RuntimeError, "BoolTensor")],
)
def masked_select(draw):
    x = draw(floats())
    return call(x, draw(masks(x.shape)))


@operator(
    "masked_scatter",
    torch=torch.masked_scatter,
    points=[call(X, np.array([True, False, True]), np.arange(9.0))],
    raises=[
        RaisesFor(call(X, X > -1, np.ones(2)), RuntimeError, "Number of elements"),
        RaisesFor(
            call(X, X > 1, SRC.astype("f4")), RuntimeError, torch="same dtypes", jax="same dtype"
        ),
    ],
)
def masked_scatter(draw):
    x = draw(floats())
    return call(x, draw(masks(x.shape)), draw(floats((x.size + draw(st.integers(0, 2)),))))


@operator(
    "scatter",
    points=[call(FOUR, 0, TWICE, SRC), call(FOUR, 0, TWICE, 2.0)],
    raises=[
        RaisesFor(call(X, 1, np.array([[3]]), 1.0), RuntimeError, BOUNDS),
        RaisesFor(call(X, 1, np.array([[-1]]), 1.0), RuntimeError, BOUNDS),
        RaisesFor(call(X, 1, np.array([0]), 1.0), RuntimeError, "same number"),
        RaisesFor(call(X, 1, np.ones((2, 2), int), X[:1]), RuntimeError, "no larger size"),
        RaisesFor(
            call(FOUR, 0, TWICE, SRC.astype("f4")),
            RuntimeError,
            torch="src.dtype",
            jax="same dtype",
        ),
    ],
    jax_idioms={"x.at[i].set(y)": _set},
    forward_mode=LAST_ONLY,
    source="P068",
)
def scatter(draw):
    x, dim, index = _indexed(draw, distinct=True)
    shape = index.shape
    return call(x, dim, index, draw(st.one_of(st.floats(-1, 1), floats(shape), floats(shape))))


@operator(
    "scatter_add",
    points=[call(FOUR, 0, TWICE, SRC)],
    raises=[RaisesFor(call(X, 1, np.array([[3]]), X), RuntimeError, BOUNDS)],
)
def scatter_add(draw):
    x, dim, index = _indexed(draw)
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
