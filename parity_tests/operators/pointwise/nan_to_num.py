"""Records of the operators in `jaxgrad/functional/pointwise/nan_to_num.py`."""

import jax.numpy as jnp
import numpy as np

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import floats


inf, nan = np.inf, np.nan


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, inf, -inf, nan, 1e-300, 1e155]


@operator(
    "nan_to_num",
    elementwise=True,
    points=[call(EDGES), call(EDGES, 1.0, 2.0, -2.0), call(EDGES, None)],
    jax_idioms={"jnp.nan_to_num(x)": lambda x, *_: jnp.nan_to_num(x)},
)
def nan_to_num(draw):
    return call(draw(floats()), nan=1.0)
