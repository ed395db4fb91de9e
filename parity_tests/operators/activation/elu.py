"""Records of the operators in `jaxgrad/functional/activation/elu.py`."""

import jax
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.activation._shared import EMPTY, LOOP, MANY, NAN, SMOOTH


nan = np.nan
TAILS = [*SMOOTH, -20.0, -37.0, -40.0, -100.0, 100.0, 709.0, -709.0, 1e4, -1e4, 1e155, -1e155]
ROUNDED = 1 / float(np.float32(0.7))


@operator(
    "elu",
    source="P169",
    elementwise=True,
    points=[NAN, call(TAILS), call(TAILS, -0.7), call(EMPTY)],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (nan, 1.0)}, LOOP)],
    jax_idioms={"jax.nn.elu(x)": jax.nn.elu},
)
def elu(draw):
    return call(draw(floats()), draw(st.floats(0.1, 2)))


@operator(
    "selu",
    elementwise=True,
    points=[NAN, call(TAILS)],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (nan, 1.0507009873554805)}, LOOP)],
    jax_idioms={"jax.nn.selu(x)": jax.nn.selu},
)
def selu(draw):
    return call(draw(floats()))


@operator(
    "celu",
    source="P169",
    elementwise=True,
    points=[NAN, call(TAILS), call(TAILS, 2.0)],
    raises=[RaisesFor(call(np.ones(2), 0.0), RuntimeError, "alpha")],
    torch_gradient=True,
    differences=[
        PinnedDifference(call(MANY, 1.0), {"gradient/0": (nan, 1.0)}, LOOP),
        PinnedDifference(
            call([-0.3], 0.7),
            {"gradient/0": (np.exp(-0.3 * ROUNDED) * 0.7 * ROUNDED, np.exp(-0.3 / 0.7))},
            "torch rounds alpha to float32 in the gradient of a float64 input",
        ),
    ],
    jax_idioms={"jax.nn.celu(x)": jax.nn.celu},
)
def celu(draw):
    return call(draw(floats()), draw(st.floats(0.1, 2)))
