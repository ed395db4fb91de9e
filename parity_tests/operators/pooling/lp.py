"""Records of the operators in `jaxgrad/functional/pooling/lp.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.pooling._shared import REAL, ZEROS, image_shape


inf = np.inf


def _lp(draw, places):
    low = draw(st.sampled_from([0.1, -2.0]))
    return call(
        draw(floats(image_shape(draw, places, 4 if places > 1 else 5), low=low)),
        draw(st.sampled_from([1, 2, 4, inf, -inf] if low < 0 else [1, 2.5, 3, inf, -inf])),
        draw(st.integers(1, 2)),
        draw(st.sampled_from([None, 1, 2])),
        ceil_mode=draw(st.booleans()),
    )


@operator(
    "lp_pool1d",
    points=[
        call([[[0.0, 0.0, -1.0, 2.0]]], 2, 2),
        call([[[0.0, 0.0, -1.0, 2.0]]], 1, 2),
        call([[[0.0, 0.0, 1.0, 2.0]]], 3, 2),
        call(ZEROS, inf, 2),
    ],
    forward_mode="torch's forward mode is NaN for a window of zeros, but its gradient is 0",
    jax_idioms={
        "(x**p).sum() ** (1 / p)": lambda x, p, k: (
            jnp.sum(x.reshape(*x.shape[:2], -1, k) ** p, -1) ** (1 / p) if np.isfinite(p) else x
        )
    },
    source="P084",
)
def lp_pool1d(draw):
    return _lp(draw, 1)


@operator(
    "lp_pool2d",
    points=[call(np.zeros((1, 2, 2)), 2, 2)],
    forward_mode="torch's forward mode is NaN for a window of zeros, but its gradient is 0",
    source="P084",
)
def lp_pool2d(draw):
    return _lp(draw, 2)


@operator(
    "lp_pool3d",
    dtypes=REAL,
    points=[call(np.zeros((1, 2, 2, 2)), 2, 2)],
    forward_mode="torch's forward mode is NaN for a window of zeros, but its gradient is 0",
    source="P084",
)
def lp_pool3d(draw):
    return _lp(draw, 3)
