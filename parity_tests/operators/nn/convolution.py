"""Records of the operators in `jaxgrad/functional/nn/convolution.py`."""

import jax
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, one_or_each
from parity_tests.operators.nn._shared import DTYPES, KERNEL, SIGNAL, TWO, WEIGHT


inf, nan = np.inf, np.nan


def _conv(draw, places):
    groups = draw(st.integers(1, 2))
    batch = draw(st.sampled_from([(), (2,)]))
    side = 5 if places == 1 else 4
    kernel = draw(st.tuples(*[st.integers(1, 2)] * places))
    depth, out = draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    stride = one_or_each(draw, places, 1, 2)
    plain = stride == 1 or stride == (1,) * places
    words = ["valid", "same"] if plain else ["valid"]
    return call(
        draw(floats((*batch, groups * depth, *[side - (i > 0) for i in range(places)]))),
        draw(floats((out, depth, *kernel))),
        draw(st.one_of(floats((out,)), st.none())),
        stride,
        draw(st.sampled_from([0, 1, 2, *words])),
        dilation=one_or_each(draw, places, 1, 2),
        groups=groups,
    )


def _same(x, w, *_, stride=1, **__):
    return jax.lax.conv_general_dilated(x, w, (stride,), "SAME")


@operator(
    "conv1d",
    points=[
        call(SIGNAL, KERNEL, stride=2, padding=1),
        call([[[1.0, inf, nan, 0.0, 0.0]]], [[[1.0, 0.0]]]),
        call([[[1.0, 2.0, 3.0]]], [[[inf, 1.0, 2.0]]], padding=1),
        call([[[1.0, 2.0, 3.0]]], [[[inf]]], padding=1),
        call(np.zeros((0, 2, 5)), WEIGHT),
    ],
    raises=[
        RaisesFor(call(TWO, WEIGHT, groups=2), RuntimeError, "divisible by 2"),
        RaisesFor(call(TWO, WEIGHT[:, :1]), RuntimeError, "to have 1 channels"),
        RaisesFor(call(TWO, WEIGHT, np.ones(2)), RuntimeError, "with 3 elements"),
        RaisesFor(
            call(TWO, WEIGHT.astype("f4")), RuntimeError, torch="scalar type", jax="same dtype"
        ),
        RaisesFor(call(TWO[..., :2], WEIGHT), RuntimeError, "Kernel size"),
        RaisesFor(call(TWO, WEIGHT, stride=0), RuntimeError, "stride"),
        RaisesFor(call(TWO, WEIGHT, padding=-1), RuntimeError, "negative padding"),
        RaisesFor(call(TWO, WEIGHT, padding="same", stride=2), RuntimeError, "strided"),
        RaisesFor(call(TWO, WEIGHT, padding="all"), RuntimeError, "padding string"),
        RaisesFor(call(TWO[0, 0], WEIGHT), RuntimeError, "Expected 2D"),
        RaisesFor(call(TWO, WEIGHT, stride=(1, 2)), RuntimeError, "single integer"),
        RaisesFor(call(TWO, WEIGHT[0]), RuntimeError, "weight should have"),
    ],
    jax_idioms={'lax.conv_general_dilated(x, w, stride, "SAME")': _same},
    dtypes=DTYPES,
    source="P076",
)
def conv1d(draw):
    return _conv(draw, 1)


@operator(
    "conv2d",
    points=[
        call(np.ones((1, 1, 2, 2)), [[[[inf]]]], padding=1),
        # NaN and inf must stay in their group.
        call([[[[1.0, nan, 2.0]], [[1.0, 2.0, 3.0]]]], [[[[1.0, inf]]], [[[3.0, 4.0]]]], groups=2),
    ],
    dtypes=DTYPES,
    source="P076",
)
def conv2d(draw):
    return _conv(draw, 2)


@operator("conv3d", source="P076")
def conv3d(draw):
    return _conv(draw, 3)
