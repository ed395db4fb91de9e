"""Records of the operators in `jaxgrad/functional/pointwise/atan2_hypot.py`."""

import jax.numpy as jnp
import numpy as np

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators._harness.draw import pairs
from parity_tests.operators.pointwise._shared import ORIGIN, PAIRS, two


inf, nan = np.inf, np.nan
FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1e200]
FINITE_PAIRS = pairs(FINITE, FINITE)


@operator(
    "atan2",
    elementwise=True,
    points=[call(*[x[~ORIGIN] for x in PAIRS])],
    differences=[
        PinnedDifference(
            call([0.0], [0.0]),
            {"tangent/0": (nan, 0.0)},
            "torch masks its gradient at the origin, but not its forward mode",
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
