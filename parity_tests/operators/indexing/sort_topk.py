"""Records of the operators in `jaxgrad/functional/indexing/sort_topk.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats


inf, nan = np.inf, np.nan
EMPTY = np.zeros((0, 2))
TIES = [[2.0, 1.0, 2.0, 1.0, 2.0], [0.0, -0.0, 0.0, -1.0, inf], [3.0, 3.0, 3.0, 3.0, 3.0]]
WITH_NAN = [[1.0, nan, 2.0, 3.0], [nan, inf, nan, -inf], [nan, nan, nan, nan]]
EVEN = [[4.0, 1.0, 3.0, 2.0], [1.0, 2.0, 2.0, 3.0]]
UNSTABLE = "torch's sort of more than 16 elements is stable only with stable=True"


def along(draw):
    x = draw(floats())
    return call(x, dim=draw(dims(x.ndim)))


def ordered(draw):
    sample = along(draw)
    stable = draw(st.sampled_from([{}, {"stable": True}]))
    return call(*sample.args, **sample.kwargs, descending=draw(st.booleans()), **stable)


@operator(
    "sort",
    points=[
        *(call(x, descending=down) for x in (TIES, WITH_NAN) for down in (False, True)),
        call(EMPTY),
        call(np.array(1.0)),
    ],
    jax_idioms={
        "jnp.sort(x)[..., ::-1]": lambda x, descending=False: (
            (jnp.flip(jnp.sort(x, -1), -1) if descending and x.ndim else jnp.sort(x))
            if x.ndim
            else x
        )
    },
    source="P065",
)
def sort(draw):
    return ordered(draw)


@operator(
    "argsort",
    differences=[
        PinnedDifference(
            call(np.zeros(17)),
            {"forward/0": (np.array([8, *range(16, 8, -1), 0, *range(7, 0, -1)]), np.arange(17))},
            UNSTABLE,
        )
    ],
    points=[call(TIES), call(TIES, descending=True), call(WITH_NAN)],
)
def argsort(draw):
    return ordered(draw)


@operator("msort", points=[call(TIES), call(np.array(1.0))])
def msort(draw):
    return call(draw(floats()))


@operator(
    "topk",
    differences=[
        PinnedDifference(
            call([3.0, 1.0, 3.0, 3.0, 0.0], 2),
            {
                "forward/1": (np.array([2, 3]), np.array([0, 2])),
                "gradient/0": ([0.0, 0.0, 1.0, 2.0, 0.0], [1.0, 0.0, 2.0, 0.0, 0.0]),
            },
            "torch's partial sort returns ties in any order; JAX's keep their order in the input",
        )
    ],
    points=[call(EVEN[:1], 2), call(EVEN[:1], 0), call(np.array(1.0), 1), call([1.0, nan, 2.0], 2)],
    raises=[RaisesFor(call(np.ones(2), 3), RuntimeError, "k out of range")],
)
def topk(draw):
    x = draw(floats())
    dim = draw(dims(x.ndim))
    k = draw(st.integers(0, x.shape[dim] if x.ndim else 1))
    return call(x, k, dim, draw(st.booleans()))
