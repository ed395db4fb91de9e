"""Records of the operators in `jaxgrad/functional/pointwise/trigonometric.py`."""

import jax.numpy as jnp
import numpy as np

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import within
from parity_tests.operators.pointwise._shared import COMPLEX, ELEMENTARY_EDGES


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
