"""Records of the operators in `jaxgrad/functional/linalg/addmm.py`."""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, Sample, call, operator
from parity_tests.operators.linalg._shared import BATCH, VECTOR, WIDE_MATRIX, shaped


inf, nan = np.inf, np.nan


def _added(*letters: str) -> Callable[..., Sample]:
    def strategy(draw):
        sample = shaped(*letters)(draw)
        x = sample.args[0]
        x = draw(st.sampled_from([x, x[..., :1], x[(0,) * (x.ndim - 1)]]))
        beta, alpha = (draw(st.sampled_from([1, 0, 0.5, -2.0])) for _ in range(2))
        return call(x, *sample.args[1:], beta=beta, alpha=alpha)

    return strategy


operator(
    "addmm",
    points=[call([[nan]], [[1.0]], [[2.0]], beta=0)],
    raises=[
        RaisesFor(call(WIDE_MATRIX, VECTOR, WIDE_MATRIX), RuntimeError, "must be a matrix"),
        RaisesFor(
            call(WIDE_MATRIX, WIDE_MATRIX, WIDE_MATRIX), RuntimeError, "cannot be multiplied"
        ),
    ],
)(_added("ik", "ij", "jk"))


operator(
    "addmv",
    raises=[RaisesFor(call(VECTOR, VECTOR, VECTOR), RuntimeError, "matrix @ vector expected")],
)(_added("i", "ij", "j"))


operator(
    "addr",
    raises=[
        RaisesFor(
            call(WIDE_MATRIX, WIDE_MATRIX, VECTOR), RuntimeError, "Expected 1-D argument vec1"
        )
    ],
)(_added("ij", "i", "j"))


operator(
    "baddbmm",
    raises=[RaisesFor(call(BATCH, BATCH, BATCH), RuntimeError, "first two dimensions of")],
)(_added("bik", "bij", "bjk"))


operator(
    "addbmm",
    points=[
        call(
            [[1.0, 2.0], [3.0, 4.0]],
            [[[inf, 1.0], [0.0, 1.0]]],
            [[[1.0, nan], [0.0, 1.0]]],
            alpha=0,
        )
    ],
    raises=[RaisesFor(call(VECTOR, WIDE_MATRIX, BATCH), RuntimeError, "must be a 3D tensor")],
)(_added("ik", "bij", "bjk"))
