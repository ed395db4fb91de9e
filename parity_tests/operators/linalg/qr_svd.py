"""Records of the operators in `jaxgrad/functional/linalg/qr_svd.py`.

Only quantities that do not depend on the signs of vectors are compared.
"""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import (
    COMPLEX,
    DEPENDENT,
    DEPENDENT_COLUMNS,
    VECTOR,
    WIDE,
    WIDE_MATRIX,
    ZERO_SINGULAR_VALUES,
    distinct_singular_values,
    wide_or_tall,
)


inf, nan = np.inf, np.nan
REFLECTED_INFINITY = PinnedDifference(
    call([[1.0, inf]]),
    {"forward/1": ([[1.0, nan]], [[1.0, inf]]), "gradient/0": (nan, [[nan, inf]])},
    "torch's LAPACK multiplies by 0 where there is nothing to reflect, but JAX's does not",
)


@operator(
    "linalg.qr",
    invariant=lambda q, r: (q @ q.swapaxes(-1, -2), r * r, q[..., :1, :] * q),
    points=[call(DEPENDENT)],
    differences=[REFLECTED_INFINITY],
    forward_mode=DEPENDENT_COLUMNS,
    raises=[
        RaisesFor(call(WIDE_MATRIX, "x"), RuntimeError, "unrecognized mode 'x'"),
        RaisesFor(call(VECTOR), RuntimeError, "at least 2 dim"),
        RaisesFor(call(WIDE_MATRIX.T, "complete"), RuntimeError, "not diff", when="backward"),
    ],
    dtypes=WIDE,
    source="P056 P060",
)
def qr(draw):
    x = wide_or_tall(draw)
    return call(
        x, draw(st.sampled_from(["reduced", "complete"] if len(x) < x.shape[1] else ["reduced"]))
    )


@operator(
    "linalg.svd",
    max_programs=4,
    invariant=lambda u, s, vh: (
        u[..., : s.shape[-1]] ** 2,
        s,
        u[..., : s.shape[-1]] @ vh[..., : s.shape[-1], :],
        vh[..., : s.shape[-1], :] ** 2,
    ),
    points=[call([[-0.0]])],
    differences=[ZERO_SINGULAR_VALUES],
    raises=[RaisesFor(call(VECTOR), RuntimeError, "at least 2 dim")],
    dtypes=WIDE,
    source="P056",
)
def svd(draw):
    return call(distinct_singular_values(draw), draw(st.booleans()))


@operator(
    "linalg.svdvals",
    points=[call([[-0.0]])],
    raises=[RaisesFor(call(VECTOR), RuntimeError, "at least 2 dim")],
    differences=[
        PinnedDifference(
            call([[inf, 1.0]]),
            {
                "gradient/0": ([[1.0, 0.0]], [[-1.0, -0.0]]),
                "tangent/0": (1.0, -1.0),
                "transpose/0": (1.0, -1.0),
            },
            "for an infinite matrix JAX's LAPACK returns singular vectors of the opposite sign",
        )
    ],
    dtypes=COMPLEX,
)
def svdvals(draw):
    return call(distinct_singular_values(draw))


@operator(
    "linalg.householder_product",
    max_programs=3,
    points=[call([[1.0], [inf]], [0.5]), call([[1.0], [2.0]], [0.0])],
    differences=[
        PinnedDifference(
            call([[1.0]], [1.0]),
            {"gradient/1": (nan, -1.0)},
            "torch's gradient divides by 1 - tau |v|^2, which is 0 here, although tau enters "
            "linearly",
        )
    ],
    raises=[
        RaisesFor(call(VECTOR, VECTOR), RuntimeError, "at least 2 dimensions"),
        RaisesFor(call(WIDE_MATRIX, VECTOR), RuntimeError, "must be greater than or equal to"),
        RaisesFor(call(WIDE_MATRIX.T, VECTOR), RuntimeError, "must be greater than or equal to"),
        RaisesFor(
            call(np.ones((2, 3, 2)), np.ones(2)), RuntimeError, "one dimension less than input"
        ),
    ],
    dtypes=COMPLEX,
)
def householder_product(draw):
    k, n, m = sorted(draw(st.integers(1, 4)) for _ in range(3))
    batch = draw(st.sampled_from([(), (2,)]))
    return call(draw(floats((*batch, m, n), -1, 1)), draw(floats((*batch, k), -1, 1)))
