"""Records of LU, reflections and `jaxgrad.functional.tensors`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.matrices import INFINITE, LAPACKS, inf, nan, regular


DTYPES = ("float64", "float32", "complex128")
EYE, R, V = np.eye(2), np.ones((2, 3)), np.ones(3)
UNPIVOTED = RaisesFor(call(R, pivot=False), RuntimeError, "LU without pivoting")
NOT_MATRIX = RaisesFor(call(V), RuntimeError, "2")


def _matrices(draw):
    m, n = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    batch = draw(st.sampled_from([(), (), (2,), (1, 2)]))
    return draw(floats((*batch, m, n), -1, 1)) + 2 * np.eye(m, n)


@operator(
    "linalg.lu",
    max_programs=3,
    points=[call(np.ones((2, 2))), call(np.ones((3, 2))), call([[1.0, nan], [2.0, 3.0]])],
    differences=[
        PinnedDifference(
            call(INFINITE),
            {
                "forward/1": ([[1.0, 0.0], [nan, 1.0]], EYE),
                "forward/2": ([[inf, 1.0], [0.0, nan]], [[inf, 1.0], [0.0, 2.0]]),
                "gradient/0": (nan, [[nan, 2.0], [nan, 4.0]]),
            },
            LAPACKS,
        )
    ],
    raises=[UNPIVOTED, NOT_MATRIX],
    dtypes=DTYPES,
)
def lu(draw):
    return call(_matrices(draw))


OF_INFINITE = PinnedDifference(
    call(INFINITE),
    {
        "forward/0": ([[inf, 1.0], [nan, nan]], [[inf, 1.0], [0.0, 2.0]]),
        "gradient/0": (nan, [[nan, 2.0], [nan, 4.0]]),
    },
    LAPACKS,
)


@operator(
    "linalg.lu_factor",
    max_programs=3,
    points=[call([[1.0, nan], [2.0, 3.0]])],
    differences=[OF_INFINITE],
    raises=[
        UNPIVOTED,
        NOT_MATRIX,
        RaisesFor(
            call(np.ones((2, 2))),
            RuntimeError,
            torch="is zero and using it",
            jax="a pivot of U is zero",
        ),
    ],
    dtypes=DTYPES,
)
def lu_factor(draw):
    return call(_matrices(draw))


@operator(
    "linalg.lu_solve",
    max_programs=4,
    points=[
        call(EYE * 0.0, np.array([1, 2], np.int32), [[1.0], [2.0]], adjoint=adjoint)
        for adjoint in (False, True)
    ],
    raises=[
        RaisesFor(
            call(R, np.array([1, 2], np.int32), R), RuntimeError, "batches of square matrices"
        ),
        RaisesFor(call(EYE, np.array([1], np.int32), R), RuntimeError, "Number of pivots"),
        RaisesFor(call(EYE, np.array([1, 2]), R), RuntimeError, "scalar type torch.int32"),
        RaisesFor(call(EYE, np.array([1, 2], np.int32), R.T), RuntimeError, "Incompatible shapes"),
    ],
    dtypes=DTYPES,
)
def lu_solve(draw):
    n, k, left = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.booleans())
    batch, other = draw(st.sampled_from([((), ()), ((2,), ()), ((2,), (2,)), ((1,), (3,))]))
    pivots = np.array([draw(st.integers(i + 1, n)) for i in range(n)], np.int32)
    return call(
        regular(draw, n, batch),
        np.broadcast_to(pivots, (*batch, n)).copy(),
        draw(floats((*other, n, k) if left else (*other, k, n))),
        left=left,
        adjoint=draw(st.booleans()),
    )


@operator(
    "linalg.householder_product",
    max_programs=3,
    points=[call([[1.0], [inf]], [0.5]), call([[1.0], [2.0]], [0.0])],
    differences=[
        PinnedDifference(
            call([[1.0]], [1.0]),
            {"gradient/1": (nan, -1.0)},
            "torch's gradient divides by 1 - tau |v|^2, which is 0 here; the function is linear",
        )
    ],
    raises=[
        RaisesFor(call(V, V), RuntimeError, "at least 2 dimensions"),
        RaisesFor(call(R, V), RuntimeError, "must be greater than or equal to"),
        RaisesFor(call(R.T, V), RuntimeError, "must be greater than or equal to"),
        RaisesFor(
            call(np.ones((2, 3, 2)), np.ones(2)), RuntimeError, "one dimension less than input"
        ),
    ],
    dtypes=DTYPES,
)
def householder_product(draw):
    k, n, m = sorted(draw(st.integers(1, 4)) for _ in range(3))
    batch = draw(st.sampled_from([(), (2,)]))
    return call(draw(floats((*batch, m, n), -1, 1)), draw(floats((*batch, k), -1, 1)))


@operator(
    "linalg.tensorsolve",
    raises=[RaisesFor(call(np.ones((4, 2, 2)), V), RuntimeError, "satisfy the requirement")],
    dtypes=DTYPES,
)
def tensorsolve(draw):
    x = regular(draw, 4)
    if draw(st.booleans()):
        return call(x.reshape(2, 2, 4), draw(floats((2, 2))))
    turned = np.moveaxis(x.reshape(4, 2, 2), 1, 0)
    return call(turned, draw(floats(4)), dims=draw(st.sampled_from([(0,), [-3]])))


@operator(
    "linalg.tensorinv",
    differences=[
        PinnedDifference(
            call(np.reshape(INFINITE, (2, 1, 2))),
            {
                "forward/0": (nan, [[[0.0], [0.0]], [[0.0], [0.5]]]),
                "gradient/0": (nan, [[[0.0, 0.0]], [[0.0, -1.0]]]),
            },
            LAPACKS,
        )
    ],
    raises=[
        RaisesFor(call(np.ones((4, 3, 2))), RuntimeError, "satisfy the requirement"),
        RaisesFor(call(np.ones((4, 2, 2)), ind=0), RuntimeError, "strictly positive"),
    ],
    dtypes=DTYPES,
)
def tensorinv(draw):
    x = regular(draw, 4)
    return draw(st.sampled_from([call(x.reshape(2, 2, 4)), call(x.reshape(4, 2, 2), ind=1)]))
