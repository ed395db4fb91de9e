"""Records of normalisations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes


inf, nan = np.inf, np.nan
ONES = np.ones((2, 4, 3))
CONSTANT = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 2.0, 5.0]]
FAR = 3.0 + np.arange(8.0).reshape(2, 4) / 8


def _parameters(draw, shape):
    """Weight and bias; torch's second derivative crashes where there is a bias alone."""
    count = draw(st.integers(0, 2))
    return [draw(floats(shape)) if i < count else None for i in range(2)]


def _flax(x, shape, weight=None, bias=None, eps=1e-6):
    """What `flax.linen.LayerNorm()` does: eps 1e-6, E[x^2] - E[x]^2."""
    mean = jnp.mean(x, -1, keepdims=True)
    var = jnp.maximum(0.0, jnp.mean(x * x, -1, keepdims=True) - mean**2)
    y = (x - mean) * jax.lax.rsqrt(var + eps)
    return y if weight is None else y * weight + bias


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
            "torch's gradient takes the mean from sums that are infinite, ours from each element",
        )
    ],
    jax_idioms={"flax.linen.LayerNorm()(x)": _flax},
    source="P108 P110",
)
def layer_norm(draw):
    shape = draw(shapes(low=1, side=5, least=3))
    dims = shape[draw(st.integers(0, len(shape) - 1)) :]
    weight, bias = _parameters(draw, dims)
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


FOLDED = (
    "torch's kernel folds mean, variance and weight into a factor and a shift, inf - inf; ours "
    "centres first, as torch's layer_norm does"
)


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
        "flax.linen.GroupNorm(1)(x)": lambda x, groups: _flax(
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
    return call(draw(floats(shape)), groups, *_parameters(draw, (channels,)), **eps)


def _torch_batch_norm(input, running_mean, running_var, *args, **kwargs):
    """torch's, with the running statistics that it writes in place as results."""
    running: Any = [None if x is None else x.detach().clone() for x in (running_mean, running_var)]
    output = torch.nn.functional.batch_norm(input, *running, *args, **kwargs)
    return (output, *(x for x in running if x is not None))


def _flax_batch_norm(x, *rest, training=True, **__):
    return _flax(x.T, ()).T if training else x


@operator(
    "batch_norm",
    torch=_torch_batch_norm,
    points=[
        call([[2.0, 1.0], [2.0, 3.0], [2.0, 5.0]], [0.0, 0.0], [1.0, 1.0], training=True, eps=0.1),
        call([[0.0, inf], [2.0, 3.0], [1.0, nan]], None, None, training=True),
        call([[0.0, inf], [2.0, nan]], [1.0, 1.0], [0.0, 1.0]),
        call(np.ones((2, 2)), [1.0, 2.0], [0.0, 1.0], eps=0.0),
    ],
    raises=[
        RaisesFor(call(ONES, None, None), RuntimeError, "must be defined"),
        RaisesFor(
            call(np.ones((1, 3)), None, None, training=True), ValueError, "more than 1 value"
        ),
        RaisesFor(
            call(ONES, None, None, training=True, eps=0.0), ValueError, "eps must be positive"
        ),
        RaisesFor(call(ONES, None, None, eps=-1.0), ValueError, "non-negative"),
        RaisesFor(call(ONES, np.ones(3), np.ones(4)), RuntimeError, "4 elements not 3"),
        RaisesFor(
            call(np.ones(3), None, None, training=True),
            IndexError,
            torch="Dimension",
            jax="(N, C, ...)",
        ),
    ],
    differences=[
        PinnedDifference(
            call([[1.0], [2.0], [6.0]], None, None, [inf], training=True),
            {
                "forward/0": (nan, [[-inf], [-inf], [inf]]),
                "gradient/0": ([[-inf], [inf], [-inf]], nan),
                "second/0": ([[inf], [-inf], [inf]], nan),
            },
            FOLDED,
        )
    ],
    jax_idioms={"flax.linen.BatchNorm()(x)": _flax_batch_norm},
    source="P111 P112 P113",
)
def batch_norm(draw):
    channels = draw(st.integers(1, 3))
    shape = (draw(st.integers(3, 5)), channels, *draw(shapes(high=2)))
    training = draw(st.booleans())
    running = not training or draw(st.booleans())
    return call(
        draw(floats(shape)),
        draw(floats((channels,))) if running else None,
        draw(floats((channels,), low=0.5)) if running else None,
        *_parameters(draw, (channels,)),
        training,
        momentum=draw(st.sampled_from([0.1, 0.0, 0.7])),
    )


def _torch_instance_norm(input, running_mean=None, running_var=None, *args, **kwargs):
    running: Any = [None if x is None else x.detach().clone() for x in (running_mean, running_var)]
    output = torch.nn.functional.instance_norm(input, *running, *args, **kwargs)
    return output if running_mean is None else (output, *running)


@operator(
    "instance_norm",
    torch=_torch_instance_norm,
    points=[
        call([[[2.0, 2.0, 2.0], [0.0, inf, 1.0], [0.0, nan, 1.0], [1.0, -1.0, 3.0]]]),
        call(np.ones((2, 1, 3)), [0.0], [1.0]),
    ],
    raises=[
        RaisesFor(call(np.ones((2, 3, 1))), ValueError, "1 spatial element"),
        RaisesFor(
            call(ONES, use_input_stats=False),
            RuntimeError,
            torch="to be defined when",
            jax="to be defined",
        ),
        RaisesFor(
            call(np.ones((2, 1, 3)), np.zeros(1), np.ones(1, "f4")),
            RuntimeError,
            torch="expected scalar type Double",
            jax="running_var of float32",
        ),
    ],
    differences=[
        PinnedDifference(
            call([[[1.0, 2.0, 6.0]]], None, None, [inf]),
            {
                "forward/0": (nan, [[[-inf, -inf, inf]]]),
                "gradient/0": ([[[-inf, inf, -inf]]], nan),
                "second/0": ([[[inf, -inf, inf]]], nan),
            },
            FOLDED,
        )
    ],
    source="P108 P114",
)
def instance_norm(draw):
    channels = draw(st.integers(1, 3))
    shape = (draw(st.integers(1, 3)), channels, *draw(shapes(low=1, high=2, least=3)))
    own = draw(st.booleans())
    running = not own or draw(st.booleans())
    return call(
        draw(floats(shape)),
        draw(floats((channels,))) if running else None,
        draw(floats((channels,), low=0.5)) if running else None,
        *_parameters(draw, (channels,)),
        own,
        **draw(st.sampled_from([{}, {"momentum": 0.3, "eps": 0.1}])),
    )


@operator(
    "local_response_norm",
    dtypes=("float64", "float32"),  # torch's kernels for four dims and more have no halves
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
