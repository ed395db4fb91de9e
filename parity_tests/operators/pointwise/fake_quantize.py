"""Records of the operators in `jaxgrad/functional/pointwise/fake_quantize.py`."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, integers


inf, nan = np.inf, np.nan
EDGES = [-2.25, -2.0, -1.75, 0.25, 0.75, -0.0, 1.5, 1.75, 1.76, nan, inf, -inf, 1e30, -1e30]
ONE = np.ones(2, np.float32)


def _rounded(x, scale, zero_point, low, high):
    return (jnp.clip(jnp.round(x / scale) + zero_point, low, high) - zero_point) * scale


@operator(
    "fake_quantize_per_tensor_affine",
    elementwise=True,
    points=[call(EDGES, 0.5, 0, -4, 3)],
    jax_idioms={"a scaled jnp.round": _rounded},
    raises=[
        RaisesFor(
            call(ONE, 0.1, 0, 5, 2), RuntimeError, torch="`quant_min` should be less", jax="5 and 2"
        ),
        RaisesFor(
            call(ONE, 0.1, 9, 0, 5),
            RuntimeError,
            torch="`zero_point` must be",
            jax="9 is not in [0, 5]",
        ),
        RaisesFor(
            call(np.ones(2, int), 0.1, 0, 0, 5),
            NotImplementedError,
            torch="not implemented for",
            jax="fake_quantize_per_tensor_affine is not implemented for int64",
        ),
    ],
)
def fake_quantize_per_tensor_affine(draw):
    low = draw(st.integers(-8, 0))
    return call(
        draw(floats()), draw(st.sampled_from([0.1, 0.25, 0.3])), draw(st.integers(low, 8)), low, 8
    )


def _per_channel(input, scale, zero_point, axis, quant_min, quant_max):
    """Run torch's function; the scale is drawn as integers because it has no gradient."""
    return torch.fake_quantize_per_channel_affine(
        input, scale.float(), zero_point.int(), axis, quant_min, quant_max
    )


@operator(
    "fake_quantize_per_channel_affine",
    torch=_per_channel,
    raises=[
        RaisesFor(
            call(ONE, ONE[:1], np.zeros(1, int), 0, 0, 5),
            RuntimeError,
            torch="not consistent with input",
            jax="[1], [1] and 2 channels",
        ),
        RaisesFor(
            call(ONE, ONE, np.zeros(2, int), 1, 0, 5),
            IndexError,
            torch="Dimension out of range",
            jax="[-1, 0], but got 1",
        ),
    ],
)
def fake_quantize_per_channel_affine(draw):
    x = 10 * draw(floats(dims=1))
    axis = draw(st.integers(0, x.ndim - 1))
    shape = x.shape[axis : axis + 1]
    return call(x, draw(integers(shape, 1, 4)), draw(integers(shape, -4, 4)), axis, -8, 8)
