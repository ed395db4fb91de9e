"""Records of the operators in `jaxgrad/functional/pointwise/lerp_addcmul.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats


inf, nan = np.inf, np.nan


@operator(
    "lerp",
    points=[
        call([1.0, 2.0], [3.0, inf], [0.5, 0.0]),
        call([inf, 1.0, nan], [1.0, inf, 2.0], [0.25, 0.75, 1.0]),
        call([inf, nan], [3.0, 1.0], 0.25),
        call([1.0, 2.0], [3.0, 5.0], np.array(2)),
    ],
    differences=[
        PinnedDifference(
            call([1.0, 1.0], [3.0], [inf]),
            {"tangent/0": ([nan, -inf], nan)},
            "torch's forward mode is lerp of the tangents; its gradient uses 1 - weight and weight",
        )
    ],
)
def lerp(draw):
    a, b, c = draw(broadcast(3))
    weight = draw(st.one_of(st.floats(0, 1), floats(c)))
    return call(draw(floats(a)), draw(floats(b)), weight)


def three(draw, low):
    shapes = draw(broadcast(3))
    value = draw(st.sampled_from([1, 0.5, -2]))
    x, a, b = (draw(floats(shape, low=low)) for shape in shapes)
    return call(x, a, b, value=value)


@operator("addcmul", elementwise=True, points=[call([1.0, 0.0], [inf, 0.0], [0.0, nan])])
def addcmul(draw):
    return three(draw, -3)


@operator(
    "addcdiv",
    elementwise=True,
    points=[call([1.0, 0.0, 1.0], [inf, 0.0, 1.0], [0.0, nan, 1e200])],
    raises=[RaisesFor(call(np.ones(2), np.arange(2), np.arange(2)), RuntimeError, "addcdiv")],
)
def addcdiv(draw):
    return three(draw, 0.3)
