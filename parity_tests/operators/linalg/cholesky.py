"""Records of the operators in `jaxgrad/functional/linalg/cholesky.py`."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import (
    BATCHES,
    UNSYMMETRIC,
    WIDE,
    WIDE_MATRIX,
    regular,
    symmetric,
)


inf, nan = np.inf, np.nan
FILLED = "torch's gradient is not 0 in the triangle that the function ignores"


@operator(
    "linalg.cholesky",
    points=[call([[4.0, 9.0], [1.0, 3.0]]), call([[4.0, 1.0], [9.0, 3.0]], upper=True)],
    raises=[
        RaisesFor(call(WIDE_MATRIX), RuntimeError, "batches of square matrices"),
        RaisesFor(call([[1.0, 2.0], [2.0, 1.0]]), RuntimeError, "not positive-definite"),
    ],
    jax_idioms={"jnp.linalg.cholesky(x)": jnp.linalg.cholesky},
    forward_mode=UNSYMMETRIC,
    dtypes=WIDE,
    source="P055",
)
def cholesky(draw):
    return call(symmetric(draw), upper=draw(st.booleans()))


def _triangle(draw):
    n, upper = draw(st.integers(1, 3)), draw(st.booleans())
    x = regular(draw, n, draw(BATCHES))
    return np.triu(x) if upper else np.tril(x), upper


@operator(
    "cholesky_inverse",
    torch_gradient=True,
    points=[call([[2.0, 5.0], [3.0, 4.0]]), call([[2.0, 5.0], [3.0, 4.0]], True)],
    forward_mode="torch's forward mode ignores a triangle in which its gradient is not 0",
    differences=[
        PinnedDifference(
            call([[2.0, 0.0], [1.0, 3.0]]),
            {
                "gradient/0": (
                    [[-5 / 36, -29 / 108], [-2 / 9, -7 / 54]],
                    [[-5 / 36, 0.0], [-2 / 9, -7 / 54]],
                )
            },
            FILLED,
        ),
        PinnedDifference(
            call(np.full((2, 2), inf)),
            {
                "forward/0": ([[nan, nan], [nan, 0.0]], nan),
                "gradient/0": (nan, [[nan, 0.0], [nan, nan]]),
            },
            "LAPACK multiplies triangles; JAX solves triangular systems instead, which gives 0 * "
            "NaN",
        ),
    ],
    raises=[RaisesFor(call(WIDE_MATRIX), RuntimeError, "batches of square matrices")],
    dtypes=WIDE,
)
def cholesky_inverse(draw):
    return call(*_triangle(draw))


@operator(
    "cholesky_solve",
    torch=torch.cholesky_solve,
    torch_gradient=True,
    points=[
        call([[1.0, 2.0], [2.0, 0.5]], [[[2.0, 0.0], [1.0, 3.0]], [[1.0, 0.0], [1.0, 2.0]]]),
        call([[1.0], [2.0]], [[0.0, 0.0], [1.0, 3.0]]),
        call([[1.0], [2.0]], [[1.0, 0.0], [inf, 3.0]]),
        *(call([[1.0], [2.0]], [[2.0, 5.0], [3.0, 4.0]], upper) for upper in (False, True)),
    ],
    forward_mode="torch's forward mode is wrong if several matrices share one right-hand side",
    differences=[
        PinnedDifference(
            call([[1.0], [0.0]], [[2.0, 0.0], [1.0, 3.0]]),
            {
                "gradient/1": (
                    [[-2 / 9, -1 / 9], [-1 / 18, 1 / 18]],
                    [[-2 / 9, 0.0], [-1 / 18, 1 / 18]],
                )
            },
            FILLED,
        )
    ],
    raises=[RaisesFor(call(np.ones((3, 1)), np.eye(2)), RuntimeError, "Incompatible matrix sizes")],
    dtypes=WIDE,
)
def cholesky_solve(draw):
    x, upper = _triangle(draw)
    return call(draw(floats((x.shape[-1], draw(st.integers(1, 2))))), x, upper)
