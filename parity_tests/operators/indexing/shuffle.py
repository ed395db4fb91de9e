"""Records of the operators in `jaxgrad/functional/indexing/shuffle.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes


@operator(
    "pixel_shuffle",
    raises=[
        RaisesFor(call(np.ones((3, 1, 1)), 2), RuntimeError, "divisible"),
        RaisesFor(call(np.ones((4, 1)), 2), RuntimeError, "at least 3"),
    ],
)
def pixel_shuffle(draw):
    r, (c, h, w) = draw(st.integers(1, 3)), draw(shapes(low=3, high=3, side=3))
    return call(draw(floats((*draw(shapes(high=2, side=2)), c * r * r, h, w))), r)


@operator(
    "pixel_unshuffle",
    raises=[
        RaisesFor(call(np.ones((1, 3, 2)), 2), RuntimeError, "divisible"),
        RaisesFor(call(np.ones((4, 1)), 2), RuntimeError, "at least 3"),
    ],
)
def pixel_unshuffle(draw):
    r, (c, h, w) = draw(st.integers(1, 3)), draw(shapes(low=3, high=3, side=3))
    return call(draw(floats((*draw(shapes(high=2, side=2)), c, h * r, w * r))), r)


@operator(
    "channel_shuffle",
    raises=[RaisesFor(call(np.ones((1, 3, 2)), 2), RuntimeError, "divisible")],
)
def channel_shuffle(draw):
    groups = draw(st.integers(1, 3))
    shape = (draw(st.integers(1, 2)), groups * 2, *draw(shapes(low=1, high=2)))
    return call(draw(floats(shape)), groups)
