"""Records of the operators in `jaxgrad/functional/pointwise/frexp_ldexp.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import POWER_OF_LDEXP
from parity_tests.operators import PinnedDifference, RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import broadcast, floats, integers
from parity_tests.operators.pointwise._shared import PAIRS


inf, nan = np.inf, np.nan


@operator(
    "ldexp",
    elementwise=True,
    points=[call([0.0, 1.0, -2.0, inf, nan], np.array([3, -1, 0, 2, 1])), call(*PAIRS)],
    torch_gradient=True,
    differences=[]
    if here(POWER_OF_LDEXP)
    else [
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
