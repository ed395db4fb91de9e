"""Records of the operators in `jaxgrad/functional/pointwise/trigonometric.py`."""

import math

import jax.numpy as jnp
import numpy as np

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators._harness.draw import within
from parity_tests.operators.pointwise._shared import (
    COMPLEX,
    ELEMENTARY_EDGES,
    ERF_EDGES,
    inside,
    one,
)


inf, nan = np.inf, np.nan


FINITE_EDGES = [x for x in ELEMENTARY_EDGES if abs(x) < 1e9 or np.isnan(x)]


operator(
    "sin",
    elementwise=True,
    points=[call(FINITE_EDGES)],
    jax_idioms={"jnp.sin(x)": jnp.sin},
    dtypes=COMPLEX,
)(within(-4, 4))


operator(
    "cos",
    elementwise=True,
    points=[call(FINITE_EDGES)],
    jax_idioms={"jnp.cos(x)": jnp.cos},
    dtypes=COMPLEX,
)(within(-4, 4))


operator("tan", elementwise=True, points=[call(FINITE_EDGES)], jax_idioms={"jnp.tan(x)": jnp.tan})(
    within(-1.2, 1.2)
)


operator(
    "asin",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.arcsin(x)": jnp.arcsin},
    source="P045",
)(within(-0.9, 0.9))


operator(
    "acos",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.arccos(x)": jnp.arccos},
    source="P045",
)(within(-0.9, 0.9))


operator(
    "atan",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.arctan(x)": jnp.arctan},
)(within(-4, 4))


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
            "torch's formula suffers from cancellation near 0",
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


for name, idiom in (("deg2rad", jnp.deg2rad), ("rad2deg", jnp.rad2deg)):
    operator(
        name,
        elementwise=True,
        points=[call(ERF_EDGES)],
        jax_idioms={f"{idiom.__name__}(x)": idiom},
    )(inside)
