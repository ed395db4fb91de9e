"""Records of the operators in `jaxgrad/functional/pointwise/rounding_remainder.py`."""

import jax.numpy as jnp
from hypothesis import strategies as st

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.pointwise._shared import EDGES, PAIRS, one, quotients


for name in ("floor", "ceil", "trunc", "frac"):
    operator(name, elementwise=True, points=[call(EDGES)])(one)


@operator("round", elementwise=True, points=[call(EDGES), call([0.5, 1.5, -2.5])])
def rounded(draw):
    return call(draw(floats()), decimals=draw(st.sampled_from([0, 1, 2])))


@operator("fmod", elementwise=True, points=[call(*PAIRS)], jax_idioms={"jnp.fmod(x, y)": jnp.fmod})
def fmod(draw):
    return quotients(draw)


@operator(
    "remainder",
    elementwise=True,
    points=[call(*PAIRS)],
    jax_idioms={"jnp.remainder(x, y)": jnp.remainder},
)
def remainder(draw):
    return quotients(draw)
