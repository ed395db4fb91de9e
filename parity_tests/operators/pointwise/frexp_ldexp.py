"""Records of the operators in `jaxgrad/functional/pointwise/frexp_ldexp.py`."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, integers
from parity_tests.operators.pointwise._shared import PAIRS, SIDES


inf, nan = np.inf, np.nan


@operator(
    "neg",
    elementwise=True,
    points=[call(SIDES), call(np.arange(3))],
    raises=[RaisesFor(call(np.array([True])), RuntimeError, "bool tensor")],
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
)
def neg(draw):
    return call(draw(floats()))


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


@operator(
    "ldexp",
    elementwise=True,
    points=[call([0.0, 1.0, -2.0, inf, nan], np.array([3, -1, 0, 2, 1])), call(*PAIRS)],
    torch_gradient=True,
    differences=[
        PinnedDifference(
            call([3.0], np.array([-1])),
            {"gradient/0": (0.0, 0.5)},
            "torch's formula uses an integer power of 2, which is 0 for a negative exponent",
        )
    ],
)
def ldexp(draw):
    left, right = draw(broadcast())
    power = draw(st.sampled_from([floats(right), integers(right, -3, 4)]))
    return call(draw(floats(left)), draw(power))


@operator(
    "frexp",
    torch=torch.frexp,
    elementwise=True,
    points=[call([0.0, -0.0, 1.0, -3.0, 0.5, 1e-8, 1e155])],
    raises=[RaisesFor(call(np.arange(3)), RuntimeError, "floating-point")],
)
def frexp(draw):
    return call(draw(floats()))
