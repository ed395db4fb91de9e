"""Record of the operator in `jaxgrad/functional/pointwise/pow_sqrt.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, within
from parity_tests.operators.pointwise._shared import COMPLEX, EDGES, ELEMENTARY_EDGES, PAIRS, SIDES


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
    "float_power",
    elementwise=True,
    points=[call(*PAIRS), call(SIDES, 0.5), call(np.arange(1, 4), -1)],
    jax_idioms={"jnp.float_power(x, y)": jnp.float_power},
    source="P034",
)
def float_power(draw):
    left, right = draw(broadcast())
    number = st.sampled_from([0.5, 2.0, 3, -1.0, 1.7, 0])
    return call(draw(floats(left, low=0.2)), draw(st.one_of(number, floats(right))))


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
