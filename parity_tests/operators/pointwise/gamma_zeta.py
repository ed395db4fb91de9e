"""Records of the operators in `jaxgrad/functional/pointwise/gamma_zeta.py`."""

import jax.scipy.special as jss
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, integers, within
from parity_tests.operators.pointwise._shared import NAN, SPECIAL_EDGES, WIDE


inf = np.inf
POLES = [0.0, -0.0, -1.5, -9.5, 1.0, 2.0, 0.5, 30.0, 1e10, inf]


operator(
    "lgamma",
    elementwise=True,
    max_programs=3,
    points=[call([*POLES, -1.0]), NAN],
    jax_idioms={"jax.scipy.special.gammaln(x)": jss.gammaln},
    tolerance={"float32": Tolerance(2e-6, "XLA's float32 series is accurate to 6 ULP")},
    source="P041",
)(within(0.2, 6))


operator(
    "digamma",
    elementwise=True,
    max_programs=3,
    points=[call(POLES), NAN],
    jax_idioms={"jax.scipy.special.digamma(x)": jss.digamma},
)(within(0.2, 6))


@operator(
    "polygamma",
    max_programs=5,
    elementwise=True,
    points=[call(0, POLES), call(1, POLES), call(2, [0.0, -1.0, 1.0, 30.0, inf])],
    raises=[RaisesFor(call(-1, SPECIAL_EDGES), RuntimeError, "negative n")],
    jax_idioms={"jax.scipy.special.polygamma(n, x)": jss.polygamma},
    dtypes=WIDE,
)
def polygamma(draw):
    return call(draw(st.integers(0, 3)), draw(floats(low=0.3, high=6)))


@operator(
    "mvlgamma",
    max_programs=4,
    elementwise=True,
    points=[call([2.0, 3.0, 0.4, 0.5, inf], 2), call([0.0, -0.0], 1)],
    raises=[RaisesFor(call(SPECIAL_EDGES, 0), RuntimeError, "greater than or")],
)
def mvlgamma(draw):
    return call(draw(floats(low=1.2, high=6)), draw(st.integers(1, 3)))


def _whole(fun):
    """Return torch's function with its first argument cast to the second's dtype.

    For an integer argument, torch's gradient would round lgamma to float32.
    """
    return lambda x, y: fun(x if x.requires_grad else x.to(y.dtype), y)


for name, forward in (
    ("igamma", jss.gammainc),
    ("igammac", jss.gammaincc),
):

    @operator(
        name,
        torch=_whole(getattr(torch, name)),
        max_programs=4,
        tolerance={"float32": Tolerance(4e-6, "XLA's float32 series is accurate to 11 ULP")},
        elementwise=True,
        points=[call(np.array([1, 2, 0, 3, 1]), [0.0, 1.0, 2.0, inf, -1.0])],
        raises=[
            RaisesFor(call([1.0], [2.0]), RuntimeError, jax="is not implemented", when="backward")
        ],
        jax_idioms={f"jax.scipy.special.{forward.__name__}(x, y)": forward},
        dtypes=WIDE,
    )
    def incomplete(draw):
        left, right = draw(broadcast())
        return call(draw(integers(left, 1, 5)), draw(floats(right, low=0.2, high=6)))


@operator(
    "special.zeta",
    max_programs=4,
    elementwise=True,
    points=[call(np.array([2, 3, 2, 3, 2, 1, 3]), [1.0, 0.0, -9.5, -1.0, 30.0, 2.0, -20.3])],
    raises=[RaisesFor(call([2.0], [2.0]), RuntimeError, jax="is not implemented", when="backward")],
    dtypes=WIDE,
)
def zeta(draw):
    left, right = draw(broadcast())
    return call(draw(integers(left, 2, 5)), draw(floats(right, low=0.2, high=6)))
