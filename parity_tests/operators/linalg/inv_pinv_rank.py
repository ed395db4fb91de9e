"""Records of the operators in `jaxgrad/functional/linalg/inv_pinv_rank.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import (
    COMPLEX,
    INFINITE,
    LAPACKS,
    NOT_MATRIX,
    NOT_SQUARE,
    SINGULAR,
    VECTOR,
    WIDE,
    square_matrix,
    wide_or_tall,
)


inf, nan = np.inf, np.nan


def _not_read(x: float) -> list[list[float]]:
    """Return an identity matrix with `x` in the upper triangle, which the operator ignores."""
    return [[1.0, 0.0, 0.0], [0.0, 1.0, x], [0.0, 0.0, 1.0]]


operator(
    "linalg.inv",
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
        NOT_SQUARE,
        RaisesFor(call(SINGULAR), RuntimeError, "because the input matrix is singular"),
    ],
    dtypes=COMPLEX,
    source="P059",
)(square_matrix())


def _cond(x, p=None):
    """Compute `cond` without torch's in-place write, which prevents second derivatives."""
    if p in (None, 2, -2):
        return torch.linalg.cond(x, p)
    return torch.linalg.matrix_norm(x, p) * torch.linalg.matrix_norm(torch.linalg.inv(x), p)


operator("linalg.cond", torch=_cond, raises=[NOT_MATRIX], dtypes=COMPLEX)(
    square_matrix(None, 2, -2, "fro", 1, inf)
)


@operator(
    "linalg.pinv",
    max_programs=4,
    points=[
        call([[2.0, 9.0], [1.0, 3.0]], hermitian=True),
        call([[1.0, 100.0], [0.0, 0.25]], atol=0.5, hermitian=True),
        *(call(x, hermitian=True) for x in (np.zeros((2, 2)), np.eye(3), np.diag([1.0, -1.0]))),
        *(call(x, hermitian=True) for x in ([[0.0, 1.0], [1.0, 0.0]], [[-0.0]], np.zeros((0, 0)))),
        *(call(_not_read(x), hermitian=True) for x in (inf, nan)),
        call([[inf]], hermitian=True),
    ],
    differences=[
        PinnedDifference(
            call([[nan]], hermitian=True),
            {"forward/0": (0.0, nan)},
            "torch drops eigenvalues that are not above the bound, such as NaN; for larger "
            "matrices the eigenvectors are NaN, and so is the inverse",
        ),
        PinnedDifference(
            call(np.diag([1.0, inf, 1.0])),
            {
                "forward/0": (0.0, nan),
                "gradient/0": ([[0.0, nan, 0.0], [nan, nan, nan], [0.0, nan, 0.0]], nan),
            },
            "LAPACK may not terminate for three rows with an infinity, so JAX does not call it",
        ),
    ],
    raises=[RaisesFor(call(VECTOR), RuntimeError, "linalg.pinv")],
    dtypes=WIDE,
)
def pinv(draw):
    """Draw tolerances that are far below the singular values, or none."""
    more = draw(st.sampled_from([{}, {"rtol": 1e-3}, {"atol": 1e-3}, {"rcond": 1e-3}]))
    if draw(st.booleans()):
        return call(wide_or_tall(draw), **more)
    x = draw(floats((2, 3, 3), -1, 1))
    more.pop("rcond", None)
    return call(x @ x.swapaxes(-1, -2) + 3 * np.eye(3), hermitian=True, **more)


@operator(
    "linalg.matrix_rank",
    points=[
        *(call(x) for x in (SINGULAR, np.zeros((2, 3)), np.zeros((0, 3)))),
        call([[1.0, 5.0], [1.0, 1.0]], hermitian=True),
        *(call(_not_read(x), hermitian=True) for x in (inf, nan)),
    ],
    raises=[NOT_MATRIX],
    dtypes=WIDE,
)
def matrix_rank(draw):
    x = wide_or_tall(draw)
    x = np.stack([x, x * 0]) if draw(st.booleans()) else x
    bounds = [{}, {"rtol": 0.1}, {"atol": 0.9}, {"atol": 1.5, "rtol": 0.1}, {"tol": 0.9}]
    if draw(st.booleans()):
        return call(x @ x.swapaxes(-1, -2), hermitian=True)
    return call(x, **draw(st.sampled_from(bounds)))
