"""Records of the operators in `jaxgrad/functional/pointwise/hyperbolic.py`."""

import jax.numpy as jnp

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import within
from parity_tests.operators.pointwise._shared import ELEMENTARY_EDGES


operator(
    "sinh", elementwise=True, points=[call(ELEMENTARY_EDGES)], jax_idioms={"jnp.sinh(x)": jnp.sinh}
)(within(-3, 3))


operator(
    "cosh", elementwise=True, points=[call(ELEMENTARY_EDGES)], jax_idioms={"jnp.cosh(x)": jnp.cosh}
)(within(-3, 3))


operator(
    "asinh",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.arcsinh(x)": jnp.arcsinh},
)(within(-4, 4))


operator(
    "acosh",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.arccosh(x)": jnp.arccosh},
)(within(1.1, 5))


operator(
    "atanh",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.arctanh(x)": jnp.arctanh},
)(within(-0.9, 0.9))
