"""Records of the operators in `jaxgrad/functional/reduction/sum_mean_prod.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import WIDENED, dim_sets, dims, floats
from parity_tests.operators.reduction._shared import COMPLEX, EDGES, EMPTY, INTEGERS, over


inf, nan = np.inf, np.nan
NO_INTEGERS = RaisesFor(call(INTEGERS), RuntimeError, "floating point")
TWICE = RaisesFor(call(np.ones(2), (0, 0)), RuntimeError, "multiple times")


@operator("sum", points=[call(EDGES, 1), call(EMPTY), call(EMPTY, 0), call(INTEGERS)],
          raises=[TWICE], dtypes=COMPLEX)  # fmt: skip
def total(draw):
    return over(draw, **draw(WIDENED))


@operator("mean", points=[call(EDGES, 1), call(EMPTY, 1), call(np.array(2.0))],
          raises=[NO_INTEGERS, TWICE], dtypes=COMPLEX)  # fmt: skip
def mean(draw):
    return over(draw, **draw(WIDENED))


@operator("nansum", points=[call(EDGES, 1), call(EMPTY), call(INTEGERS)])
def nansum(draw):
    return over(draw, **draw(WIDENED))


@operator(
    "nanmean",
    points=[call(EDGES[:2], 1), call([1.0, nan]), call([nan, nan])],
    raises=[NO_INTEGERS],
    jax_idioms={"jnp.nanmean(x, dim)": lambda x, dim=None: jnp.nanmean(x, dim)},
)
def nanmean(draw):
    return over(draw, **draw(WIDENED))


@operator(
    "prod",
    points=[
        call([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, -2.0, 0.5]], 1),
        call([0.0, 2.0, 3.0]),
        call([0.0, 0.0, 3.0]),
        call([2.0, inf, -3.0]),
        call([2.0, nan]),
        call(EMPTY),
        call(EMPTY, 0),
        call(np.array(2.0)),
        call(INTEGERS),
    ],
    differences=[
        PinnedDifference(
            call([0.0, inf]),
            {"second/0": ([2.0, nan], [2.0, 1.0])},
            "torch's second derivative divides a cumulative product by the infinity",
        )
    ],
    jax_idioms={"jnp.prod(x, dim)": lambda x, dim=None: jnp.prod(x, dim)},
)
def prod(draw):
    x = draw(floats())
    if draw(st.booleans()):
        return call(x, **draw(WIDENED))
    return call(x, draw(dims(x.ndim)), draw(st.booleans()), **draw(WIDENED))


@operator(
    "logsumexp",
    points=[
        call([[1.0, -inf, 2.0], [-inf, -inf, -inf], [1e308, -1e308, 0.0]], 1),
        call([[inf, 1.0, 2.0], [nan, 1.0, 2.0], [inf, inf, -inf]], 1),
        call(INTEGERS, 0),
        call([[1.0, 2.0], [3.0, 5.0]], (), True),
        call(np.array(0.5), ()),
    ],
    raises=[RaisesFor(call([[1.0, 2.0]], ()), RuntimeError, "doesn't match the broadcast shape")],
    differences=[
        PinnedDifference(
            call(EMPTY, 0),
            {"tangent/0": (nan, 0.0)},
            "torch's forward mode of an empty sum computes 0 / 0",
        )
    ],
    jax_idioms={"jax.scipy.special.logsumexp(x, dim)": jax.scipy.special.logsumexp},
    source="P036",
)
def logsumexp(draw):
    x = draw(floats())
    dim = draw(dim_sets(x.ndim))
    return call(x, tuple(range(x.ndim)) if dim is None else dim, draw(st.booleans()))
