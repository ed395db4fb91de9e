"""Records of the operators in `jaxgrad/functional/linalg/legacy_names.py`."""

import itertools

import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import REMOVED_QR
from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import (
    DEPENDENT,
    DEPENDENT_COLUMNS,
    WIDE,
    ZERO_SINGULAR_VALUES,
    diagonally_dominant,
    distinct_singular_values,
)


inf, nan = np.inf, np.nan


@operator("lu_solve", dtypes=WIDE, max_programs=4)
def lu_solve(draw):
    x = diagonally_dominant(draw)
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
    forward_mode=(
        "torch's forward mode uses the whole tangent, although the function reads one triangle"
    ),
)
def triangular_solve(draw):
    x = diagonally_dominant(draw)
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
    differences=[ZERO_SINGULAR_VALUES],
)
def svd(draw):
    return call(distinct_singular_values(draw), draw(st.booleans()), draw(st.booleans()))


@operator(
    "qr",
    dtypes=WIDE,
    removed=REMOVED_QR,
    invariant=lambda q, r: (r * r, q[..., :1, :] * q),
    points=[call(DEPENDENT, False)],
    differences=[
        PinnedDifference(
            call([[1.0, inf]], False),
            {"forward/0": ([[1.0, nan]], [[1.0, inf]]), "gradient/0": (nan, [[nan, inf]])},
            "torch's LAPACK multiplies by 0 where there is nothing to reflect, but JAX's does not",
        )
    ],
    forward_mode=DEPENDENT_COLUMNS,
)
def qr(draw):
    m = draw(st.integers(1, 3))
    x = draw(floats((m, m + draw(st.integers(0, 1))), -1, 1))
    return call(x + 3 * np.eye(*x.shape), draw(st.booleans()))
