"""Records of the operators in `jaxgrad/functional/reduction/cumsum_diff_trapezoid.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import WIDENED, dims, floats
from parity_tests.operators.reduction._shared import EMPTY


inf, nan = np.inf, np.nan
ZEROS = [[0.0, 2.0, 3.0], [2.0, 0.0, 3.0], [2.0, 0.0, 0.0], [1.0, 2.0, 0.5]]


def along(draw, **options):
    x = draw(floats())
    return call(x, draw(dims(x.ndim)), **options)


@operator("cumsum", points=[call([1.0, inf, nan, 2.0], 0), call(EMPTY, 0), call(np.arange(3), 0)])
def cumsum(draw):
    return along(draw, **draw(WIDENED))


@operator(
    "cumprod",
    points=[call(ZEROS, 1), call([2.0, inf, -3.0], 0), call(EMPTY, 0), call(np.arange(3), 0)],
    differences=[
        PinnedDifference(
            call([inf], 0),
            {"tangent/0": (nan, 1.0)},
            "torch's forward mode divides by every factor; its gradient does not divide by a "
            "single one",
        ),
        PinnedDifference(
            call([2.0, inf, 0.0], 0),
            {
                "gradient/0": ([inf, nan, inf], [inf, 4.0, inf]),
                "second/0": ([inf, nan, inf], [nan, 20.0, nan]),
                "tangent/0": ([1.0, inf, inf], [1.0, inf, nan]),
            },
            "torch has one formula for `backward()` and one for `create_graph`; JAX uses a "
            "recurrence, in which 0 meets an infinity at other elements",
        ),
    ],
    jax_idioms={"jnp.cumprod(x, dim)": jnp.cumprod},
)
def cumprod(draw):
    return along(draw, **draw(WIDENED))


@operator(
    "logcumsumexp",
    points=[
        call([0.0, 1.0, 2.0], 0),
        *(call(x, 0) for x in ([inf, 1.0, 2.0], [-inf, -inf, 0.0], [1.0, -inf, 2.0], [1.0, nan])),
    ],
    raises=[RaisesFor(call(np.arange(3), 0), NotImplementedError, "logcumsumexp")],
    forward_mode="torch's forward mode adds 1e-13 to the denominator",
    jax_idioms={"lax.cumlogsumexp(x, dim)": jax.lax.cumlogsumexp},
)
def logcumsumexp(draw):
    return along(draw)


@operator(
    "diff",
    points=[call([1.0, inf, nan, 2.0]), call(EMPTY), call([1.0, 2.0], 5), call([1.0, 2.0], 0)],
    raises=[
        RaisesFor(call(np.array(1.0)), RuntimeError, "one-dimensional"),
        RaisesFor(call(np.ones(2), -1), RuntimeError, "non-negative"),
        RaisesFor(call(np.ones((2, 2)), prepend=np.ones(2)), RuntimeError, "same dim"),
    ],
)
def diff(draw):
    x = draw(floats(dims=1))
    more = {name: x for name in ("prepend", "append") if draw(st.booleans())}
    return call(x, draw(st.integers(0, 3)), draw(dims(x.ndim)), **more)


for name in ("trapezoid", "cumulative_trapezoid"):

    @operator(
        name,
        points=[
            call([1.0, inf, 2.0]),
            call([[1.0], [2.0]]),
            call(np.arange(4)),
            call([1.0], [2.0]),
        ],
        raises=[
            RaisesFor(call(np.array([True])), RuntimeError, "bool input"),
            RaisesFor(call(np.ones(3), np.ones(2)), RuntimeError, "one `x`"),
            RaisesFor(call(np.array(1.0)), IndexError, torch="dim", jax="has no dimensions"),
        ],
    )
    def integral(draw):
        y = draw(floats(dims=1))
        dim = draw(dims(y.ndim))
        how = draw(st.sampled_from(["x", "same", "dx"]))
        if how == "dx":
            return call(y, dx=draw(st.sampled_from([2, 0.5])), dim=dim)
        return call(y, draw(floats(y.shape if how == "same" else (y.shape[dim],))), dim=dim)
