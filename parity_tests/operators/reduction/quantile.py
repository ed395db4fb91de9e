"""Records of the operators in `jaxgrad/functional/reduction/quantile.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import SELECTED_QUANTILES
from parity_tests.operators import PinnedDifference, RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import dims, floats
from parity_tests.operators.reduction._shared import EVEN, TIES, WITH_NAN


inf, nan = np.inf, np.nan
SELECTS = here(SELECTED_QUANTILES)  # torch selects an element instead of sorting all
UNSTABLE = (
    "torch's selection takes any of several equal elements, and jaxgrad's takes the first in the "
    "order of a stable sort"
    if SELECTS
    else "torch's sort of more than 16 elements is stable only with stable=True"
)


def at_quantiles(draw):
    x = draw(floats())
    q = draw(st.one_of(st.floats(0, 1), floats((2,), 0.05, 0.95)))
    hows = ["linear", "lower", "higher", "midpoint", "nearest"]
    dim = draw(st.one_of(st.none(), dims(x.ndim)))
    return call(x, q, dim, draw(st.booleans()), interpolation=draw(st.sampled_from(hows)))


REPEATED = call([1.0, 1.0, 2.0, 2.0, 2.0, 5.0, 7.0], 0.25, interpolation="nearest")
TIED = (
    (
        call(TIES[::2], 0.25, 1),
        [[0, 0, 0, 1, 0], [0, 0, 0, 0, 2]],
        [[0, 0, 0, 1, 0], [0, 2, 0, 0, 0]],
    ),
    (REPEATED, np.eye(7)[4], np.eye(7)[2]),
)
MISSING = call(WITH_NAN[::2], 0.5, 1)
WITH_MISSING = {
    "quantile": (MISSING, [[0, 1, 0, 0], [0, 2, 0, 0]], [[0, 1, 0, 0], [0, 0, 0, 2]]),
    "nanquantile": (MISSING, [[0, 0, 1, 0], [0, 0, 2, 0]], [[0, 0, 1, 0], [2, 0, 0, 0]]),
}
MANY = {
    "quantile": (
        call(np.zeros(24), 0.25, interpolation="lower"),
        np.eye(24)[13 if SELECTS else 19],
        np.eye(24)[5],
    ),
    "nanquantile": (
        call(np.zeros(24), 0.25),
        0.25 * np.eye(24)[13] + 0.75 * np.eye(24)[21]
        if SELECTS
        else 0.75 * np.eye(24)[18] + 0.25 * np.eye(24)[19],
        0.25 * np.eye(24)[5] + 0.75 * np.eye(24)[6],
    ),
}


for name in ("quantile", "nanquantile"):
    tied = [*TIED, WITH_MISSING[name]]
    operator(
        name,
        dtypes=("float64", "float32"),
        points=[
            call(EVEN, 0.5, 1),
            *(sample for sample, *_ in tied if not SELECTS),
            call([1.0, 2.0, 4.0], [0.0, 0.5, 1.0]),
            call([1.0, inf, -inf, 2.0], [0.3, 0.5, 0.9]),
            call([nan], [0.0, 0.25, 1.0]),
        ],
        differences=[
            PinnedDifference(sample, {"gradient/0": (of_torch, of_jax)}, UNSTABLE)
            for sample, of_torch, of_jax in [MANY[name], *(tied if SELECTS else [])]
        ],
        raises=[
            RaisesFor(call(np.ones(2), 1.5), RuntimeError, "q must be in"),
            RaisesFor(call(np.ones(2), [1.5]), RuntimeError, "q values must be"),
            RaisesFor(call(np.arange(2), 0.5), RuntimeError, "input tensor must"),
            RaisesFor(call(np.zeros(0), 0.5), RuntimeError, "non-empty"),
            RaisesFor(call(np.ones(2), np.ones((1, 1))), RuntimeError, "1D tensor"),
            RaisesFor(call(np.ones(2), 0.5, interpolation="x"), RuntimeError, "one of"),
        ],
        jax_idioms={
            f"jnp.{name}(x, q, dim)": lambda x, q, dim=None, interpolation="linear", f=name: (
                getattr(jnp, f)(x, q, dim, method=interpolation)
            )
        },
    )(at_quantiles)
