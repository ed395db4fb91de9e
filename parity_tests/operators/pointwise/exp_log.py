"""Records of the operators in `jaxgrad/functional/pointwise/exp_log.py`."""

import jax.numpy as jnp

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import broadcast, floats, within
from parity_tests.operators.pointwise._shared import COMPLEX, ELEMENTARY_EDGES, PAIRS, two


operator(
    "exp",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.exp(x)": jnp.exp},
    dtypes=COMPLEX,
)(within(-3, 3))


operator(
    "exp2", elementwise=True, points=[call(ELEMENTARY_EDGES)], jax_idioms={"jnp.exp2(x)": jnp.exp2}
)(within(-3, 3))


operator(
    "expm1",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.expm1(x)": jnp.expm1},
)(within(-3, 3))


operator(
    "log",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.log(x)": jnp.log},
    dtypes=COMPLEX,
    source="P045",
)(within(0.1, 5))


operator(
    "log2", elementwise=True, points=[call(ELEMENTARY_EDGES)], jax_idioms={"jnp.log2(x)": jnp.log2}
)(within(0.1, 5))


operator(
    "log10",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.log10(x)": jnp.log10},
)(within(0.1, 5))


operator(
    "log1p",
    elementwise=True,
    points=[call(ELEMENTARY_EDGES)],
    jax_idioms={"jnp.log1p(x)": jnp.log1p},
)(within(-0.9, 5))


@operator(
    "logaddexp",
    elementwise=True,
    points=[call(*PAIRS)],
    jax_idioms={"jnp.logaddexp(x, y)": jnp.logaddexp},
    source="P037",
)
def logaddexp(draw):
    return two(draw)


@operator(
    "logaddexp2",
    elementwise=True,
    points=[call(*PAIRS)],
    jax_idioms={"jnp.logaddexp2(x, y)": jnp.logaddexp2},
    source="P037",
)
def logaddexp2(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left)), draw(floats(right)))
