"""Records of pointwise functions: bounds, rounding, signs, powers, holes, weights and masks."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, masks


inf, nan = np.inf, np.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, inf, -inf, nan, 1e-300, 1e155]
SIDES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, inf, -inf, nan]
PAIRS = [np.array(side) for side in zip(*itertools.product(SIDES, SIDES), strict=True)]
ORIGIN = (PAIRS[0] == 0) & (PAIRS[1] == 0)
FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1e200]
FINITE_PAIRS = [np.array(side) for side in zip(*itertools.product(FINITE, FINITE), strict=True)]
NAN = call([nan])


def one(draw):
    return call(draw(floats()))


def two(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left)), draw(floats(right)))


def ties(draw):
    """Two arrays of halves, so that some of them are equal."""
    left, right = draw(broadcast())
    return call(*(np.asarray(np.round(draw(floats(shape)) * 2) / 2) for shape in (left, right)))


@operator(
    "abs",
    elementwise=True,
    points=[call(EDGES), call(np.zeros((0, 2)))],
    jax_idioms={"jnp.abs(x)": jnp.abs},
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
    raises=[RaisesFor(call(1.0), TypeError, torch="must be Tensor", jax="must be an array")],
    source="P003 P052 P170",
)
def absolute(draw):
    return one(draw)


for name in ("sign", "floor", "ceil", "trunc", "frac"):
    more = [call(np.array([True, False])), call(np.arange(-1, 2))] if name == "sign" else []
    operator(name, elementwise=True, points=[call(EDGES), *more])(one)


@operator("round", elementwise=True, points=[call(EDGES), call([0.5, 1.5, -2.5])])
def rounded(draw):
    return call(draw(floats()), decimals=draw(st.sampled_from([0, 1, 2])))


@operator(
    "clamp",
    elementwise=True,
    points=[
        call(EDGES, -1.0, 1.0),
        call(EDGES, min=0.5),
        call(EDGES, max=0.5),
        call([1.0], 1.0, 1.0),
        call([0.0, 2.0, 1.5], 2.0, 1.0),
        call([1.0, 2.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.5, 2.0]),
        call(np.zeros((0, 2)), 0.0),
    ],
    raises=[
        RaisesFor(call(np.ones(2)), RuntimeError, "At least one of"),
        RaisesFor(
            call(ORIGIN, ORIGIN, ORIGIN),
            NotImplementedError,
            torch="'Bool'",
            jax="clamp is not implem",
        ),
        RaisesFor(
            call(ORIGIN, True),
            NotImplementedError,
            torch="'Bool'",
            jax="clamp_min is not implemented",
        ),
    ],
    jax_idioms={
        "jnp.clip(x, low, high)": lambda x, min=None, max=None: jnp.clip(x, min, max),
        "lax.clamp(low, x, high)": lambda x, min=-inf, max=inf: jax.lax.clamp(
            jnp.asarray(min, x.dtype), x, jnp.asarray(max, x.dtype)
        ),
    },
    source="P005 P006 P171 P207",
)
def clamp(draw):
    x = draw(floats())
    kind = draw(st.sampled_from(["numbers", "arrays", "min", "max"]))
    if kind == "arrays":
        return call(x, draw(floats(x.shape)), draw(floats(x.shape)))
    low = draw(st.floats(-2, 1))
    bounds = {"numbers": {"min": low, "max": low + 1}, "min": {"min": low}, "max": {"max": low}}
    return call(x, **bounds[kind])


@operator(
    "clamp_min",
    elementwise=True,
    points=[call(*PAIRS), call(EDGES, 0.5)],
    jax_idioms={"jnp.maximum(x, y)": jnp.maximum},
    forward_mode="at NaN torch's tangent is 1, its gradient 0",
)
def clamp_min(draw):
    return ties(draw)


@operator(
    "clamp_max",
    elementwise=True,
    points=[call(*PAIRS), call(EDGES, 0.5)],
    jax_idioms={"jnp.minimum(x, y)": jnp.minimum},
    forward_mode="at NaN torch's tangent is 1, its gradient 0",
)
def clamp_max(draw):
    return ties(draw)


for name, idiom in (
    ("maximum", jnp.maximum),
    ("minimum", jnp.minimum),
    ("fmax", jnp.fmax),
    ("fmin", jnp.fmin),
):
    operator(
        name,
        elementwise=True,
        points=[call(*PAIRS)],
        jax_idioms={f"jnp.{name}(x, y)": idiom},
        forward_mode=""
        if name == "fmin"
        else "at ties or NaN torch's tangent is not its own gradient's",
        source="P020" if name[0] == "f" else "P038",
    )(ties)


@operator(
    "copysign",
    elementwise=True,
    points=[call(EDGES[:10], -1.0), call(*PAIRS)],
    jax_idioms={"jnp.copysign(x, y)": jnp.copysign},
    source="P017",
)
def copysign(draw):
    return two(draw)


def quotients(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left)), draw(floats(right, low=0.3, high=2)))


@operator("fmod", elementwise=True, points=[call(*PAIRS)], jax_idioms={"jnp.fmod(x, y)": jnp.fmod})
def fmod(draw):
    return quotients(draw)


@operator(
    "remainder",
    elementwise=True,
    points=[call(*PAIRS)],
    jax_idioms={"jnp.remainder(x, y)": jnp.remainder},
)
def remainder(draw):
    return quotients(draw)


@operator(
    "pow",
    elementwise=True,
    points=[
        *(call(EDGES, c) for c in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0)),
        call(0.0, [-1.0, -0.5, 0.0, 1.0]),
        call(*PAIRS),
        call(np.array([-2, -1, -1, 2, 1, 0]), np.array([-1, -1, -2, 3, -1, 0])),
    ],
    raises=[RaisesFor(call(np.arange(3), -1), RuntimeError, "negative integer")],
    jax_idioms={"jnp.power(x, y)": jnp.power},
    source="P034 P035 P174",
)
def pow(draw):
    left, right = draw(broadcast())
    base = draw(floats(left, low=0.2))
    number = st.sampled_from([0.5, 2.0, 3, -1.0, 1.7, 0])
    return call(base, draw(st.one_of(number, floats(right))))


@operator(
    "atan2",
    elementwise=True,
    points=[call(*[x[~ORIGIN] for x in PAIRS])],
    differences=[
        PinnedDifference(
            call([0.0], [0.0]),
            {"tangent/0": (nan, 0.0)},
            "torch masks the gradient at the origin, not its forward mode",
        )
    ],
    jax_idioms={"jnp.arctan2(y, x)": jnp.arctan2},
    source="P030",
)
def atan2(draw):
    return two(draw)


@operator(
    "hypot",
    elementwise=True,
    points=[call(*FINITE_PAIRS), call([inf, 1.0, nan], [1.0, inf, 1.0])],
    jax_idioms={
        "jnp.hypot(x, y)": jnp.hypot,
        "jnp.sqrt(x * x + y * y)": lambda x, y: jnp.sqrt(x * x + y * y),
    },
    source="P032",
)
def hypot(draw):
    return two(draw)


@operator(
    "xlogy",
    elementwise=True,
    points=[call(*PAIRS)],
    jax_idioms={"jax.scipy.special.xlogy(x, y)": jax.scipy.special.xlogy},
    source="P033",
)
def xlogy(draw):
    return quotients(draw)


@operator(
    "logaddexp",
    elementwise=True,
    points=[call(*PAIRS)],
    jax_idioms={"jnp.logaddexp(x, y)": jnp.logaddexp},
    source="P037",
)
def logaddexp(draw):
    return two(draw)


@operator(
    "sinc",
    source="P172",
    elementwise=True,
    points=[call([0.0, -0.0, 1e-300, 1e-160, 1.0, -2.0, 0.5, nan, inf])],
    torch_gradient=True,
    differences=[
        PinnedDifference(
            call([1e-8]),
            {"gradient/0": (-2.1063981330815398e-08, -(math.pi**2) * 1e-8 / 3)},
            "torch's formula cancels near 0",
        ),
        PinnedDifference(
            call([0.0]),
            {"second/0": (nan, -(math.pi**2) / 3)},
            "torch's second derivative at 0 is 0 / 0",
        ),
    ],
    jax_idioms={"jnp.sinc(x)": jnp.sinc},
)
def sinc(draw):
    return one(draw)


@operator(
    "lerp",
    points=[
        call([1.0, 2.0], [3.0, inf], [0.5, 0.0]),
        call([inf, 1.0, nan], [1.0, inf, 2.0], [0.25, 0.75, 1.0]),
        call([inf, nan], [3.0, 1.0], 0.25),
        call([1.0, 2.0], [3.0, 5.0], np.array(2)),
    ],
    differences=[
        PinnedDifference(
            call([1.0, 1.0], [3.0], [inf]),
            {"tangent/0": ([nan, -inf], nan)},
            "torch's forward mode is lerp of the tangents, its gradient 1 - weight and weight",
        )
    ],
)
def lerp(draw):
    a, b, c = draw(broadcast(3))
    weight = draw(st.one_of(st.floats(0, 1), floats(c)))
    return call(draw(floats(a)), draw(floats(b)), weight)


def three(draw, low):
    shapes = draw(broadcast(3))
    value = draw(st.sampled_from([1, 0.5, -2]))
    x, a, b = (draw(floats(shape, low=low)) for shape in shapes)
    return call(x, a, b, value=value)


@operator("addcmul", elementwise=True, points=[call([1.0, 0.0], [inf, 0.0], [0.0, nan])])
def addcmul(draw):
    return three(draw, -3)


@operator(
    "addcdiv",
    elementwise=True,
    points=[call([1.0, 0.0, 1.0], [inf, 0.0, 1.0], [0.0, nan, 1e200])],
    raises=[RaisesFor(call(np.ones(2), np.arange(2), np.arange(2)), RuntimeError, "addcdiv")],
)
def addcdiv(draw):
    return three(draw, 0.3)


@operator(
    "where",
    points=[call(np.array([True, False]), [inf, 1.0], [1.0, nan])],
    raises=[RaisesFor(call(np.ones(2), np.ones(2), np.ones(2)), RuntimeError, "condition")],
    source="P022",
)
def where(draw):
    a, b, c = draw(broadcast(3))
    return call(draw(masks(a)), draw(floats(b)), draw(floats(c)))


@operator(
    "masked_fill",
    torch=torch.Tensor.masked_fill,
    points=[call([1.0, nan], np.array([False, True]), 0.0)],
    raises=[
        RaisesFor(call(np.ones(2), np.ones(2), 0.0), RuntimeError, "boolean mask"),
        RaisesFor(
            call(np.ones(2), np.ones(2) > 0, np.ones(2)), RuntimeError, "0-dimensional value"
        ),
    ],
)
def masked_fill(draw):
    a, b = draw(broadcast())
    return call(draw(floats(a)), draw(masks(b)), draw(st.one_of(st.floats(-1, 1), floats(()))))


@operator(
    "nan_to_num",
    elementwise=True,
    points=[call(EDGES), call(EDGES, 1.0, 2.0, -2.0), call(EDGES, None)],
    jax_idioms={"jnp.nan_to_num(x)": lambda x, *_: jnp.nan_to_num(x)},
)
def nan_to_num(draw):
    return call(draw(floats()), nan=1.0)
