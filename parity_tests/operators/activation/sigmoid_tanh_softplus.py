"""Records of the operators in `jaxgrad/functional/activation/sigmoid_tanh_softplus.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.activation._shared import NAN, SMOOTH, SPECIAL


inf, nan = np.inf, np.nan


@operator(
    "softplus",
    elementwise=True,
    points=[call([*SMOOTH, 20.0, 25.0]), call([2.0, 2.1, 1.9, nan], 10.0)],
    jax_idioms={"jax.nn.softplus(x)": lambda x, beta=1: jax.nn.softplus(beta * x) / beta},
    source="P016",
)
def softplus(draw):
    beta, threshold = draw(st.floats(0.2, 8)), draw(st.floats(0, 30))
    return call(draw(floats(low=-4, high=4)), beta, threshold=threshold)


@operator(
    "softsign",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 1e160, 1e300])],
    jax_idioms={"jax.nn.soft_sign(x)": jax.nn.soft_sign},
)
def softsign(draw):
    return call(draw(floats()))


@operator(
    "hardsigmoid",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 3.0, -3.0])],
    torch_gradient=True,
    differences=[
        PinnedDifference(
            call([0.5]),
            {"gradient/0": (float(np.float32(1 / 6)), 1 / 6)},
            "torch rounds 1 / 6 to float32 in the gradient of a float64 input",
        )
    ],
    jax_idioms={"jax.nn.hard_sigmoid(x)": jax.nn.hard_sigmoid},
)
def hardsigmoid(draw):
    return call(draw(floats(low=-5, high=5)))


@operator(
    "logsigmoid",
    elementwise=True,
    points=[NAN, call(SMOOTH)],
    jax_idioms={"jax.nn.log_sigmoid(x)": jax.nn.log_sigmoid},
)
def logsigmoid(draw):
    return call(draw(floats()))


@operator(
    "sigmoid",
    elementwise=True,
    points=[NAN, call(SMOOTH)],
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
    jax_idioms={"jax.nn.sigmoid(x)": jax.nn.sigmoid},
)
def sigmoid(draw):
    return call(draw(floats()))


@operator(
    "tanh",
    elementwise=True,
    points=[NAN, call([*SMOOTH, 19.5])],
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
    jax_idioms={"jnp.tanh(x)": jnp.tanh},
)
def tanh(draw):
    return call(draw(floats()))


@operator(
    "logit",
    elementwise=True,
    points=[call([0.0, 1.0, 0.5, 1e-8]), call([nan]), call([0.2, 0.8, 0.1, 0.5], 0.2)],
    differences=[
        PinnedDifference(
            call([-0.5, 2.0]),
            {"transpose/0": (0.0, nan)},
            "torch's gradient is NaN for every cotangent, JAX's is NaN times the cotangent",
        ),
        PinnedDifference(
            call([-0.0]),
            {"tangent/0": (-inf, inf), "transpose/0": (-inf, inf)},
            "torch multiplies by inf in `backward()`, and divides by -0.0 in forward mode and "
            "with `create_graph`; here all have the inf of `backward()`",
        ),
    ],
    jax_idioms={
        "jax.scipy.special.logit(jnp.clip(x, eps, 1 - eps))": lambda x, eps=0.0: (
            jax.scipy.special.logit(jnp.clip(x, eps, 1 - eps) if eps else x)
        )
    },
    source="P018",
)
def logit(draw):
    return call(draw(floats(low=0.05, high=0.95)), draw(st.sampled_from([None, 0.2])))
