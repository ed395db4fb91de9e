"""Records of the operators in `jaxgrad/functional/indexing/where_mask.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, masks
from parity_tests.operators.indexing._shared import SRC, X


inf, nan = np.inf, np.nan


@operator(
    "masked_select",
    max_programs=5,
    jit=False,
    points=[call(X, np.array([True, False, True]))],
    raises=[RaisesFor(call(X, np.array([1, 0, 1])), RuntimeError, "BoolTensor")],
)
def masked_select(draw):
    x = draw(floats())
    return call(x, draw(masks(x.shape)))


@operator(
    "masked_scatter",
    torch=torch.masked_scatter,
    points=[call(X, np.array([True, False, True]), np.arange(9.0))],
    raises=[
        RaisesFor(call(X, X > -1, np.ones(2)), RuntimeError, "Number of elements"),
        RaisesFor(
            call(X, X > 1, SRC.astype("f4")), RuntimeError, torch="same dtypes", jax="same dtype"
        ),
    ],
)
def masked_scatter(draw):
    x = draw(floats())
    return call(x, draw(masks(x.shape)), draw(floats((x.size + draw(st.integers(0, 2)),))))


@operator(
    "where",
    points=[call(np.array([True, False]), [inf, 1.0], [1.0, nan])],
    raises=[RaisesFor(call(np.ones(2), np.ones(2), np.ones(2)), RuntimeError, "condition")],
    source="P022",
)
def where(draw):
    a, b, c = draw(broadcast(3))
    return call(draw(masks(a)), draw(floats(b)), draw(floats(c)))


@operator(
    "masked_fill",
    torch=torch.Tensor.masked_fill,
    points=[call([1.0, nan], np.array([False, True]), 0.0)],
    raises=[
        RaisesFor(call(np.ones(2), np.ones(2), 0.0), RuntimeError, "boolean mask"),
        RaisesFor(
            call(np.ones(2), np.ones(2) > 0, np.ones(2)), RuntimeError, "0-dimensional value"
        ),
    ],
)
def masked_fill(draw):
    a, b = draw(broadcast())
    return call(draw(floats(a)), draw(masks(b)), draw(st.one_of(st.floats(-1, 1), floats(()))))
