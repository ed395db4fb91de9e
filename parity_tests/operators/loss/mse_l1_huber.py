"""Records of the operators in `jaxgrad/functional/loss/mse_l1_huber.py`."""

import jax.numpy as jnp
import numpy as np
import optax
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.loss._shared import (
    NONE,
    PAIRS,
    REDUCTIONS,
    UNKNOWN_REDUCTION,
    reduced,
    two,
)


inf, nan = np.inf, np.nan
NUMBERS = ~np.isnan(PAIRS[0]) & ~np.isnan(PAIRS[1])
LEFT, RIGHT = (x[NUMBERS] for x in PAIRS)


def weighed(draw, x):
    """Draw a weight for each element, or no weights."""
    if not draw(st.booleans()):
        return {}
    return {"weight": draw(floats(x.shape, 0.2, 2))}


@operator(
    "l1_loss",
    elementwise=True,
    points=[
        call(*PAIRS, **NONE),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
        call(np.arange(4), np.array([1, 5, 0, 3]), reduction="sum"),
    ],
    raises=[
        UNKNOWN_REDUCTION,
        RaisesFor(
            call(np.arange(2), np.arange(2)),
            RuntimeError,
            torch="could not infer output dtype",
            jax="mean(): the input dtype",
        ),
        RaisesFor(
            call(np.ones(2), np.ones(2), weight=np.ones(3)),
            ValueError,
            "Weights and input must have the same size",
        ),
    ],
    jax_idioms={
        "jnp.abs(x - y)": lambda x, y, reduction="mean": reduced(jnp.abs(x - y), reduction)
    },
    source="P004",
)
def l1_loss(draw):
    x, y = two(draw)
    return call(x, y, reduction=draw(REDUCTIONS), **weighed(draw, x))


@operator(
    "mse_loss",
    elementwise=True,
    points=[
        call(*PAIRS, **NONE),
        call([1.0, 2.0], [0.0, 0.0]),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
    ],
    differences=[
        PinnedDifference(
            call([0.0, -1.0], [1.0, 1.0], weight=np.array([-1.0, 1.0])),
            {"tangent/0": (-inf, nan)},
            "torch's forward mode of a quotient is (dx - out dy) / y, but its gradient is -x / y "
            "/ y",
        )
    ],
    raises=[UNKNOWN_REDUCTION],
    jax_idioms={
        "optax.l2_loss(x, y)": lambda x, y, reduction="mean": reduced(
            optax.l2_loss(x, y), reduction
        )
    },
    source="P092",
)
def mse_loss(draw):
    x, y = two(draw)
    return call(x, y, reduction=draw(REDUCTIONS), **weighed(draw, x))


@operator(
    "smooth_l1_loss",
    elementwise=True,
    points=[
        *(call(LEFT, RIGHT, **NONE, beta=b) for b in (1.0, 0.5)),
        call([nan], [1.0]),
        call([1.0, 1.0, 2.0], [1.0, 2.0, 0.0], beta=0),
    ],
    raises=[
        UNKNOWN_REDUCTION,
        RaisesFor(call(np.ones(2), np.ones(2), beta=-1.0), RuntimeError, "negative"),
    ],
    jax_idioms={
        "optax.huber_loss(x, y, delta)": lambda x, y, reduction="mean", beta=1.0: reduced(
            optax.huber_loss(x, y, delta=beta), reduction
        )
    },
    source="P093 P173",
)
def smooth_l1_loss(draw):
    x, y = two(draw)
    beta = draw(st.sampled_from([0.0, 0.5, 1.0, 2.0]))
    return call(x, y, reduction=draw(REDUCTIONS), beta=beta)


@operator(
    "huber_loss",
    elementwise=True,
    points=[
        *(call(LEFT, RIGHT, **NONE, delta=b) for b in (1.0, 0.5)),
        call([nan], [1.0]),
    ],
    raises=[
        UNKNOWN_REDUCTION,
        RaisesFor(
            call(np.ones(2), np.ones(2), delta=0.0),
            RuntimeError,
            torch="non-positive",
            jax="non-pos",
        ),
    ],
    jax_idioms={
        "optax.huber_loss(x, y, delta)": lambda x, y, reduction="mean", delta=1.0: reduced(
            optax.huber_loss(x, y, delta=delta), reduction
        )
    },
    source="P093 P173",
)
def huber_loss(draw):
    x, y = two(draw)
    delta = draw(st.sampled_from([0.5, 1.0, 2.0]))
    return call(x, y, draw(REDUCTIONS), delta, **weighed(draw, x))
