"""Records of the operators in `jaxgrad/functional/pointwise/roots.py`."""

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import within
from parity_tests.operators.pointwise._shared import COMPLEX, ELEMENTARY_EDGES


operator(
    "sqrt",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.sqrt(x)": jnp.sqrt},
    dtypes=COMPLEX,
    source="P045",
)(within(0.1, 5))


operator(
    "rsqrt",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.rsqrt(x)": jax.lax.rsqrt},
)(within(0.1, 5))


operator(
    "reciprocal",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.reciprocal(x)": jnp.reciprocal},
    dtypes=COMPLEX,
)(within(0.1, 5))


operator(
    "square",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES), call(np.arange(-2, 3))],
    jax_idioms={"jnp.square(x)": jnp.square},
    dtypes=COMPLEX,
    source="P048",
)(within(-3, 3))
