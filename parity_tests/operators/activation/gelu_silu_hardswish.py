"""Records of the operators in `jaxgrad/functional/activation/gelu_silu_hardswish.py`."""

import jax
import numpy as np
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats, shapes
from parity_tests.operators.activation._shared import EMPTY, LOOP, MANY, NAN, SMOOTH, SPECIAL


inf, nan = np.inf, np.nan


@operator(
    "gelu",
    elementwise=True,
    points=[NAN, call(SMOOTH), call(SMOOTH, approximate="tanh"), call(EMPTY)],
    raises=[RaisesFor(call(np.ones(2), approximate="erf"), RuntimeError, "approximate")],
    jax_idioms={"jax.nn.gelu(x)": lambda x, approximate=None: jax.nn.gelu(x)},
    tolerance={"float32": Tolerance(1e-6, "XLA's float32 tanh is 2 ULP off, times a slope of 5")},
    source="P015",
)
def gelu(draw):
    return call(draw(floats()), approximate=draw(st.sampled_from(["none", "tanh"])))


@operator(
    "silu", elementwise=True, points=[NAN, call(SMOOTH)], jax_idioms={"jax.nn.silu(x)": jax.nn.silu}
)
def silu(draw):
    return call(draw(floats()))


@operator(
    "mish", elementwise=True, points=[NAN, call(SMOOTH)], jax_idioms={"jax.nn.mish(x)": jax.nn.mish}
)
def mish(draw):
    return call(draw(floats()))


@operator(
    "hardswish",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 3.0, -3.0])],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (nan, 1.0)}, LOOP)],
    jax_idioms={"jax.nn.hard_swish(x)": jax.nn.hard_swish},
)
def hardswish(draw):
    return call(draw(floats(low=-5, high=5)))


@operator(
    "glu",
    points=[call([[1.0, inf], [nan, -inf]]), call(np.zeros((0, 2)))],
    raises=[
        RaisesFor(call(np.ones((2, 3))), RuntimeError, "must be even"),
        RaisesFor(call(np.array(1.0)), RuntimeError, "does not support scalars"),
        RaisesFor(call(np.ones((2, 2)), 2), IndexError, "out of range"),
    ],
    jax_idioms={"jax.nn.glu(x)": jax.nn.glu},
)
def glu(draw):
    shape = list(draw(shapes(low=1)))
    dim = draw(dims(len(shape)))
    shape[dim] *= 2
    return call(draw(floats(tuple(shape))), dim)
