"""Records of the operators in `jaxgrad/functional/linalg/solve_lstsq.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import (
    COMPLEX,
    EYE,
    SINGULAR,
    SOLVED_BY_INFINITE,
    VECTOR,
    WIDE_MATRIX,
    regular,
    wide_or_tall,
)


inf, nan = np.inf, np.nan
TALL = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 3.0]])


@operator(
    "linalg.solve",
    max_programs=4,
    differences=[SOLVED_BY_INFINITE],
    raises=[
        RaisesFor(call(SINGULAR, VECTOR), RuntimeError, "because the input matrix is singular"),
        RaisesFor(call(EYE, VECTOR), RuntimeError, "Incompatible shapes of A and B"),
        RaisesFor(call(WIDE_MATRIX, WIDE_MATRIX), RuntimeError, "batches of square matrices"),
    ],
    dtypes=COMPLEX,
    source="P059",
)
def solve(draw):
    n, k = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    batch = draw(st.sampled_from([(), (2,)]))
    x = regular(draw, n, batch)
    left = draw(st.booleans())
    one = (n, k) if left else (k, n)
    shapes = [(2, *one)] if batch else [one, (2, *one)]
    if left:
        shapes.append((*batch, n))
    return call(x, draw(floats(draw(st.sampled_from(shapes)))), left=left)


@operator(
    "linalg.solve_triangular",
    points=[call([[0.0]], [[1.0]], upper=True)],
    raises=[
        RaisesFor(
            call(EYE, np.ones((3, 1)), upper=True),
            RuntimeError,
            "Incompatible shapes of A and B",
        )
    ],
    dtypes=COMPLEX,
)
def solve_triangular(draw):
    n, k = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    left, upper, unit = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    x = regular(draw, n, draw(st.sampled_from([(), (2,)])))
    x = np.triu(x) if upper else np.tril(x)
    b = draw(floats((n, k) if left else (k, n)))
    return call(x, b, upper=upper, left=left, unitriangular=unit)


@operator(
    "linalg.lstsq",
    max_programs=4,
    points=[
        call([[1.0, 0.0], [0.0, 2.0]], [[1.0, inf], [1.0, 2.0]]),
        call(TALL, [[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]], driver="gels"),
        call(TALL, [[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]], driver="gelsd"),
        call(np.transpose(TALL), EYE, driver="gelss"),
    ],
    differences=[
        PinnedDifference(
            call([[inf]], [[1.0]]),
            {"forward/0": (nan, 0.0), "forward/2": (1, 0)},
            "torch's LAPACK divides the matrix by its largest element and counts the NaN in the "
            "rank",
        )
    ],
    raises=[
        RaisesFor(call(WIDE_MATRIX, np.ones((3, 1))), RuntimeError, "should match other.size(-2)"),
        RaisesFor(call(EYE, EYE, driver="qr"), RuntimeError, "parameter `driver` should be one of"),
    ],
    torch=torch.linalg.lstsq,
    dtypes=COMPLEX,
)
def lstsq(draw):
    x = wide_or_tall(draw)
    x = np.stack([x, x + 0.1]) if draw(st.booleans()) else x
    more = draw(st.sampled_from([{}, {"rcond": 1e-3}]))
    return call(x, draw(floats((*x.shape[:-1], draw(st.integers(1, 2))))), **more)
