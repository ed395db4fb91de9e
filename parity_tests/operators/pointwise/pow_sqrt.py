"""Record of the operator in `jaxgrad/functional/pointwise/pow_sqrt.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats
from parity_tests.operators.pointwise._shared import EDGES, PAIRS


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
