"""Records of the operators in `jaxgrad/functional/pooling/average.py`."""

import jax
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.pooling._shared import REAL, SAME, SQUARE, image_shape


inf = np.inf
WITHOUT_NAN = [[[inf, -inf, 1.0, 2.0]]]


def _avg(draw, places):
    kernel = draw(st.integers(1, 3))
    more = {"divisor_override": draw(st.sampled_from([None, 5]))} if places > 1 else {}
    return call(
        draw(floats(image_shape(draw, places))),
        kernel,
        draw(st.sampled_from([None, 1, 2, (2,) * places])),
        draw(st.integers(0, kernel // 2)),
        ceil_mode=draw(st.booleans()),
        count_include_pad=draw(st.booleans()),
        **more,
    )


@operator(
    "avg_pool1d",
    points=[call(SAME, 3, 2, 1, True), call(SAME, 3, 2, 1, True, False), call(WITHOUT_NAN, 2)],
    raises=[
        RaisesFor(call(SAME, 3, 2, 2), RuntimeError, "at most half"),
        RaisesFor(call(SAME, 5), RuntimeError, "too small"),
        RaisesFor(call(np.zeros((2, 0, 4)), 2), RuntimeError, "batch"),
    ],
    jax_idioms={
        "flax.linen.avg_pool(x, ..., padding)": lambda x, k, s=None, p=0, *_, **__: (
            jax.lax.reduce_window(
                x, 0.0, jax.lax.add, (1, 1, k), (1, 1, s or k), ((0, 0), (0, 0), (p, p + (p > 0)))
            )
            / k
        )
    },
    source="P083",
)
def avg_pool1d(draw):
    return _avg(draw, 1)


@operator(
    "avg_pool2d",
    points=[call(SQUARE, 3, 2, 1, True, True, 5), call(SQUARE, 2, ())],
    raises=[RaisesFor(call(SQUARE, 2, divisor_override=0), RuntimeError, "divisor must be")],
    source="P083",
)
def avg_pool2d(draw):
    return _avg(draw, 2)


@operator("avg_pool3d", dtypes=REAL, source="P083")
def avg_pool3d(draw):
    return _avg(draw, 3)
