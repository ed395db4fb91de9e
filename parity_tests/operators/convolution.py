"""Records of convolutions, transposed ones and folds."""

import jax
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats


inf, nan = np.inf, np.nan
SIGNAL = np.array([[[1.0, 2.0, 3.0, 4.0]]])
KERNEL = np.array([[[1.0, 10.0, 100.0]]])
TWO = np.ones((1, 2, 5))
WEIGHT = np.ones((3, 2, 3))
KINDS = ("float64", "float32", "bfloat16", "float16", "complex128")


def _size(draw, places, low, high):
    """One number, or one for each dim."""
    several = st.tuples(*[st.integers(low, high)] * places)
    return draw(st.one_of(st.integers(low, high), several))


def _conv(draw, places):
    groups = draw(st.integers(1, 2))
    batch = draw(st.sampled_from([(), (2,)]))
    side = 5 if places == 1 else 4
    kernel = draw(st.tuples(*[st.integers(1, 2)] * places))
    depth, out = draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    stride = _size(draw, places, 1, 2)
    plain = stride == 1 or stride == (1,) * places
    words = ["valid", "same"] if plain else ["valid"]
    return call(
        draw(floats((*batch, groups * depth, *[side - (i > 0) for i in range(places)]))),
        draw(floats((out, depth, *kernel))),
        draw(st.one_of(floats((out,)), st.none())),
        stride,
        draw(st.sampled_from([0, 1, 2, *words])),
        dilation=_size(draw, places, 1, 2),
        groups=groups,
    )


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
        padding=_size(draw, places, 0, 1),
        output_padding=draw(st.integers(0, stride - 1)),
        groups=groups,
        dilation=_size(draw, places, 1, 2),
    )


def _same(x, w, *_, stride=1, **__):
    return jax.lax.conv_general_dilated(x, w, (stride,), "SAME")


def _jax_transpose(x, w, *_, stride=1, **__):
    """The kernel as it is: neither flipped nor with its channels swapped."""
    numbers = ("NCH", "IOH", "NCH")
    return jax.lax.conv_transpose(x, w, (stride,), "VALID", dimension_numbers=numbers)


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
    dtypes=KINDS,
    source="P076",
)
def conv1d(draw):
    return _conv(draw, 1)


@operator(
    "conv2d",
    points=[
        call(np.ones((1, 1, 2, 2)), [[[[inf]]]], padding=1),
        # What is not finite stays in its group.
        call([[[[1.0, nan, 2.0]], [[1.0, 2.0, 3.0]]]], [[[[1.0, inf]]], [[[3.0, 4.0]]]], groups=2),
    ],
    dtypes=KINDS,
    source="P076",
)
def conv2d(draw):
    return _conv(draw, 2)


@operator("conv3d", source="P076")
def conv3d(draw):
    return _conv(draw, 3)


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
    dtypes=KINDS,
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


IMAGE = np.ones((1, 2, 4, 4))


@operator(
    "unfold",
    points=[call([[[[1.0, inf], [nan, 0.0]]]], 1, padding=1)],
    raises=[
        RaisesFor(call(IMAGE, 5), RuntimeError, "at least one"),
        RaisesFor(call(IMAGE, 0), RuntimeError, "greater than zero"),
    ],
)
def unfold(draw):
    shape = (*draw(st.sampled_from([(), (2,)])), draw(st.integers(1, 2)), 4, 3)
    options = {"dilation": (1, 2), "padding": (0, 1), "stride": (1, 2)}
    given = {name: _size(draw, 2, *bounds) for name, bounds in options.items()}
    return call(draw(floats(shape)), _size(draw, 2, 1, 2), **given)


BLOCKS = np.ones((1, 8, 9))


@operator(
    "fold",
    raises=[
        RaisesFor(call(BLOCKS, (4, 5), 2), RuntimeError, torch="3 * 4 = 12", jax="blocks 12"),
        RaisesFor(call(BLOCKS[:, :7], 4, 2), RuntimeError, "to be divisible"),
    ],
)
def fold(draw):
    stride, dilation, padding = (draw(st.integers(*b)) for b in ((1, 2), (1, 2), (0, 1)))
    kernel, size = (draw(st.integers(1, 2)), 2), (4, draw(st.integers(3, 5)))
    blocks = [
        (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        for n, k in zip(size, kernel, strict=True)
    ]
    shape = (*draw(st.sampled_from([(), (2,)])), 2 * kernel[0] * 2, blocks[0] * blocks[1])
    options = {"dilation": dilation, "padding": padding, "stride": stride}
    return call(draw(floats(shape)), size, kernel, **options)
