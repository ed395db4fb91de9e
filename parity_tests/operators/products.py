"""Records of products of matrices and vectors, and of added ones."""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import REAL, RaisesFor, Sample, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, shapes


inf, nan = np.inf, np.nan
ALL = (*REAL, "complex128")
V, M, B = np.ones(3), np.ones((2, 3)), np.ones((1, 2, 3))
EQUATIONS = ["ij,jk->ik", "ii->i", "ij->ji", "bij,bjk,k->bi", "...i,...i->...", "i,j", "ij,ij->"]
SMALL = st.integers(1, 3)


@operator(
    "matmul",
    points=[call(M, M.T), call(np.zeros((2, 0)), np.zeros((0, 3)))],
    raises=[
        RaisesFor(call(V, np.array(1.0)), RuntimeError, "at least 1D"),
        RaisesFor(call(V, V[:2]), RuntimeError, "inconsistent tensor size"),
        RaisesFor(call(M, M), RuntimeError, "cannot be multiplied"),
        RaisesFor(call(M, M.T.astype("f4")), RuntimeError, "same dtype"),
    ],
    dtypes=ALL,
)
def matmul(draw):
    left, right = draw(broadcast())
    n, m, k = draw(SMALL), draw(SMALL), draw(SMALL)
    x, y = (*left, n, m), (*right, m, k)
    if draw(st.booleans()):
        x = (m,)
    elif draw(st.booleans()):
        y = (m,)
    return call(draw(floats(x)), draw(floats(y)))


def _shaped(*letters: str) -> Callable[..., Sample]:
    """Arrays of these dims, each letter a size."""

    def strategy(draw):
        sizes = {c: draw(SMALL) for c in "bijk"}
        return call(*(draw(floats(tuple(sizes[c] for c in word))) for word in letters))

    strategy.__module__ = __name__
    return strategy


def _added(*letters: str) -> Callable[..., Sample]:
    def strategy(draw):
        made = _shaped(*letters)(draw)
        x = made.args[0]
        x = draw(st.sampled_from([x, x[..., :1], x[(0,) * (x.ndim - 1)]]))
        beta, alpha = (draw(st.sampled_from([1, 0, 0.5, -2.0])) for _ in range(2))
        return call(x, *made.args[1:], beta=beta, alpha=alpha)

    strategy.__module__ = __name__
    return strategy


operator(
    "mm",
    raises=[
        RaisesFor(call(V, M), RuntimeError, "must be a matrix"),
        RaisesFor(call(M, M), RuntimeError, "cannot be multiplied"),
    ],
    dtypes=ALL,
)(_shaped("ij", "jk"))
operator(
    "bmm",
    raises=[
        RaisesFor(call(M, M), RuntimeError, "must be a 3D tensor"),
        RaisesFor(call(B, B), RuntimeError, "first two dimensions of"),
    ],
)(_shaped("bij", "bjk"))
operator(
    "mv",
    raises=[
        RaisesFor(call(V, V), RuntimeError, "matrix @ vector expected"),
        RaisesFor(call(M, V[:2]), RuntimeError, "size mismatch"),
    ],
)(_shaped("ij", "j"))
operator(
    "dot",
    points=[call(np.zeros(0), np.zeros(0))],
    raises=[
        RaisesFor(call(V, M), RuntimeError, "1D tensors expected"),
        RaisesFor(call(V, V.astype("f4")), RuntimeError, "same dtype"),
        RaisesFor(call(V, V[:2]), RuntimeError, "inconsistent tensor size"),
    ],
    dtypes=ALL,
)(_shaped("i", "i"))
operator(
    "vdot", raises=[RaisesFor(call(V, V[:2]), RuntimeError, "inconsistent tensor size")], dtypes=ALL
)(_shaped("i", "i"))
operator(
    "outer",
    raises=[RaisesFor(call(M, V), RuntimeError, "Expected 1-D argument self")],
    points=[call(V, np.arange(2))],
)(_shaped("i", "j"))


@operator(
    "inner",
    points=[call(np.array(2), V), call(np.array(True), np.arange(4).reshape(2, 2))],
    raises=[RaisesFor(call(M, V[:2]), RuntimeError, "last dimension must match")],
)
def inner(draw):
    if draw(st.booleans()):
        return call(draw(floats()), draw(floats(())))
    n = draw(SMALL)
    shape = st.tuples(SMALL, st.just(n))
    return call(draw(floats(draw(shape))), draw(floats(draw(shape)[draw(st.integers(0, 1)) :])))


@operator("kron", points=[call(np.array(2.0), V), call(V, np.arange(2))])
def kron(draw):
    return call(*(draw(floats(draw(shapes(high=2, side=3)))) for _ in range(2)))


@operator(
    "tensordot",
    raises=[
        RaisesFor(call(M, M, 1), RuntimeError, "need to match"),
        RaisesFor(call(M, M, ([0], [0, 1])), RuntimeError, "same length"),
    ],
    dtypes=ALL,
)
def tensordot(draw):
    i, j, k = draw(SMALL), draw(SMALL), draw(SMALL)
    x = draw(floats((i, j, k)))
    shape, dims = draw(
        st.sampled_from([((j, k), 2), ((k, i), 1), ((i, k), ([0, 2], [0, 1])), ((i,), 0)])
    )
    return call(x, draw(floats(shape)), dims)


@operator(
    "einsum",
    raises=[
        RaisesFor(call("ij,jk->ik", M, M), RuntimeError, "einsum()"),
        RaisesFor(call("ij,jk->ik", M), RuntimeError, "einsum()"),
        RaisesFor(call("ij->ij"), ValueError, "at least one operand"),
        RaisesFor(
            call("ij,jk->ik", M, np.ones((3, 2), "f4")),
            RuntimeError,
            torch="expected scalar type",
            jax="operand 1 is of float32",
        ),
    ],
    dtypes=ALL,
)
def einsum(draw):
    equation = draw(st.sampled_from(EQUATIONS))
    sizes = {c: draw(SMALL) for c in "bijk"}
    words = equation.split("->")[0].replace("...", "b").split(",")
    return call(equation, *(draw(floats(tuple(sizes[c] for c in word))) for word in words))


operator(
    "addmm",
    points=[call([[nan]], [[1.0]], [[2.0]], beta=0)],
    raises=[
        RaisesFor(call(M, V, M), RuntimeError, "must be a matrix"),
        RaisesFor(call(M, M, M), RuntimeError, "cannot be multiplied"),
    ],
)(_added("ik", "ij", "jk"))
operator("addmv", raises=[RaisesFor(call(V, V, V), RuntimeError, "matrix @ vector expected")])(
    _added("i", "ij", "j")
)
operator("addr", raises=[RaisesFor(call(M, M, V), RuntimeError, "Expected 1-D argument vec1")])(
    _added("ij", "i", "j")
)
operator("baddbmm", raises=[RaisesFor(call(B, B, B), RuntimeError, "first two dimensions of")])(
    _added("bik", "bij", "bjk")
)
operator(
    "addbmm",
    points=[
        call(
            [[1.0, 2.0], [3.0, 4.0]],
            [[[inf, 1.0], [0.0, 1.0]]],
            [[[1.0, nan], [0.0, 1.0]]],
            alpha=0,
        )
    ],
    raises=[RaisesFor(call(V, M, B), RuntimeError, "must be a 3D tensor")],
)(_added("ik", "bij", "bjk"))
