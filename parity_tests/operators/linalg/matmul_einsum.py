"""Records of the operators in `jaxgrad/functional/linalg/matmul_einsum.py`."""

import itertools

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, shapes
from parity_tests.operators.linalg._shared import (
    ALL_DTYPES,
    BATCH,
    COMPLEX,
    EYE,
    SMALL,
    VECTOR,
    WIDE_MATRIX,
    shaped,
)


inf = np.inf


@operator(
    "linalg.multi_dot",
    torch=torch.linalg.multi_dot,
    raises=[
        RaisesFor(call([VECTOR]), RuntimeError, "at least 2 tensors"),
        RaisesFor(call([EYE, WIDE_MATRIX.T]), RuntimeError, "cannot be multiplied"),
    ],
    points=[call([np.array(x) for x in ([inf], [[-2.0, 0.5]], [[-0.5], [3.0]], [[0.25, 2.0]])])],
    dtypes=COMPLEX,
)
def multi_dot(draw):
    sizes = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(3, 5)))]
    arrays = [draw(floats(pair)) for pair in itertools.pairwise(sizes)]
    if draw(st.booleans()):
        arrays[0] = arrays[0][0]
    return call(arrays)


EQUATIONS = ["ij,jk->ik", "ii->i", "ij->ji", "bij,bjk,k->bi", "...i,...i->...", "i,j", "ij,ij->"]


@operator(
    "matmul",
    points=[call(WIDE_MATRIX, WIDE_MATRIX.T), call(np.zeros((2, 0)), np.zeros((0, 3)))],
    raises=[
        RaisesFor(call(VECTOR, np.array(1.0)), RuntimeError, "at least 1D"),
        RaisesFor(call(VECTOR, VECTOR[:2]), RuntimeError, "inconsistent tensor size"),
        RaisesFor(call(WIDE_MATRIX, WIDE_MATRIX), RuntimeError, "cannot be multiplied"),
        RaisesFor(call(WIDE_MATRIX, WIDE_MATRIX.T.astype("f4")), RuntimeError, "same dtype"),
    ],
    dtypes=ALL_DTYPES,
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


operator(
    "mm",
    raises=[
        RaisesFor(call(VECTOR, WIDE_MATRIX), RuntimeError, "must be a matrix"),
        RaisesFor(call(WIDE_MATRIX, WIDE_MATRIX), RuntimeError, "cannot be multiplied"),
    ],
    dtypes=ALL_DTYPES,
)(shaped("ij", "jk"))


operator(
    "bmm",
    raises=[
        RaisesFor(call(WIDE_MATRIX, WIDE_MATRIX), RuntimeError, "must be a 3D tensor"),
        RaisesFor(call(BATCH, BATCH), RuntimeError, "first two dimensions of"),
    ],
)(shaped("bij", "bjk"))


operator(
    "mv",
    raises=[
        RaisesFor(call(VECTOR, VECTOR), RuntimeError, "matrix @ vector expected"),
        RaisesFor(call(WIDE_MATRIX, VECTOR[:2]), RuntimeError, "size mismatch"),
    ],
)(shaped("ij", "j"))


@operator("kron", points=[call(np.array(2.0), VECTOR), call(VECTOR, np.arange(2))])
def kron(draw):
    return call(*(draw(floats(draw(shapes(high=2, side=3)))) for _ in range(2)))


@operator(
    "tensordot",
    points=[
        call(WIDE_MATRIX, [[1.0, 2.0]], 1),
        call([[1.0], [2.0]], WIDE_MATRIX, ([1], [0])),
        call(np.ones((2, 1, 3)), np.ones((4, 3, 2)), ([1, 2], [0, 1])),
    ],
    raises=[
        RaisesFor(call(WIDE_MATRIX, WIDE_MATRIX, 1), RuntimeError, "need to match"),
        RaisesFor(call(WIDE_MATRIX, WIDE_MATRIX, ([0], [0, 1])), RuntimeError, "same length"),
    ],
    dtypes=ALL_DTYPES,
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
    points=[
        call("ij,ik->jk", [WIDE_MATRIX, WIDE_MATRIX]),
        call(WIDE_MATRIX, [0, 1], WIDE_MATRIX, [2, 1], [2, 0]),
        call(WIDE_MATRIX, [..., 26], WIDE_MATRIX, [..., 1]),
    ],
    raises=[
        RaisesFor(call("ij,jk->ik", WIDE_MATRIX, WIDE_MATRIX), RuntimeError, "einsum()"),
        RaisesFor(call("ij,jk->ik", WIDE_MATRIX), RuntimeError, "einsum()"),
        RaisesFor(call("ij->ij"), ValueError, "at least one operand"),
        RaisesFor(call(WIDE_MATRIX, [0, 52]), ValueError, "range [0, 52)"),
        RaisesFor(
            call("ij,jk->ik", WIDE_MATRIX, np.ones((3, 2), "f4")),
            RuntimeError,
            torch="expected scalar type",
            jax="operand 1 is float32",
        ),
    ],
    dtypes=ALL_DTYPES,
)
def einsum(draw):
    equation = draw(st.sampled_from(EQUATIONS))
    sizes = {c: draw(SMALL) for c in "bijk"}
    words = equation.split("->")[0].replace("...", "b").split(",")
    return call(equation, *(draw(floats(tuple(sizes[c] for c in word))) for word in words))
