"""Records of activations: rectifiers, exponential units, sigmoids, gates, shrinks, softmaxes."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import WIDENED, dims, floats, shapes


inf, nan = np.inf, np.nan
SPECIAL = [0.0, -0.0, inf, -inf, 1e-300, -1e-300, 1e-8, -1e-8, 1e155, -1e155]
SMOOTH = [0.0, -0.0, inf, -inf, 1e-300, -1e-8, 1.0, -1.0, 3.0, -3.0, 10.0, -10.0, 30.0, -30.0]
TAILS = [*SMOOTH, -20.0, -37.0, -40.0, -100.0, 100.0, 709.0, -709.0, 1e4, -1e4, 1e155, -1e155]
# torch's vectorised loop and its tail, which is all there is of a few elements, differ at NaN.
MANY = np.full(32, np.nan)
LOOP = "torch's vectorised loop has another branch at NaN than its tail, as which ours is"
NAN = call([nan])  # alone: what torch has at NaN may depend on the place in an array
ROUNDED = 1 / float(np.float32(0.7))
EMPTY = np.zeros((0, 3))


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
            "at 0 torch's forward mode has slope 1, its own gradient the weight; ours has the "
            "gradient's in both",
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
    "elu",
    source="P169",
    elementwise=True,
    points=[NAN, call(TAILS), call(TAILS, -0.7), call(EMPTY)],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (nan, 1.0)}, LOOP)],
    jax_idioms={"jax.nn.elu(x)": jax.nn.elu},
)
def elu(draw):
    return call(draw(floats()), draw(st.floats(0.1, 2)))


@operator(
    "selu",
    elementwise=True,
    points=[NAN, call(TAILS)],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (nan, 1.0507009873554805)}, LOOP)],
    jax_idioms={"jax.nn.selu(x)": jax.nn.selu},
)
def selu(draw):
    return call(draw(floats()))


@operator(
    "celu",
    source="P169",
    elementwise=True,
    points=[NAN, call(TAILS), call(TAILS, 2.0)],
    raises=[RaisesFor(call(np.ones(2), 0.0), RuntimeError, "alpha")],
    torch_gradient=True,
    differences=[
        PinnedDifference(call(MANY, 1.0), {"gradient/0": (nan, 1.0)}, LOOP),
        PinnedDifference(
            call([-0.3], 0.7),
            {"gradient/0": (np.exp(-0.3 * ROUNDED) * 0.7 * ROUNDED, np.exp(-0.3 / 0.7))},
            "torch rounds alpha to float32 in the gradient of a float64 input",
        ),
    ],
    jax_idioms={"jax.nn.celu(x)": jax.nn.celu},
)
def celu(draw):
    return call(draw(floats()), draw(st.floats(0.1, 2)))


@operator(
    "gelu",
    elementwise=True,
    points=[NAN, call(SMOOTH), call(SMOOTH, approximate="tanh"), call(EMPTY)],
    raises=[RaisesFor(call(np.ones(2), approximate="erf"), RuntimeError, "approximate")],
    jax_idioms={"jax.nn.gelu(x)": lambda x, approximate=None: jax.nn.gelu(x)},
    tolerance={"float32": Tolerance(1e-6, "XLA's float32 tanh is 2 ULP off, times a slope of 5")},
    source="P015",
)
def gelu(draw):
    return call(draw(floats()), approximate=draw(st.sampled_from(["none", "tanh"])))


@operator(
    "silu", elementwise=True, points=[NAN, call(SMOOTH)], jax_idioms={"jax.nn.silu(x)": jax.nn.silu}
)
def silu(draw):
    return call(draw(floats()))


@operator(
    "mish", elementwise=True, points=[NAN, call(SMOOTH)], jax_idioms={"jax.nn.mish(x)": jax.nn.mish}
)
def mish(draw):
    return call(draw(floats()))


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
    "tanhshrink",
    elementwise=True,
    points=[NAN, call(SMOOTH)],
    jax_idioms={"x - jnp.tanh(x)": lambda x: x - jnp.tanh(x)},
)
def tanhshrink(draw):
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
    "hardswish",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 3.0, -3.0])],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (nan, 1.0)}, LOOP)],
    jax_idioms={"jax.nn.hard_swish(x)": jax.nn.hard_swish},
)
def hardswish(draw):
    return call(draw(floats(low=-5, high=5)))


@operator(
    "hardshrink",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 0.5, -0.5]), call([0.0, -0.0, 1.0], 0.0)],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (0.0, 1.0)}, LOOP)],
    jax_idioms={"jnp.where(abs(x) > 0.5, x, 0)": lambda x, d=0.5: jnp.where(jnp.abs(x) > d, x, 0)},
)
def hardshrink(draw):
    return call(draw(floats()), draw(st.floats(0, 1)))


@operator(
    "softshrink",
    elementwise=True,
    points=[NAN, call([*SPECIAL, 0.5, -0.5]), call([0.0, -0.0, 1.0], 0.0)],
    raises=[RaisesFor(call(np.ones(2), -1.0), RuntimeError, torch="lambd", jax="lambda")],
    differences=[PinnedDifference(call(MANY), {"gradient/0": (0.0, 1.0)}, LOOP)],
    jax_idioms={
        "sign(x) * jnp.maximum(abs(x) - 0.5, 0)": lambda x, d=0.5: (
            jnp.sign(x) * jnp.maximum(jnp.abs(x) - d, 0)
        )
    },
    source="P009",
)
def softshrink(draw):
    return call(draw(floats()), draw(st.floats(0, 1)))


@operator(
    "threshold",
    elementwise=True,
    points=[call([nan], 0.5, 9.0), call([*SPECIAL, 0.5], 0.5, 9.0)],
    jax_idioms={"jnp.where(x > t, x, v)": lambda x, t, v: jnp.where(x > t, x, v)},
)
def threshold(draw):
    return call(draw(floats()), draw(st.floats(-1, 1)), draw(st.floats(-1, 1)))


@operator(
    "logsigmoid",
    elementwise=True,
    points=[NAN, call(SMOOTH)],
    jax_idioms={"jax.nn.log_sigmoid(x)": jax.nn.log_sigmoid},
)
def logsigmoid(draw):
    return call(draw(floats()))


@operator(
    "glu",
    points=[call([[1.0, inf], [nan, -inf]]), call(np.zeros((0, 2)))],
    raises=[
        RaisesFor(call(np.ones((2, 3))), RuntimeError, "must be even"),
        RaisesFor(call(np.array(1.0)), RuntimeError, "does not support scalars"),
        RaisesFor(call(np.ones((2, 2)), 2), IndexError, "out of range"),
    ],
    jax_idioms={"jax.nn.glu(x)": jax.nn.glu},
)
def glu(draw):
    shape = list(draw(shapes(low=1)))
    dim = draw(dims(len(shape)))
    shape[dim] *= 2
    return call(draw(floats(tuple(shape))), dim)


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


ROWS = [
    call([[-inf, -inf], [-inf, 1.0], [inf, 1.0], [nan, 1.0], [1e308, -1e308]], 1),
    call(np.zeros((0, 3)), 0),
    call(np.array(2.0), 0),
]
NO_DIM = RaisesFor(call(np.ones((2, 2)), 2), IndexError, "out of range")


@operator(
    "softmax",
    points=ROWS,
    raises=[NO_DIM],
    jax_idioms={"jax.nn.softmax(x, dim)": jax.nn.softmax},
    source="P043",
)
def softmax(draw):
    x = draw(floats())
    return call(x, draw(dims(x.ndim)), **draw(WIDENED))


@operator("softmin", points=ROWS, raises=[NO_DIM])
def softmin(draw):
    x = draw(floats())
    return call(x, draw(dims(x.ndim)), **draw(WIDENED))


@operator(
    "log_softmax",
    points=ROWS,
    raises=[NO_DIM],
    jax_idioms={"jax.nn.log_softmax(x, dim)": jax.nn.log_softmax},
)
def log_softmax(draw):
    x = draw(floats())
    return call(x, draw(dims(x.ndim)), **draw(WIDENED))
