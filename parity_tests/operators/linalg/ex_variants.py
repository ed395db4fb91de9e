"""Records of the operators in `jaxgrad/functional/linalg/ex_variants.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import (
    INFINITE,
    LAPACKS,
    LU_OF_INFINITE,
    SOLVED_BY_INFINITE,
    WIDE,
    diagonally_dominant,
)


nan = np.nan
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
PARTIAL = (
    "for a matrix that is not positive-definite torch's L holds what LAPACK wrote before failing"
)


def _definite(draw):
    x = diagonally_dominant(draw)
    return x @ np.swapaxes(x, -1, -2)


@operator(
    "linalg.inv_ex",
    dtypes=WIDE,
    points=[call(np.ones((2, 2))), call(np.zeros((2, 2))), call(SINGULAR)],
    differences=[
        PinnedDifference(
            call(INFINITE),
            {
                "forward/0": (nan, [[0.0, 0.0], [0.0, 0.5]]),
                "gradient/0": (nan, [[0.0, 0.0], [0.0, -1.0]]),
            },
            LAPACKS,
        )
    ],
    raises=[
        RaisesFor(
            call(SINGULAR, check_errors=True),
            RuntimeError,
            torch="inversion could not be completed",
            jax="inversion could not be completed (info=2)",
        ),
    ],
)
def inv_ex(draw):
    return call(diagonally_dominant(draw), check_errors=draw(st.booleans()))


@operator(
    "linalg.solve_ex",
    max_programs=4,
    dtypes=WIDE,
    differences=[SOLVED_BY_INFINITE],
    raises=[
        RaisesFor(
            call(SINGULAR, np.ones(2), check_errors=True),
            RuntimeError,
            torch="solver failed",
            jax="solver failed (info=2)",
        ),
    ],
)
def solve_ex(draw):
    x, left = diagonally_dominant(draw), draw(st.booleans())
    n, k = x.shape[-1], draw(st.integers(1, 2))
    y = draw(floats((*x.shape[:-2], *((n, k) if left else (k, n)))))
    return call(x, y, left=left, check_errors=draw(st.booleans()))


@operator(
    "linalg.cholesky_ex",
    dtypes=WIDE,
    forward_mode="torch's forward mode of cholesky does not symmetrize the tangent",
    differences=[
        PinnedDifference(
            call([[1.0, 2.0], [2.0, 1.0]]),
            {
                "forward/0": ([[1.0, 0.0], [2.0, -3.0]], [[nan, 0.0], [nan, nan]]),
                "gradient/0": ([[-31 / 6, 17 / 6], [17 / 6, -2 / 3]], nan),
            },
            PARTIAL,
        ),
        PinnedDifference(
            call(SINGULAR),
            {"forward/0": ([[1.0, 0.0], [2.0, 0.0]], [[nan, 0.0], [nan, nan]])},
            PARTIAL,
        ),
    ],
    raises=[
        RaisesFor(
            call([[1.0, 2.0], [2.0, 1.0]], check_errors=True),
            RuntimeError,
            torch="factorization could not be completed",
            jax="not positive-definite (info=2)",
        ),
    ],
)
def cholesky_ex(draw):
    return call(_definite(draw), upper=draw(st.booleans()), check_errors=draw(st.booleans()))


@operator(
    "linalg.lu_factor_ex",
    max_programs=4,
    dtypes=WIDE,
    differences=[LU_OF_INFINITE],
    raises=[
        RaisesFor(
            call(SINGULAR, check_errors=True), RuntimeError, torch="U[2,2] is zero", jax="(info=2)"
        ),
    ],
)
def lu_factor_ex(draw):
    return call(diagonally_dominant(draw), pivot=True, check_errors=draw(st.booleans()))
