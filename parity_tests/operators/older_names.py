"""Records of linear algebra under torch's older names, and of what returns an `info`."""

import itertools

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.decompositions import DEPENDENT, DIVIDED, ZEROS, _distinct
from parity_tests.operators.factors import OF_INFINITE
from parity_tests.operators.matrices import INFINITE, LAPACKS, SOLVED_BY_INFINITE, inf, nan


WIDE = ("float64", "float32")
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


def _square(draw, n=None):
    n = draw(st.integers(1, 3)) if n is None else n
    batch = draw(st.sampled_from([(), (2,)]))
    return draw(floats((*batch, n, n), -1, 1)) + 3 * np.eye(n)


def _definite(draw):
    x = _square(draw)
    return x @ np.swapaxes(x, -1, -2)


@operator(
    "linalg.inv_ex",
    dtypes=WIDE,
    points=[call(np.ones((2, 2))), call(np.zeros((2, 2)))],
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
    return call(_square(draw), check_errors=draw(st.booleans()))


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
    x, left = _square(draw), draw(st.booleans())
    n, k = x.shape[-1], draw(st.integers(1, 2))
    y = draw(floats((*x.shape[:-2], *((n, k) if left else (k, n)))))
    return call(x, y, left=left, check_errors=draw(st.booleans()))


@operator(
    "linalg.cholesky_ex",
    dtypes=WIDE,
    forward_mode="torch's forward mode of cholesky takes the tangent as it is",
    differences=[
        PinnedDifference(
            call([[1.0, 2.0], [2.0, 1.0]]),
            {
                "forward/0": ([[1.0, 0.0], [2.0, -3.0]], [[nan, 0.0], [nan, nan]]),
                "gradient/0": ([[-31 / 6, 17 / 6], [17 / 6, -2 / 3]], nan),
            },
            "of what is not positive-definite torch's L is what LAPACK has written until then",
        )
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
    differences=[OF_INFINITE],
    raises=[
        RaisesFor(
            call(SINGULAR, check_errors=True), RuntimeError, torch="U[2,2] is zero", jax="(info=2)"
        ),
    ],
)
def lu_factor_ex(draw):
    return call(_square(draw), pivot=True, check_errors=draw(st.booleans()))


@operator("lu_solve", dtypes=WIDE, max_programs=4)
def lu_solve(draw):
    x = _square(draw)
    lu, pivots = torch.linalg.lu_factor(torch.from_numpy(x))
    b = draw(floats((*x.shape[:-1], draw(st.integers(1, 2)))))
    return call(b, lu.numpy(), pivots.numpy())


@operator(
    "lu_unpack",
    dtypes=WIDE,
    points=[call(np.eye(2, dtype=int), np.array([2, 2], np.int32), unpack_data=False)],
)
def lu_unpack(draw):
    m, n = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    x = draw(floats((*draw(st.sampled_from([(), (2,)])), m, n)))
    lu, pivots = torch.linalg.lu_factor(torch.from_numpy(x))
    return call(lu.numpy(), pivots.numpy(), unpack_pivots=draw(st.booleans()))


@operator(
    "triangular_solve",
    dtypes=WIDE,
    forward_mode="torch's takes the tangent of the whole matrix, of which it reads a triangle",
)
def triangular_solve(draw):
    x = _square(draw)
    b = draw(floats((*x.shape[:-1], draw(st.integers(1, 2)))))
    return call(b, x, *(draw(st.booleans()) for _ in range(3)))


@operator("pinverse", dtypes=WIDE)
def pinverse(draw):
    m, n = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    x = draw(floats((m, n), -1, 1)) + 3 * np.eye(m, n)
    return call(x, *draw(st.sampled_from([(), (1e-3,)])))


@operator(
    "chain_matmul",
    dtypes=WIDE,
    raises=[
        RaisesFor(
            call(), RuntimeError, torch="Expected one or more", jax="Expected one or more matrices"
        )
    ],
)
def chain_matmul(draw):
    sizes = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(2, 5)))]
    return call(*(draw(floats(shape)) for shape in itertools.pairwise(sizes)))


@operator(
    "cross",
    dtypes=WIDE,
    raises=[
        RaisesFor(
            call(np.ones(2), np.ones(2)),
            RuntimeError,
            torch="no dimension of size 3 in input",
            jax="no dimension of size 3 in input: [2]",
        ),
    ],
)
def cross(draw):
    dim = draw(st.sampled_from([0, 1, -1, None]))
    shape = [draw(st.integers(1, 4)), draw(st.integers(1, 4))]
    shape[dim or 0] = 3
    return call(draw(floats(tuple(shape))), draw(floats(tuple(shape))), dim=dim)


def _signless(u, s, v):
    k = s.shape[-1]
    u, v = u[..., :k], v[..., :k]
    return u**2, s, u @ v.swapaxes(-1, -2), v**2


@operator(
    "svd",
    max_programs=4,
    dtypes=WIDE,
    invariant=_signless,
    points=[call([[-0.0]])],
    differences=[ZEROS],
)
def svd(draw):
    return call(_distinct(draw), draw(st.booleans()), draw(st.booleans()))


@operator(
    "qr",
    dtypes=WIDE,
    invariant=lambda q, r: (r * r, q[..., :1, :] * q),
    points=[call(DEPENDENT, False)],
    differences=[
        PinnedDifference(
            call([[1.0, inf]], False),
            {"forward/0": ([[1.0, nan]], [[1.0, inf]]), "gradient/0": (nan, [[nan, inf]])},
            "torch's LAPACK multiplies by 0 where there is nothing to reflect, and JAX's does not",
        )
    ],
    forward_mode=DIVIDED,
)
def qr(draw):
    m = draw(st.integers(1, 3))
    x = draw(floats((m, m + draw(st.integers(0, 1))), -1, 1))
    return call(x + 3 * np.eye(*x.shape), draw(st.booleans()))
