"""Records of the operators in `jaxgrad/functional/linalg/lu.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import (
    COMPLEX,
    EYE,
    INFINITE,
    LAPACKS,
    LU_OF_INFINITE,
    VECTOR,
    WIDE_MATRIX,
    regular,
)


inf, nan = np.inf, np.nan
UNPIVOTED = RaisesFor(call(WIDE_MATRIX, pivot=False), RuntimeError, "LU without pivoting")
TOO_FEW_DIMS = RaisesFor(call(VECTOR), RuntimeError, "2")


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
    raises=[UNPIVOTED, TOO_FEW_DIMS],
    dtypes=COMPLEX,
)
def lu(draw):
    return call(_matrices(draw))


@operator(
    "linalg.lu_factor",
    max_programs=3,
    points=[call([[1.0, nan], [2.0, 3.0]])],
    differences=[LU_OF_INFINITE],
    raises=[
        UNPIVOTED,
        TOO_FEW_DIMS,
        RaisesFor(
            call(np.ones((2, 2))),
            RuntimeError,
            torch="is zero and using it",
            jax="a pivot of U is zero",
        ),
    ],
    dtypes=COMPLEX,
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
            call(WIDE_MATRIX, np.array([1, 2], np.int32), WIDE_MATRIX),
            RuntimeError,
            "batches of square matrices",
        ),
        RaisesFor(
            call(EYE, np.array([1], np.int32), WIDE_MATRIX), RuntimeError, "Number of pivots"
        ),
        RaisesFor(
            call(EYE, np.array([1, 2]), WIDE_MATRIX), RuntimeError, "scalar type torch.int32"
        ),
        RaisesFor(
            call(EYE, np.array([1, 2], np.int32), WIDE_MATRIX.T),
            RuntimeError,
            "Incompatible shapes",
        ),
    ],
    dtypes=COMPLEX,
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
