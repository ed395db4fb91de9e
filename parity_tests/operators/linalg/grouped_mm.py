"""Record of the operator in `jaxgrad/functional/linalg/grouped_mm.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats


# torch's kernel rejects float64, and rows that do not begin at multiples of 16 bytes.
ROWS, COLUMNS = np.ones((8, 16), "f4"), np.ones((16, 8), "f4")
GROUPS = np.ones((3, 16, 8), "f4")
ENDS = np.array([1, 4, 8], "i4")
INF_IN_ONE_GROUP = np.where(np.arange(8)[:, None] == 2, np.float32(np.inf), ROWS)


@operator(
    "grouped_mm",
    points=[
        call(ROWS, GROUPS, offs=np.array([0, 3, 8], "i4")),
        call(INF_IN_ONE_GROUP, GROUPS, offs=ENDS),
        call(COLUMNS, ROWS, offs=np.array([4, 4, 8], "i4")),
    ],
    raises=[
        RaisesFor(call(ROWS, GROUPS), RuntimeError, "Have to provide offsets"),
        RaisesFor(call(GROUPS, GROUPS.swapaxes(1, 2), offs=ENDS), RuntimeError, "no offset if"),
        RaisesFor(call(ROWS, GROUPS, offs=ENDS.astype("i8")), RuntimeError, "have to be int32"),
        RaisesFor(call(ROWS, GROUPS[:, :12], offs=ENDS), RuntimeError, "dimension of mat_a and"),
        RaisesFor(call(ROWS, GROUPS, offs=ENDS[:2]), RuntimeError, "batch sizes have to match"),
        RaisesFor(call(ROWS[0], GROUPS, offs=ENDS), RuntimeError, "has to be 2 or 3d"),
        RaisesFor(
            call(GROUPS[:2].swapaxes(1, 2), GROUPS), RuntimeError, "batched dimension has to match"
        ),
        RaisesFor(
            call(ROWS, GROUPS, offs=ENDS, bias=np.ones(8, "f4")),
            RuntimeError,
            torch="Bias not supported yet",
            jax="bias is not supported, as in torch: leave it out",
        ),
    ],
    dtypes=("float32", "bfloat16", "float16"),
)
def grouped_mm(draw):
    """Draw the ranks of both operands, and the ends of the groups."""
    groups, m, k, n = 2, 8, 16, 8
    left, right = draw(st.sampled_from([(2, 3), (3, 3), (2, 2), (3, 2)]))
    divided = {(2, 3): m, (2, 2): k, (3, 2): n}.get((left, right))
    first = draw(floats((m, k) if left == 2 else (groups, m, k)))
    second = draw(floats((k, n) if right == 2 else (groups, k, n)))
    if divided is None:
        return call(first, second)
    return call(first, second, offs=np.array([draw(st.integers(0, divided)), divided], "i4"))
