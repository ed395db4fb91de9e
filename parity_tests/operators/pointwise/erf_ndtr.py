"""Records of the operators in `jaxgrad/functional/pointwise/erf_ndtr.py`."""

import jax
import jax.scipy.special as jss
import numpy as np

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators._harness.draw import within
from parity_tests.operators.pointwise._shared import ERF_EDGES, NAN, SPECIAL_EDGES, WIDE, inside


inf, nan = np.inf, np.nan


operator("special.ndtr", elementwise=True, max_programs=3, points=[call(SPECIAL_EDGES), NAN])(
    within(-3, 3)
)


operator(
    "special.ndtri",
    elementwise=True,
    max_programs=3,
    points=[call([0.0, 1.0, 0.5, 1e-8, 2.0]), NAN],
    jax_idioms={"jax.scipy.special.ndtri(x)": jss.ndtri},
    dtypes=WIDE,
    source="P039",
)(within(0.05, 0.95))


operator(
    "special.log_ndtr",
    elementwise=True,
    max_programs=3,
    points=[call([0.0, -1.0, 1.0, -6.0, 30.0, inf, -inf]), NAN],
    differences=[
        PinnedDifference(
            call([-1e4, -1e10]),
            {"gradient/0": ([10000.000154100222, inf], [1e4 + 1e-4, 1e10])},
            "torch's gradient, exp(-x * x / 2 - log_ndtr(x)), suffers from cancellation",
        )
    ],
    jax_idioms={"jax.scipy.special.log_ndtr(x)": jss.log_ndtr},
    dtypes=WIDE,
)(within(-6, 3))


operator(
    "special.erfcx",
    elementwise=True,
    max_programs=3,
    points=[call([0.0, 1.0, -20.0, 60.0, 1e4, 1e8, -inf, inf]), NAN],
    dtypes=WIDE,
)(within(-3, 3))


for name, idiom in (
    ("erf", jax.scipy.special.erf),
    ("erfc", jax.scipy.special.erfc),
    ("erfinv", jax.scipy.special.erfinv),
):
    operator(
        name,
        elementwise=True,
        points=[call(ERF_EDGES)],
        jax_idioms={f"{idiom.__name__}(x)": idiom},
    )(inside)
