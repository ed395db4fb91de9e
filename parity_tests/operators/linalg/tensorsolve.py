"""Records of the operators in `jaxgrad/functional/linalg/tensorsolve.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import COMPLEX, INFINITE, LAPACKS, VECTOR, regular


nan = np.nan


@operator(
    "linalg.tensorsolve",
    raises=[RaisesFor(call(np.ones((4, 2, 2)), VECTOR), RuntimeError, "satisfy the requirement")],
    dtypes=COMPLEX,
)
def tensorsolve(draw):
    x = regular(draw, 4)
    if draw(st.booleans()):
        return call(x.reshape(2, 2, 4), draw(floats((2, 2))))
    turned = np.moveaxis(x.reshape(4, 2, 2), 1, 0)
    return call(turned, draw(floats(4)), dims=draw(st.sampled_from([(0,), [-3]])))


@operator(
    "linalg.tensorinv",
    differences=[
        PinnedDifference(
            call(np.reshape(INFINITE, (2, 1, 2))),
            {
                "forward/0": (nan, [[[0.0], [0.0]], [[0.0], [0.5]]]),
                "gradient/0": (nan, [[[0.0, 0.0]], [[0.0, -1.0]]]),
            },
            LAPACKS,
        )
    ],
    raises=[
        RaisesFor(call(np.ones((4, 3, 2))), RuntimeError, "satisfy the requirement"),
        RaisesFor(call(np.ones((4, 2, 2)), ind=0), RuntimeError, "strictly positive"),
    ],
    dtypes=COMPLEX,
)
def tensorinv(draw):
    x = regular(draw, 4)
    return draw(st.sampled_from([call(x.reshape(2, 2, 4)), call(x.reshape(4, 2, 2), ind=1)]))
