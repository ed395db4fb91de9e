"""Records of the operators in `jaxgrad/functional/pooling/max.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import EMPTY_POOLS
from parity_tests.operators import RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.pooling._shared import SAME, SQUARE, ZEROS, image_shape


inf, nan = np.inf, np.nan
LOW = [[[-inf, -inf, 1.0, 2.0]]]
NANS = [[[nan, 1.0, 2.0, nan, 5.0]]]


def _max(draw, places):
    kernel = draw(st.integers(1, 3))
    dilation = draw(st.integers(1, 2)) if places < 3 or kernel < 3 else 1
    return call(
        draw(floats(image_shape(draw, places, 7 if places < 3 else 6))),
        kernel,
        draw(st.sampled_from([None, 1, 2, (2,) * places])),
        draw(st.integers(0, kernel // 2)),
        dilation=dilation if dilation * (kernel - 1) < 4 else 1,
        ceil_mode=draw(st.booleans()),
        return_indices=draw(st.booleans()),
    )


def _reduce_window(x, k, s=None, p=0, d=1, **_):
    return jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 1, k), (1, 1, s or k), ((0, 0), (0, 0), (p, p)),
        window_dilation=(1, 1, d),
    )  # fmt: skip


def _reshaped(x, k, *rest, **_):
    if rest or x.shape[-1] % k:
        return _reduce_window(x, k, *rest)
    return x.reshape(*x.shape[:2], -1, k).max(-1)


POINTS = [
    call(SAME, 2),
    call(ZEROS, 2),
    call(LOW, 2),
    call(LOW, 3, 2, 1),
    call(NANS, 2),
    call(NANS, 3, 1, return_indices=True),
    call(NANS, 3, 2, 1),
    call(LOW, 2, 1, 0, 2, ceil_mode=True),
]


@operator(
    "max_pool1d",
    points=[*POINTS, call(np.zeros((0, 1, 4)), 2)],
    raises=[
        RaisesFor(call(SAME, 2, padding=2), RuntimeError, "at most half"),
        RaisesFor(call(SAME, 0), RuntimeError, "greater than zero"),
        RaisesFor(call(SAME, 2, 0), RuntimeError, "greater than zero"),
        RaisesFor(call(SAME, 2, dilation=0), RuntimeError, "greater than zero"),
        RaisesFor(call(SAME, 5), RuntimeError, "Invalid computed"),
        RaisesFor(call(SAME[0, 0], 2), RuntimeError, "Expected 2D or 3D"),
        RaisesFor(call(np.zeros((2, 0, 4)), 2), RuntimeError, "batch"),
        RaisesFor(
            call(SAME.astype(int), 2), NotImplementedError, torch="not implemented", jax="int64"
        ),
    ],
    jax_idioms={
        "lax.reduce_window(x, -inf, lax.max, ...)": _reduce_window,
        "x.reshape(..., k).max(-1)": _reshaped,
    },
    source="P073",
)
def max_pool1d(draw):
    return _max(draw, 1)


@operator(
    "max_pool2d",
    points=[
        call(SQUARE, 2),
        call(-inf * SQUARE, 3, 2, 1, return_indices=True),
        call(SQUARE, 2, 1, 0, 2),
    ],
    jax_idioms={
        "flax.linen.max_pool(x, ...)": lambda x, k, s=None, p=0, d=1, **_: jax.lax.reduce_window(
            x, -jnp.inf, jax.lax.max, (1, 1, k, k), (1, 1, s or k, s or k),
            ((0, 0), (0, 0), (p, p), (p, p)), window_dilation=(1, 1, d, d),
        )
    },
    source="P073",
)  # fmt: skip
def max_pool2d(draw):
    return _max(draw, 2)


@operator(
    "max_pool3d",
    points=[call(np.ones((1, 1, 2, 2, 2)), 2)],
    raises=[
        RaisesFor(
            call(np.zeros((2, 0, 2, 2, 2)), 2),
            RuntimeError,
            torch="have non-zero size" if here(EMPTY_POOLS) else "positive length",
            jax="positive length",
        )
    ],
    source="P073",
)
def max_pool3d(draw):
    return _max(draw, 3)
