"""Records of the operators in `jaxgrad/functional/nn/layer_group_rms_norm.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes
from parity_tests.operators.nn._shared import FOLDED, ONES, flax_layer_norm, weight_and_bias


inf, nan = np.inf, np.nan
CONSTANT = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 2.0, 5.0]]
FAR = 3.0 + np.arange(8.0).reshape(2, 4) / 8


@operator(
    "layer_norm",
    points=[
        call(CONSTANT, (3,)),
        call(CONSTANT, (3,), eps=0.0),
        call([[inf, 1.0, 2.0], [nan, 1.0, 2.0]], (3,)),
        call(FAR, (4,), eps=0.1),
        call([1.0, 2.0, 4.0], (3,)),
        call(np.zeros((0, 3)), (3,)),
        call(np.zeros((3, 0)), (0,)),
    ],
    raises=[
        RaisesFor(
            call(ONES, (4,)),
            RuntimeError,
            torch="Given normalized_shape=[4]",
            jax="input of size[2, 4",
        ),
        RaisesFor(call(ONES, ()), RuntimeError, "at least 1-dimensional"),
        RaisesFor(call(ONES, (3,), np.ones(4)), RuntimeError, torch="same shape", jax="shape [4]"),
        RaisesFor(
            call(ONES, (3,), np.ones(3, "f4")), RuntimeError, torch="mixed dtype", jax="float32"
        ),
        RaisesFor(call(np.ones(3, int), (3,)), NotImplementedError, torch="Long", jax="int64"),
    ],
    differences=[
        PinnedDifference(
            call([1.0, 2.0, -9.0], (3,), [inf, 1.0, 1.0]),
            {"gradient/0": ([nan, -inf, nan], nan)},
            "torch's gradient subtracts means of infinite sums; JAX subtracts them element by "
            "element",
        )
    ],
    jax_idioms={"flax.linen.LayerNorm()(x)": flax_layer_norm},
    source="P108 P110",
)
def layer_norm(draw):
    shape = draw(shapes(low=1, side=5, least=3))
    dims = shape[draw(st.integers(0, len(shape) - 1)) :]
    weight, bias = weight_and_bias(draw, dims)
    return call(
        draw(floats(shape)),
        dims,
        weight,
        bias=bias,
        eps=draw(st.sampled_from([1e-5, 0.1])),
    )


@operator(
    "rms_norm",
    points=[
        call(CONSTANT, (3,)),
        call([[inf, 1.0, 2.0], [nan, 1.0, 2.0]], (3,)),
        call([[1e-3, -2e-3]], (2,)),
        call(CONSTANT[1:], (3,), eps=0.0),
        call(np.zeros((0, 3)), (3,)),
    ],
    raises=[
        RaisesFor(
            call(ONES, (4,)),
            RuntimeError,
            torch="Given normalized_shape=[4]",
            jax="input of size[2, 4",
        ),
        RaisesFor(call(ONES, ()), RuntimeError, "at least 1-dimensional"),
        RaisesFor(call(ONES, (3,), np.ones(4)), RuntimeError, torch="same shape", jax="shape [4]"),
        RaisesFor(call(np.ones(3, int), (3,)), NotImplementedError, torch="Long", jax="int64"),
    ],
    jax_idioms={
        "flax.linen.RMSNorm()(x)": lambda x, shape, eps=1e-6: (
            x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
        )
    },
    source="P109",
)
def rms_norm(draw):
    shape = draw(shapes(low=1))
    dims = shape[draw(st.integers(0, len(shape) - 1)) :]
    weight = draw(st.one_of(floats(dims), st.none()))
    return call(draw(floats(shape)), dims, weight, draw(st.sampled_from([None, 1e-3])))


@operator(
    "group_norm",
    points=[
        call([[[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 5.0]]], 2),
        call([[1.0], [2.0]], 1),
        call([[[inf, 1.0, 2.0], [nan, 1.0, 2.0], [2.0, 1.0, 0.0], [0.0, 5.0, 1.0]]], 4),
        call(np.zeros((0, 4, 2)), 2),
    ],
    raises=[
        RaisesFor(call(ONES, 3), RuntimeError, torch="divisible by num_groups", jax="num_groups=3"),
        RaisesFor(call(np.ones((1, 2)), 2), ValueError, "more than 1 value"),
        RaisesFor(call(np.ones(3), 1), RuntimeError, "at least 2"),
        RaisesFor(
            call(ONES, 2, np.ones(3)),
            RuntimeError,
            torch="number of channels",
            jax="4 elements not 3",
        ),
    ],
    differences=[
        PinnedDifference(
            call([[1.0, 2.0, 6.0]], 1, [inf, inf, inf]),
            {"forward/0": (nan, [[-inf, -inf, inf]])},
            FOLDED,
        )
    ],
    jax_idioms={
        "flax.linen.GroupNorm(1)(x)": lambda x, groups: flax_layer_norm(
            x.reshape(x.shape[0], groups, -1), ()
        ).reshape(x.shape)
    },
    source="P108",
)
def group_norm(draw):
    groups = draw(st.integers(1, 3))
    channels = groups * draw(st.integers(1, 2))
    shape = (draw(st.integers(1, 3)), channels, *draw(shapes(low=1, high=2, least=3)))
    eps = draw(st.sampled_from([{}, {"eps": 0.1}]))
    return call(draw(floats(shape)), groups, *weight_and_bias(draw, (channels,)), **eps)


@operator(
    "local_response_norm",
    dtypes=(
        "float64",
        "float32",
    ),  # torch's kernels for four and more dimensions lack half precision
    points=[call([[[0.0, inf], [1.0, nan]]], 2), call([[[0.0, 2.0], [1.0, -1.0]]], 3, k=0.5)],
    raises=[RaisesFor(call(np.ones((2, 3)), 2), ValueError, "3D or higher")],
)
def local_response_norm(draw):
    shape = draw(shapes(low=3, high=5, side=3))
    return call(
        draw(floats(shape)),
        draw(st.integers(1, 4)),
        alpha=draw(st.floats(0, 1)),
        beta=draw(st.sampled_from([0.75, 1.0])),
    )
