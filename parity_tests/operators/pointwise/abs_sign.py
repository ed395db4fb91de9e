"""Records of the operators in `jaxgrad/functional/pointwise/abs_sign.py`."""

import jax.numpy as jnp
import numpy as np

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats
from parity_tests.operators.pointwise._shared import EDGES, PAIRS, one, two


@operator(
    "abs",
    elementwise=True,
    points=[call(EDGES), call(np.zeros((0, 2)))],
    jax_idioms={"jnp.abs(x)": jnp.abs},
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
    raises=[RaisesFor(call(1.0), TypeError, torch="must be Tensor", jax="must be an array")],
    source="P003 P052 P170",
)
def absolute(draw):
    return one(draw)


operator(
    "sign",
    elementwise=True,
    points=[call(EDGES), call(np.array([True, False])), call(np.arange(-1, 2))],
)(one)


@operator(
    "copysign",
    elementwise=True,
    points=[call(EDGES[:10], -1.0), call(*PAIRS)],
    jax_idioms={"jnp.copysign(x, y)": jnp.copysign},
    source="P017",
)
def copysign(draw):
    return two(draw)


@operator(
    "heaviside",
    elementwise=True,
    points=[call(np.array([-1, 0, 2]), np.array(3))],
    raises=[
        RaisesFor(
            call([0.0], np.array([1])), RuntimeError, torch="different dtypes", jax="same dtype"
        ),
        RaisesFor(call([0.0], [1.0]), RuntimeError, "heaviside", when="backward"),
    ],
    source="P067",
)
def heaviside(draw):
    shape = draw(broadcast(1))[0]
    return call(np.asarray(np.round(draw(floats(shape)))).astype(int), np.array(3))
