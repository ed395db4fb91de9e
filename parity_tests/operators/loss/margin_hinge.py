"""Records of the operators in `jaxgrad/functional/loss/margin_hinge.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, integers, shapes
from parity_tests.operators.loss._shared import (
    LABEL,
    NO_WEIGHT_GRADIENT,
    NONE,
    PAIRS,
    REDUCTIONS,
    ROW,
    UNKNOWN_REDUCTION,
    reduced,
    signs,
    with_weights_in_input_dtype,
)


inf, nan = np.inf, np.nan


def scored(draw):
    batch, classes = draw(shapes(0, 1)), draw(st.integers(1, 4))
    return draw(floats((*batch, classes))), batch, classes


def _maximum(x, y, p=1, margin=1.0, **_):
    z = jnp.maximum(0, margin - jnp.take_along_axis(x, y[:, None], 1) + x) ** p
    return jnp.mean(jnp.where(jnp.arange(x.shape[1]) == y[:, None], 0, z))


@operator(
    "multi_margin_loss",
    dtypes=("float64", "float32"),
    torch=with_weights_in_input_dtype("multi_margin_loss"),
    points=[
        call([[2.0, 1.0, 1.0, 0.0]], np.array([0])),
        call([[2.0, 1.5, 1.0, 0.0]], np.array([0]), p=2),
        call([[nan, 1.0, inf, -inf]], np.array([1])),
        call([[nan, 1.0, 3.0]], np.array([1]), p=2),
        call([[1.0, 1.0, 0.0], [0.0, 2.0, 0.0]], np.array([1, 0]), weight=np.array([2, 3, 1])),
        call(np.zeros((0, 2)), np.zeros(0, int), reduction="none"),
    ],
    raises=[
        RaisesFor(
            call(ROW, np.array([5])), RuntimeError, torch="target out of range", jax="out of range"
        ),
        RaisesFor(call(ROW, np.array([0, 1])), RuntimeError, "multi_margin_loss"),
        RaisesFor(call(ROW, LABEL, p=3), ValueError, "only p == 1"),
        RaisesFor(call(ROW, LABEL, weight=[[1.0]]), ValueError, "one-dim"),
        RaisesFor(call(ROW, LABEL, weight=[1.0]), RuntimeError, "inconsistent"),
        RaisesFor(call([ROW], LABEL), RuntimeError, "Expected non-empty"),
        NO_WEIGHT_GRADIENT,
    ],
    jax_idioms={"jnp.maximum(0, margin - x[y] + x) ** p": _maximum},
)
def multi_margin_loss(draw):
    x, batch, classes = scored(draw)
    weight = {"weight": draw(integers((classes,), 1, 4))} if draw(st.booleans()) else {}
    p, margin = draw(st.sampled_from([1, 2])), draw(st.sampled_from([0.5, 1.0]))
    target = draw(integers(batch, 0, classes))
    return call(x, target, p, margin, reduction=draw(REDUCTIONS), **weight)


@operator(
    "multilabel_margin_loss",
    dtypes=("float64", "float32"),
    points=[
        call([[2.0, 1.0, 1.0, 0.0]], np.array([[0, -1, -1, -1]])),
        call([2.0, 1.0, 1.0, 0.5], np.array([0, 0, 3, -1])),
        call([[nan, 1.0, inf, -inf]], np.array([[1, 2, -1, 0]])),
        call(np.zeros((0, 2)), np.zeros((0, 2), int), reduction="none"),
    ],
    raises=[
        RaisesFor(call(ROW, np.array([[0, 3, -1]])), RuntimeError, "out of range"),
        RaisesFor(call(ROW, np.array([[0, -2, -1]])), RuntimeError, "out of range"),
        RaisesFor(call(ROW, LABEL), RuntimeError, "inconsistent target"),
        RaisesFor(
            call([ROW], np.zeros((1, 1, 3), int)),
            RuntimeError,
            torch="Expected non-empty",
            jax="Expected non",
        ),
    ],
    jax_idioms={
        "jnp.maximum(0, 1 - x[y] + x)": lambda x, y: _maximum(
            jnp.atleast_2d(x), jnp.atleast_2d(y)[:, 0]
        )
    },
)
def multilabel_margin_loss(draw):
    x, _, classes = scored(draw)
    return call(x, draw(integers(x.shape, -1, classes)), reduction=draw(REDUCTIONS))


@operator(
    "hinge_embedding_loss",
    elementwise=True,
    points=[
        call([1.0, 0.5, 2.0, 1.0, inf, -inf, nan], np.array([-1, -1, -1, 1, 1, -1, -1]), **NONE),
        call([0.5, 1.0], np.array([-1, 0]), margin=0.5, **NONE),
        call(np.zeros((0, 2)), np.zeros((0, 2), int), **NONE),
    ],
    raises=[UNKNOWN_REDUCTION],
    jax_idioms={
        "jnp.where(y > 0, x, jnp.maximum(0, margin - x))": (
            lambda x, y, margin=1.0, reduction="mean": reduced(
                jnp.where(y > 0, x, jnp.maximum(0, margin - x)), reduction
            )
        )
    },
    source="P010 P011",
)
def hinge_embedding_loss(draw):
    left, right = draw(broadcast())
    margin = draw(st.sampled_from([1.0, 0.5]))
    return call(draw(floats(left)), signs(draw, right), margin, reduction=draw(REDUCTIONS))


@operator(
    "margin_ranking_loss",
    elementwise=True,
    points=[
        call(*PAIRS, np.ones(81, int), margin=1.0, **NONE),
        call(*PAIRS, -np.ones(81, int), **NONE),
        call([1.0, 2.0], [1.0, 1.0], [1.0, -1.0], 1.0),
    ],
    raises=[
        RaisesFor(
            call(np.ones((2, 2)), np.ones(2), np.ones(2)),
            RuntimeError,
            "should have same dimension",
        ),
    ],
    jax_idioms={
        "jnp.maximum(0, -y * (a - b) + margin)": (
            lambda a, b, y, margin=0.0, reduction="mean": reduced(
                jnp.maximum(0, -y * (a - b) + margin), reduction
            )
        )
    },
    source="P010",
)
def margin_ranking_loss(draw):
    shape = draw(shapes())
    x, y = draw(floats(shape)), draw(floats(shape))
    target = signs(draw, shape)
    margin = draw(st.sampled_from([0.0, 0.5]))
    return call(x, y, target, margin, reduction=draw(REDUCTIONS))
