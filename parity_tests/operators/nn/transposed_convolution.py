"""Records of the operators in `jaxgrad/functional/nn/transposed_convolution.py`."""

import jax
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, one_or_each
from parity_tests.operators.nn._shared import DTYPES, KERNEL, SIGNAL, TWO, WEIGHT


inf, nan = np.inf, np.nan


def _transposed(draw, places):
    groups = draw(st.integers(1, 2))
    batch = draw(st.sampled_from([(), (2,)]))
    kernel = draw(st.tuples(*[st.integers(2, 3)] * places))
    depth, out = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    stride = draw(st.integers(1, 3))
    return call(
        draw(floats((*batch, groups * depth, *[3 - (i > 1) for i in range(places)]))),
        draw(floats((groups * depth, out, *kernel))),
        draw(st.one_of(floats((groups * out,)), st.none())),
        stride=stride,
        padding=one_or_each(draw, places, 0, 1),
        output_padding=draw(st.integers(0, stride - 1)),
        groups=groups,
        dilation=one_or_each(draw, places, 1, 2),
    )


def _jax_transpose(x, w, *_, stride=1, **__):
    """Convolve without flipping the kernel or swapping its channels."""
    numbers = ("NCH", "IOH", "NCH")
    return jax.lax.conv_transpose(x, w, (stride,), "VALID", dimension_numbers=numbers)


@operator(
    "conv_transpose1d",
    points=[
        call(SIGNAL, KERNEL),
        call(SIGNAL, KERNEL, stride=2, padding=1, output_padding=1),
        call(SIGNAL, KERNEL, padding=2),
        call(SIGNAL, [[[inf, 10.0, nan]]], padding=1),
        call([[[1.0, nan], [1.0, 2.0]]], [[[1.0, inf]], [[3.0, 4.0]]], padding=1, groups=2),
    ],
    raises=[
        RaisesFor(
            call(TWO, np.ones((2, 3, 3)), output_padding=1),
            RuntimeError,
            "output padding must be smaller",
        ),
        RaisesFor(call(TWO, np.ones((2, 3, 3)), padding=4), RuntimeError, "too small"),
        RaisesFor(call(TWO, WEIGHT), RuntimeError, "have 3 channels"),
        RaisesFor(call(TWO, np.ones((2, 3, 3)), np.ones(2)), RuntimeError, "with 3 elements"),
        RaisesFor(call(TWO, np.ones((2, 3, 3)), groups=3), RuntimeError, "at least 3"),
        RaisesFor(call(TWO, np.ones((2, 3, 3)), output_padding=-1), RuntimeError, "output_padding"),
    ],
    jax_idioms={'lax.conv_transpose(x, w, stride, "VALID")': _jax_transpose},
    dtypes=DTYPES,
    source="P074 P075",
)
def conv_transpose1d(draw):
    return _transposed(draw, 1)


@operator("conv_transpose2d", source="P074 P075")
def conv_transpose2d(draw):
    return _transposed(draw, 2)


@operator("conv_transpose3d", source="P074 P075")
def conv_transpose3d(draw):
    return _transposed(draw, 3)
