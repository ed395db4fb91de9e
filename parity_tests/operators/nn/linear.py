"""Records of the operators in `jaxgrad/functional/nn/linear.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes


nan = np.nan


@operator(
    "linear",
    points=[
        call(np.ones((0, 3)), np.ones((2, 3))),
        call(np.ones((2, 3)), np.ones(3)),
        call([1.0, nan], np.ones((3, 2)), [0.0, 1.0, nan]),
    ],
    raises=[
        RaisesFor(call(np.ones((2, 3)), np.ones((4, 2))), RuntimeError, "multiplied"),
        RaisesFor(
            call(np.ones((2, 3)), np.ones((4, 3)), np.ones(3)), RuntimeError, "expanded size"
        ),
        RaisesFor(call(np.ones((2, 3)), np.ones((4, 3), "f4")), RuntimeError, "same dtype"),
        RaisesFor(call(np.array(2.0), np.ones((4, 3))), RuntimeError, "at least 1D"),
    ],
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
)
def linear(draw):
    size, out = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    bias = draw(st.one_of(floats((out,)), st.none()))
    return call(draw(floats((*draw(shapes()), size))), draw(floats((out, size))), bias)


@operator(
    "bilinear",
    raises=[
        RaisesFor(
            call(np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3, 3))),
            RuntimeError,
            "does not match weight size",
        ),
        RaisesFor(
            call(np.ones((2, 3)), np.ones((3, 4)), np.ones((5, 3, 4))),
            RuntimeError,
            "batch dimensions",
        ),
        RaisesFor(
            call(np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3, 4)), np.ones(4)),
            RuntimeError,
            "got 4 but expected 5",
        ),
        RaisesFor(
            call(np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3, 4)), np.ones(5, "f4")),
            RuntimeError,
            torch="same dtype",
            jax="bias of float32",
        ),
    ],
)
def bilinear(draw):
    batch = draw(shapes(high=2))
    one, two, out = (draw(st.integers(1, 3)) for _ in range(3))
    return call(
        draw(floats((*batch, one))),
        draw(floats((*batch, two))),
        draw(floats((out, one, two))),
        draw(st.one_of(floats((out,)), st.none())),
    )
