"""Records of the operators in `jaxgrad/functional/pointwise/xlogy_entr.py`."""

import jax
import jax.scipy.special as jss
import numpy as np

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import broadcast, floats, pairs, within
from parity_tests.operators.pointwise._shared import NAN, PAIRS, quotients


inf, nan = np.inf, np.nan


@operator(
    "xlogy",
    elementwise=True,
    points=[call(*PAIRS)],
    jax_idioms={"jax.scipy.special.xlogy(x, y)": jax.scipy.special.xlogy},
    source="P033",
)
def xlogy(draw):
    return quotients(draw)


operator(
    "special.entr",
    elementwise=True,
    max_programs=3,
    points=[call([0.0, -0.0, -1.0, 1.0, inf]), NAN],
    jax_idioms={"jax.scipy.special.entr(x)": jss.entr},
)(within(0.05, 3))


LOGARITHM_SIDES = [0.0, -0.0, 1.0, -1.0, -2.0, inf, -inf, nan]


LOGARITHM_PAIRS = pairs(LOGARITHM_SIDES, LOGARITHM_SIDES)


@operator(
    "special.xlog1py",
    elementwise=True,
    points=[call(*LOGARITHM_PAIRS)],
    jax_idioms={"jax.scipy.special.xlog1py(x, y)": jss.xlog1py},
)
def xlog1py(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left)), draw(floats(right, low=-0.9)))
