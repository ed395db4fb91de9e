"""Records of the operators in `jaxgrad/functional/pointwise/bessel.py`."""

import jax.numpy as jnp
import jax.scipy.special as jss

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import within
from parity_tests.operators.pointwise._shared import NAN, SPECIAL_EDGES, WIDE


for name in ("i0", "special.i0"):
    operator(
        name,
        elementwise=True,
        max_programs=3,
        points=[call([*SPECIAL_EDGES, 710.0, 1e-30]), NAN],
        jax_idioms={"jnp.i0(x)": jnp.i0},
        source="P040",
        dtypes=WIDE,
    )(within(-5, 5))


operator(
    "special.i0e", elementwise=True, max_programs=3, points=[call(SPECIAL_EDGES), NAN], dtypes=WIDE
)(within(-5, 5))


operator(
    "special.i1",
    elementwise=True,
    max_programs=3,
    points=[call(SPECIAL_EDGES[:-2]), NAN],
    dtypes=WIDE,
    jax_idioms={"jax.scipy.special.i1(x)": jss.i1},
)(within(-5, 5))


operator(
    "special.i1e",
    elementwise=True,
    max_programs=3,
    points=[call(SPECIAL_EDGES[:-2]), NAN],
    dtypes=WIDE,
    jax_idioms={"jax.scipy.special.i1e(x)": jss.i1e},
)(within(-5, 5))
