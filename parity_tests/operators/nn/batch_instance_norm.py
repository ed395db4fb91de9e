"""Records of the operators in `jaxgrad/functional/nn/batch_instance_norm.py`."""

from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes
from parity_tests.operators.nn._shared import FOLDED, ONES, flax_layer_norm, weight_and_bias


inf, nan = np.inf, np.nan


def _torch_batch_norm(input, running_mean, running_var, *args, **kwargs):
    """Return torch's output and the running statistics, which torch updates in place."""
    running: Any = [None if x is None else x.detach().clone() for x in (running_mean, running_var)]
    output = torch.nn.functional.batch_norm(input, *running, *args, **kwargs)
    return (output, *(x for x in running if x is not None))


def _flax_batch_norm(x, *rest, training=True, **__):
    return flax_layer_norm(x.T, ()).T if training else x


@operator(
    "batch_norm",
    torch=_torch_batch_norm,
    points=[
        call([[2.0, 1.0], [2.0, 3.0], [2.0, 5.0]], [0.0, 0.0], [1.0, 1.0], training=True, eps=0.1),
        call([[0.0, inf], [2.0, 3.0], [1.0, nan]], None, None, training=True),
        call([[0.0, inf], [2.0, nan]], [1.0, 1.0], [0.0, 1.0]),
        call(np.ones((2, 2)), [1.0, 2.0], [0.0, 1.0], eps=0.0),
        call(np.ones((0, 2)), [1.0, 2.0], [0.5, 1.0], [2.0, 3.0], training=True),
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
        *weight_and_bias(draw, (channels,)),
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
        *weight_and_bias(draw, (channels,)),
        own,
        **draw(st.sampled_from([{}, {"momentum": 0.3, "eps": 0.1}])),
    )
