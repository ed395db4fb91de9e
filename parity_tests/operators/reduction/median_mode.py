"""Records of the operators in `jaxgrad/functional/reduction/median_mode.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats
from parity_tests.operators.reduction._shared import EMPTY, EVEN, TIES, WITH_NAN, repeated


nan = np.nan
NOT_EMPTY = RaisesFor(call(EMPTY, 0), IndexError, "to have non-zero")


@operator(
    "kthvalue",
    differences=[
        PinnedDifference(
            call([2.0, 1.0, 1.0, 1.0, 3.0], 2),
            {
                "forward/1": (3, 2),
                "gradient/0": ([0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
            },
            "torch's selection returns any index of a tie; JAX's ties keep their order in the "
            "input",
        )
    ],
    points=[call(EVEN[:1], 2), call([1.0, nan, 2.0], 3), call(np.array(1.0), 1)],
    raises=[
        RaisesFor(call(np.ones(2), 3), RuntimeError, "out of range"),
        RaisesFor(call(EMPTY, 1, 0), IndexError, "to have non-zero"),
    ],
    source="P066",
)
def kthvalue(draw):
    x = draw(floats())
    dim = draw(dims(x.ndim))
    k = draw(st.integers(1, x.shape[dim] if x.ndim else 1))
    return call(x, k, dim, draw(st.booleans()))


def middle(draw):
    x = draw(floats())
    return call(x) if draw(st.booleans()) else call(x, draw(dims(x.ndim)), draw(st.booleans()))


for name in ("median", "nanmedian"):
    operator(
        name,
        points=[
            *(call(x) for x in (EVEN, TIES, WITH_NAN)),
            *(call(x, 1) for x in (EVEN, TIES[1:], WITH_NAN[:2])),
            call(np.zeros(0)),
            call(np.array(1.0), 0),
            call(np.arange(4)),
        ],
        differences=[
            PinnedDifference(
                call([nan, nan]),
                {"tangent/0": (nan, 1.5)},
                "torch's forward mode counts elements equal to NaN, of which there are none",
            )
        ]
        * (name == "nanmedian"),
        raises=[NOT_EMPTY],
        jax_idioms={f"jnp.{name}(x, dim)": getattr(jnp, name)},
        forward_mode="for NaN torch's forward mode is NaN, but its gradient is not"
        * (name == "median"),
        source="P063 P064",
    )(middle)


@operator(
    "mode",
    differences=[
        PinnedDifference(
            call([nan, 2.0, -1.0]),
            {
                "forward/0": (nan, -1.0),
                "forward/1": (0, 2),
                "gradient/0": ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
            },
            "torch sorts with <, so a NaN stays in place and its neighbours are not compared",
        )
    ],
    points=[call(TIES), call(EVEN, 0), call([2.0, 1.0, 1.0, 3.0, 2.0]), call(np.array(1.0))],
    raises=[NOT_EMPTY],
    source="P066",
)
def mode(draw):
    return repeated(draw)
