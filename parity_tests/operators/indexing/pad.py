"""Record of the operator in `jaxgrad/functional/indexing/pad.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes


inf, nan = np.inf, np.nan
LINE = np.arange(5.0).reshape(1, 1, 5)


@operator(
    "pad",
    points=[
        call([1.0, nan, inf], (1, -1)),
        call([1.0, 2.0], (1, 1), value=inf),
        call(LINE, (5, 5), "circular"),
        call(LINE, (-1, 2), "replicate"),
        call(LINE, (4, -1), "reflect"),
        call(LINE, (-1, 2), "circular"),
        call(LINE, (2, -1), "circular"),
        call(LINE, (-2, -3), "circular"),
        call(np.arange(12.0).reshape(1, 3, 4), (-1, 2, 1, -1), "circular"),
    ],
    raises=[
        RaisesFor(call(LINE, (1,)), RuntimeError, "divisible by 2"),
        RaisesFor(call(LINE, (1,) * 8), RuntimeError, "length 8"),
        RaisesFor(
            call(LINE, (-3, -3)), RuntimeError, torch="non-negative", jax="negative output size"
        ),
        RaisesFor(call(LINE, (5, 1), "reflect"), RuntimeError, "less than"),
        RaisesFor(call(LINE, (6, 1), "circular"), RuntimeError, "more than once"),
        RaisesFor(
            call(LINE, (-3, 3), "circular"),
            RuntimeError,
            torch="unsupported operation",
            jax="wrapping around more than once: (-3, 3) of 2",
        ),
        RaisesFor(
            call(LINE, (-2, -4), "circular"),
            RuntimeError,
            torch="resulting in an empty dimension",
            jax="would have the size -1",
        ),
        RaisesFor(call(LINE, (-2, -3), "replicate"), RuntimeError, "is too small"),
        RaisesFor(call(LINE, (-2, -3), "reflect"), RuntimeError, "is too small"),
        RaisesFor(call(LINE, (1, 1), "edge"), NotImplementedError, "mode edge"),
        RaisesFor(call(LINE, (1, 1), "reflect", 1.0), RuntimeError, "value argument"),
        RaisesFor(
            call(LINE, (1,) * 6, "reflect"),
            NotImplementedError,
            torch="not supported for 3D",
            jax="Only 2D",
        ),
    ],
)
def pad(draw):
    if draw(st.booleans()):
        shape = draw(shapes(low=1))
        count = draw(st.integers(1, len(shape)))
        ends = draw(st.lists(st.integers(0, 2), min_size=2 * count, max_size=2 * count))
        return call(draw(floats(shape)), ends, value=draw(st.sampled_from([None, 1.5])))
    places = draw(st.integers(1, 3))
    shape = (*draw(shapes(low=1, high=2, side=2)), *[3] * places)
    ends = draw(st.lists(st.integers(0, 2), min_size=2 * places, max_size=2 * places))
    return call(
        draw(floats(shape)), ends, draw(st.sampled_from(["reflect", "replicate", "circular"]))
    )
