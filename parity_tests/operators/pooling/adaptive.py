"""Records of the operators in `jaxgrad/functional/pooling/adaptive.py`."""

import jax
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats


inf, nan = np.inf, np.nan
LINE = np.arange(5.0).reshape(1, 1, 5)


def _drawn(draw, places, **options):
    batch = draw(st.sampled_from([(), (2,)]))
    shape = (*batch, 2, *draw(st.tuples(*[st.integers(1, 5 if places < 3 else 3)] * places)))
    one = st.integers(1, 4) if places == 1 else st.one_of(st.integers(1, 4), st.none())
    several = st.tuples(*[one] * places)
    size = draw(several if places > 1 else st.one_of(st.integers(1, 4), several))
    return call(draw(floats(shape)), size, **options)


@operator(
    "adaptive_avg_pool1d",
    points=[call(LINE, 3), call([[[inf, 1.0, nan, 0.0, 2.0]]], 3)],
    raises=[
        RaisesFor(call(LINE, -1), RuntimeError, "greater than or equal"),
        RaisesFor(call(np.ones((1, 1, 0)), 2), RuntimeError, "non-zero size"),
    ],
    jax_idioms={
        'jax.image.resize(x, shape, "linear")': lambda x, n: jax.image.resize(
            x, (*x.shape[:2], n), "linear"
        )
    },
    source="P081",
)
def adaptive_avg_pool1d(draw):
    return _drawn(draw, 1)


@operator("adaptive_avg_pool2d", source="P081")
def adaptive_avg_pool2d(draw):
    return _drawn(draw, 2)


@operator("adaptive_avg_pool3d", source="P081")
def adaptive_avg_pool3d(draw):
    return _drawn(draw, 3)


@operator(
    "adaptive_max_pool1d",
    points=[
        call(np.ones((1, 1, 4)), 2),
        call([[[-inf, -inf, 1.0, 2.0]]], 2),
        call([[[nan, 1.0, 2.0, nan, 3.0]]], 2, return_indices=True),
        call([[[0.0, -0.0, -0.0, 0.0]]], 2),
        call([[[-inf, -inf, -inf, 1.0, 2.0]]], 3),
    ],
    jax_idioms={
        "x.reshape(..., n, -1).max(-1)": lambda x, n, **_: (
            x.reshape(*x.shape[:2], n, -1).max(-1) if not x.shape[-1] % n else x[..., :n]
        ),
    },
    source="P073",
)
def adaptive_max_pool1d(draw):
    return _drawn(draw, 1, return_indices=draw(st.booleans()))


@operator(
    "adaptive_max_pool2d",
    points=[call(np.ones((1, 3, 3)), 2), *(call(np.zeros((0, 1, 4, 4)), n) for n in (2, 3))],
    source="P073",
)
def adaptive_max_pool2d(draw):
    return _drawn(draw, 2, return_indices=draw(st.booleans()))


@operator("adaptive_max_pool3d", source="P073")
def adaptive_max_pool3d(draw):
    return _drawn(draw, 3, return_indices=draw(st.booleans()))
