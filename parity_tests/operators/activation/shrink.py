"""Records of the operators in `jaxgrad/functional/activation/shrink.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.activation._shared import LOOP, MANY, NAN, SMOOTH, SPECIAL


@operator(
    "tanhshrink",
    elementwise=True,
    points=[NAN, call(SMOOTH)],
    jax_idioms={"x - jnp.tanh(x)": lambda x: x - jnp.tanh(x)},
)
def tanhshrink(draw):
    return call(draw(floats()))


@operator(
    "hardshrink",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 0.5, -0.5]), call([0.0, -0.0, 1.0], 0.0)],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (0.0, 1.0)}, LOOP)],
    jax_idioms={"jnp.where(abs(x) > 0.5, x, 0)": lambda x, d=0.5: jnp.where(jnp.abs(x) > d, x, 0)},
)
def hardshrink(draw):
    return call(draw(floats()), draw(st.floats(0, 1)))


@operator(
    "softshrink",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 0.5, -0.5]), call([0.0, -0.0, 1.0], 0.0)],
    raises=[RaisesFor(call(np.ones(2), -1.0), RuntimeError, torch="lambd", jax="lambda")],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (0.0, 1.0)}, LOOP)],
    jax_idioms={
        "sign(x) * jnp.maximum(abs(x) - 0.5, 0)": lambda x, d=0.5: (
            jnp.sign(x) * jnp.maximum(jnp.abs(x) - d, 0)
        )
    },
    source="P009",
)
def softshrink(draw):
    return call(draw(floats()), draw(st.floats(0, 1)))
