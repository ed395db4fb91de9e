"""Records of the operators in `jaxgrad/functional/activation/relu_hardtanh.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes
from parity_tests.operators.activation._shared import EMPTY, LOOP, MANY, NAN, SPECIAL


inf, nan = np.inf, np.nan


@operator(
    "relu",
    elementwise=True,
    points=[NAN, call(SPECIAL), call(EMPTY)],
    raises=[RaisesFor(call(1.0), TypeError, torch="must be Tensor", jax="must be an array")],
    jax_idioms={
        "jax.nn.relu(x)": jax.nn.relu,
        "jnp.maximum(x, 0)": lambda x: jnp.maximum(x, 0),
        "jnp.clip(x, 0)": lambda x: jnp.clip(x, 0),
    },
    source="P001 P002 P038",
)
def relu(draw):
    return call(draw(floats()))


@operator(
    "relu6",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 6.0]), call(EMPTY)],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (0.0, 1.0)}, LOOP)],
    jax_idioms={"jax.nn.relu6(x)": jax.nn.relu6, "jnp.clip(x, 0, 6)": lambda x: jnp.clip(x, 0, 6)},
)
def relu6(draw):
    return call(draw(floats(low=-3, high=9)))


@operator(
    "hardtanh",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 1.0, -1.0]), call([2.0, -0.5, 1.0, nan], -0.5, 2.0)],
    raises=[RaisesFor(call(np.ones(2), 2.0, 1.0), ValueError, "min_val")],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (0.0, 1.0)}, LOOP)],
    jax_idioms={
        "jax.nn.hard_tanh(x)": lambda x, low=-1, high=1: jax.nn.hard_tanh(x),
        "jnp.clip(x, -1, 1)": lambda x, low=-1, high=1: jnp.clip(x, low, high),
        "lax.clamp(-1, x, 1)": lambda x, low=-1.0, high=1.0: jax.lax.clamp(low, x, high),
    },
    source="P007",
)
def hardtanh(draw):
    low = draw(st.floats(-2, 0))
    return call(draw(floats()), low, max_val=low + draw(st.floats(0, 2)))


@operator(
    "leaky_relu",
    elementwise=True,
    points=[NAN, call(SPECIAL), call(SPECIAL, -0.1)],
    jax_idioms={"jax.nn.leaky_relu(x)": jax.nn.leaky_relu},
    source="P008",
)
def leaky_relu(draw):
    return call(draw(floats()), draw(st.floats(-1, 1)))


@operator(
    "prelu",
    points=[
        call([1.0, -1.0, nan], np.array(0.5)),
        call([1.0, 2.0], [inf]),
        call([inf, -inf], [0.5]),
        call(EMPTY, [0.1, 0.2, 0.3]),
    ],
    raises=[
        RaisesFor(call(np.ones((2, 3)), np.ones(2)), RuntimeError, "Mismatch"),
        RaisesFor(call(np.ones((2, 3)), np.ones((1, 3))), RuntimeError, "ndim = 2"),
    ],
    differences=[
        PinnedDifference(
            call([[0.0], [-0.0], [1.0], [-1.0]], [0.25]),
            {
                "tangent/0": ([[1], [2], [3], [0]], [[0.25], [0.5], [3], [0]]),
                "transpose/0": ([[1], [2], [3], [0]], [[0.25], [0.5], [3], [0]]),
            },
            "at 0 torch's forward mode has slope 1 and its gradient the weight; JAX uses the "
            "weight in both",
        )
    ],
    jax_idioms={"jnp.where(x >= 0, x, w * x)": lambda x, w: jnp.where(x >= 0, x, w * x)},
    source="P008",
)
def prelu(draw):
    shape = draw(shapes())
    channels = shape[1] if len(shape) > 1 else 1
    weights = draw(st.sampled_from([(), (1,), (channels,)]))
    return call(draw(floats(shape)), draw(floats(weights)))


@operator("rrelu", elementwise=True, points=[NAN, call(SPECIAL)])
def rrelu(draw):
    return call(draw(floats()), draw(st.floats(0, 0.3)), upper=draw(st.floats(0.3, 1)))


@operator(
    "threshold",
    elementwise=True,
    points=[call([nan], 0.5, 9.0), call([*SPECIAL, 0.5], 0.5, 9.0)],
    jax_idioms={"jnp.where(x > t, x, v)": lambda x, t, v: jnp.where(x > t, x, v)},
)
def threshold(draw):
    return call(draw(floats()), draw(st.floats(-1, 1)), draw(st.floats(-1, 1)))
