"""Records of fake quantization."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import Raises, call, operator
from parity_tests.operators._harness.draw import floats, integers


nan, inf = np.nan, np.inf
EDGES = [-2.25, -2.0, -1.75, 0.25, 0.75, -0.0, 1.5, 1.75, 1.76, nan, inf, -inf, 1e30, -1e30]
ONE = np.ones(2, np.float32)


def _rounded(x, scale, zero_point, low, high):
    return (jnp.clip(jnp.round(x / scale) + zero_point, low, high) - zero_point) * scale


@operator(
    "fake_quantize_per_tensor_affine",
    elementwise=True,
    points=[call(EDGES, 0.5, 0, -4, 3)],
    natural={"a scaled jnp.round": _rounded},
    raises=[
        Raises(call(ONE, 0.1, 0, 5, 2), RuntimeError, "`quant_min` should be less", "5 and 2"),
        Raises(call(ONE, 0.1, 9, 0, 5), RuntimeError, "`zero_point` must be", "9 is not in [0, 5]"),
        Raises(call(np.ones(2, int), 0.1, 0, 0, 5), NotImplementedError, "not implemented for",
               "fake_quantize_per_tensor_affine is not implemented for int64"),
    ],
)  # fmt: skip
def fake_quantize_per_tensor_affine(draw):
    low = draw(st.integers(-8, 0))
    return call(
        draw(floats()), draw(st.sampled_from([0.1, 0.25, 0.3])), draw(st.integers(low, 8)), low, 8
    )


def _per_channel(input, scale, zero_point, axis, quant_min, quant_max):
    """The scale has no gradient: it is drawn as integers, as that of no other is."""
    return torch.fake_quantize_per_channel_affine(
        input, scale.float(), zero_point.int(), axis, quant_min, quant_max
    )


@operator(
    "fake_quantize_per_channel_affine",
    torch=_per_channel,
    raises=[
        Raises(call(ONE, ONE[:1], np.zeros(1, int), 0, 0, 5), RuntimeError,
               "not consistent with input", "[1], [1] and 2 channels"),
        Raises(call(ONE, ONE, np.zeros(2, int), 1, 0, 5), IndexError, "Dimension out of range",
               "[-1, 0], but got 1"),
    ],
)  # fmt: skip
def fake_quantize_per_channel_affine(draw):
    x = 10 * draw(floats(dims=1))
    axis = draw(st.integers(0, x.ndim - 1))
    shape = x.shape[axis : axis + 1]
    return call(x, draw(integers(shape, 1, 4)), draw(integers(shape, -4, 4)), axis, -8, 8)
