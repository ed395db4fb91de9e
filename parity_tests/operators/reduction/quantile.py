"""Records of the operators in `jaxgrad/functional/reduction/quantile.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats
from parity_tests.operators.reduction._shared import EVEN, TIES, WITH_NAN


inf, nan = np.inf, np.nan
UNSTABLE = "torch's sort of more than 16 elements is stable only with stable=True"


def at_quantiles(draw):
    x = draw(floats())
    q = draw(st.one_of(st.floats(0, 1), floats((2,), 0.05, 0.95)))
    hows = ["linear", "lower", "higher", "midpoint", "nearest"]
    dim = draw(st.one_of(st.none(), dims(x.ndim)))
    return call(x, q, dim, draw(st.booleans()), interpolation=draw(st.sampled_from(hows)))


for name in ("quantile", "nanquantile"):
    operator(
        name,
        dtypes=("float64", "float32"),
        points=[
            call(EVEN, 0.5, 1),
            call(TIES[::2], 0.25, 1),
            call([1.0, 1.0, 2.0, 2.0, 2.0, 5.0, 7.0], 0.25, interpolation="nearest"),
            call(WITH_NAN[::2], 0.5, 1),
            call([1.0, 2.0, 4.0], [0.0, 0.5, 1.0]),
            call([1.0, inf, -inf, 2.0], [0.3, 0.5, 0.9]),
            call([nan], [0.0, 0.25, 1.0]),
        ],
        differences=[
            PinnedDifference(
                call(np.zeros(24), 0.25),
                {
                    "gradient/0": (
                        [0.0] * 18 + [0.75, 0.25] + [0.0] * 4,
                        [0.0] * 5 + [0.25, 0.75] + [0.0] * 17,
                    )
                },
                UNSTABLE,
            )
        ]
        if name == "nanquantile"
        else [
            PinnedDifference(
                call(np.zeros(24), 0.25, interpolation="lower"),
                {"gradient/0": (np.eye(24)[19], np.eye(24)[5])},
                UNSTABLE,
            )
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
