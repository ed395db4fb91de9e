"""Records of the operators in `jaxgrad/functional/reduction/amax_max.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats
from parity_tests.operators.reduction._shared import EDGES, EMPTY, over


TIES = [[1.0, 3.0, 3.0, 2.0, 3.0], [-1.0, -3.0, -3.0, -2.0, -3.0], [0.0, -0.0, -1.0, 0.0, 0.0]]


def chosen(draw):
    x = draw(floats())
    if draw(st.booleans()):
        return call(x)
    return call(x, draw(dims(x.ndim)), draw(st.booleans()))


for name, idiom in (("amax", jnp.max), ("amin", jnp.min)):
    operator(
        name,
        points=[call(TIES), call(TIES, 1), call(EDGES), call(EDGES, 1), call(EMPTY, 1)],
        raises=[
            RaisesFor(call(EMPTY), RuntimeError, "to be specified"),
            RaisesFor(call(EMPTY, 0), IndexError, "to have non-zero"),
        ],
        jax_idioms={f"jnp.{idiom.__name__}(x, dim)": idiom},
        source="P013 P038",
    )(over)


@operator(
    "aminmax",
    points=[
        call(TIES),
        call(TIES, dim=1),
        call(EDGES),
        call(EDGES, dim=1),
        call(np.array(1.0), dim=0),
        call(np.ones((0, 3)), dim=1),
        call(np.ones((3, 0)), dim=0, keepdim=True),
    ],
    raises=[
        RaisesFor(call(EMPTY), RuntimeError, "no identity"),
        RaisesFor(call(np.ones((0, 3)), dim=0), IndexError, "to have non-zero size"),
    ],
)
def aminmax(draw):
    x = draw(floats())
    dim = draw(st.one_of(st.none(), dims(x.ndim)))
    return call(x, dim=dim, keepdim=draw(st.booleans()))


for name, idiom in (("max", jnp.max), ("min", jnp.min)):
    operator(
        name,
        points=[call(TIES), call(TIES, 1), call(EDGES), call(EDGES, 1), call(np.array(1.0), 0)],
        raises=[
            RaisesFor(call(EMPTY), RuntimeError, "to be specified"),
            RaisesFor(call(EMPTY, 0), IndexError, "to have non-zero"),
        ],
        jax_idioms={f"jnp.{name}(x, dim)": idiom},
        forward_mode="for a NaN result torch's forward mode is NaN, but its gradient is not",
        source="P012 P013 P038",
    )(chosen)
