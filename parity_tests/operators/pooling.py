"""Records of pools."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats


inf, nan = np.inf, np.nan
SAME = np.ones((1, 1, 4))
ZEROS = [[[0.0, -0.0, -0.0, 0.0]]]
LOW = [[[-inf, -inf, 1.0, 2.0]]]
NANS = [[[nan, 1.0, 2.0, nan, 5.0]]]
REAL = ("float64", "float32")
WITHOUT_NAN = [[[inf, -inf, 1.0, 2.0]]]


def _shape(draw, places, side=5):
    batch = draw(st.sampled_from([(), (2,)]))
    return (*batch, 2, *[side - i for i in range(places)])


def _max(draw, places):
    kernel = draw(st.integers(1, 3))
    dilation = draw(st.integers(1, 2)) if places < 3 or kernel < 3 else 1
    return call(
        draw(floats(_shape(draw, places, 7 if places < 3 else 6))),
        kernel,
        draw(st.sampled_from([None, 1, 2, (2,) * places])),
        draw(st.integers(0, kernel // 2)),
        dilation=dilation if dilation * (kernel - 1) < 4 else 1,
        ceil_mode=draw(st.booleans()),
        return_indices=draw(st.booleans()),
    )


def _avg(draw, places):
    kernel = draw(st.integers(1, 3))
    more = {"divisor_override": draw(st.sampled_from([None, 5]))} if places > 1 else {}
    return call(
        draw(floats(_shape(draw, places))),
        kernel,
        draw(st.sampled_from([None, 1, 2, (2,) * places])),
        draw(st.integers(0, kernel // 2)),
        ceil_mode=draw(st.booleans()),
        count_include_pad=draw(st.booleans()),
        **more,
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


SQUARE = np.ones((1, 1, 4, 4))


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


@operator("max_pool3d", points=[call(np.ones((1, 1, 2, 2, 2)), 2)], source="P073")
def max_pool3d(draw):
    return _max(draw, 3)


@operator(
    "avg_pool1d",
    points=[call(SAME, 3, 2, 1, True), call(SAME, 3, 2, 1, True, False), call(WITHOUT_NAN, 2)],
    raises=[
        RaisesFor(call(SAME, 3, 2, 2), RuntimeError, "at most half"),
        RaisesFor(call(SAME, 5), RuntimeError, "too small"),
    ],
    jax_idioms={
        "flax.linen.avg_pool(x, ..., padding)": lambda x, k, s=None, p=0, *_, **__: (
            jax.lax.reduce_window(
                x, 0.0, jax.lax.add, (1, 1, k), (1, 1, s or k), ((0, 0), (0, 0), (p, p + (p > 0)))
            )
            / k
        )
    },
    source="P083",
)
def avg_pool1d(draw):
    return _avg(draw, 1)


@operator(
    "avg_pool2d",
    points=[call(SQUARE, 3, 2, 1, True, True, 5)],
    raises=[RaisesFor(call(SQUARE, 2, divisor_override=0), RuntimeError, "divisor must be")],
    source="P083",
)
def avg_pool2d(draw):
    return _avg(draw, 2)


@operator("avg_pool3d", dtypes=REAL, source="P083")
def avg_pool3d(draw):
    return _avg(draw, 3)


def _lp(draw, places):
    low = draw(st.sampled_from([0.1, -2.0]))
    return call(
        draw(floats(_shape(draw, places, 4 if places > 1 else 5), low=low)),
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
    forward_mode="torch's is NaN for a window of zeros, where its gradient is 0",
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
    forward_mode="torch's is NaN for a window of zeros, where its gradient is 0",
    source="P084",
)
def lp_pool2d(draw):
    return _lp(draw, 2)


@operator(
    "lp_pool3d",
    dtypes=REAL,
    points=[call(np.zeros((1, 2, 2, 2)), 2, 2)],
    forward_mode="torch's is NaN for a window of zeros, where its gradient is 0",
    source="P084",
)
def lp_pool3d(draw):
    return _lp(draw, 3)


def _unpool(draw, places):
    """Different indices: what is written twice has a value by chance."""
    batch = draw(st.sampled_from([(), (2,)]))
    shape = (*batch, 2, *[2] * places)
    room = 4**places
    order = np.argsort(draw(floats((*shape[:-places], room))), -1)[..., : 2**places]
    x, order = draw(floats(shape)), order.reshape(shape)
    if draw(st.booleans()):  # sides of (2 - 1) * 2 + 4 - 2 = 4 as well
        return call(x, order, 4, 2, 1)
    options = {"output_size": (5, *[4] * (places - 1))} if draw(st.booleans()) else {}
    return call(x, order, 2, **options)


VALUES = [[[5.0, 6.0]]]


def _at_set(x, i, *_, **__):
    return jnp.zeros((1, 1, 4)).at[0, 0, i[0, 0]].set(x[0, 0])


@operator(
    "max_unpool1d",
    points=[call(VALUES, np.array([[[1, 2]]]), 2), call(VALUES, np.array([[[1, 1]]]), 2)],
    raises=[
        RaisesFor(
            call(VALUES, np.array([[[1, 4]]]), 2), RuntimeError, torch="invalid max", jax="size [4]"
        ),
        RaisesFor(
            call(VALUES, np.array([[[1, -1]]]), 2),
            RuntimeError,
            torch="invalid max",
            jax="size [4]",
        ),
        RaisesFor(
            call(VALUES, np.array([[[1]]]), 2),
            RuntimeError,
            torch="Expected shape",
            jax="[1, 1, 1]",
        ),
        RaisesFor(
            call(VALUES, np.array([[[1, 2]]]), 2, output_size=(6,)), ValueError, "between 2 and 6"
        ),
    ],
    forward_mode="torch's keeps the last tangent of an index, its gradient goes to all",
    jax_idioms={"zeros.at[i].set(x)": _at_set},
    source="P068",
)
def max_unpool1d(draw):
    return _unpool(draw, 1)


@operator("max_unpool2d", source="P068")
def max_unpool2d(draw):
    return _unpool(draw, 2)


@operator("max_unpool3d", source="P068")
def max_unpool3d(draw):
    return _unpool(draw, 3)
