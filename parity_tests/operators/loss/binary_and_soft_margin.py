"""Records of the operators in `jaxgrad/functional/loss/binary_and_soft_margin.py`."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, pairs, shapes
from parity_tests.operators.loss._shared import (
    NONE,
    REDUCTIONS,
    UNKNOWN_REDUCTION,
    F,
    reduced,
    signs,
    two,
)


inf, nan = np.inf, np.nan
LOGIT = -np.log(1e-11)


def _weighed(fun):
    """Return torch's function with integer weights cast to the input's dtype."""

    def called(input, *args, **kwargs):
        def cast(x):
            return x.to(input.dtype) if isinstance(x, torch.Tensor) else x

        named = {k: cast(x) if k.endswith("weight") else x for k, x in kwargs.items()}
        return fun(input, *args, **named)

    return called


def _weights(draw, shape, *names):
    """Draw some of the weights, as integers because torch defines no gradient for them."""
    return {
        name: draw(st.integers(1, 3).map(lambda n: np.full(shape[-1:], n)))
        for name in names
        if draw(st.booleans())
    }


@operator(
    "binary_cross_entropy",
    torch=_weighed(F.binary_cross_entropy),
    points=[
        call([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.3], [0.0, 1.0, 0.5, 0.0, 1.0, 0.5, 0.2]),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
    ],
    raises=[
        UNKNOWN_REDUCTION,
        RaisesFor(call([1.5], [1.0]), RuntimeError, "elements of input"),
        RaisesFor(call([nan], [1.0]), RuntimeError, "elements of input"),
        RaisesFor(call([0.5], [-1.0]), RuntimeError, "elements of target"),
        RaisesFor(call([0.5], [0.5, 1.0]), ValueError, "Using a target size"),
        RaisesFor(
            call([0.5], [0.5], [1.0]),
            RuntimeError,
            torch="not differentiable with respect to argument 'weight'",
            jax="derivative for weight is not implemented",
            when="backward",
        ),
    ],
    differences=[
        PinnedDifference(
            call([-0.0], [0.5]),
            {"second/0": (-np.inf, np.inf)},
            "for 1 / (x (1 - x)) at -0, torch's scalar tail drops the sign; its vectorised loop "
            "keeps it",
        ),
        PinnedDifference(
            call([1e-11], [0.0]),
            {"transpose/0": (LOGIT + 10 / 11, LOGIT + 1)},
            "torch's double backward adds 1e-12 to x in the slope, but its gradient does not",
        ),
    ],
    jax_idioms={
        "-y log(p) - (1 - y) log(1 - p)": lambda p, y, reduction="mean": reduced(
            -y * jnp.log(p) - (1 - y) * jnp.log(1 - p), reduction
        )
    },
    tolerance={
        "float64": Tolerance(1e-9, "torch's double backward adds 1e-12 to p, and a sum may cancel")
    },
    source="P044",
)
def binary_cross_entropy(draw):
    x, y = two(draw, 0.1, 0.9)
    return call(x, y, reduction=draw(REDUCTIONS), **_weights(draw, x.shape, "weight"))


LOGITS = [0.0, -0.0, 1.0, -1.0, 0.5, 40.0, -40.0, 800.0, -800.0, 1e200, inf, -inf, nan]
LABELS = [0.0, 1.0, 0.5]
LOGIT_PAIRS = pairs(LOGITS, LABELS)


@operator(
    "binary_cross_entropy_with_logits",
    torch=_weighed(F.binary_cross_entropy_with_logits),
    elementwise=True,
    points=[
        call(*LOGIT_PAIRS, **NONE),
        call(*LOGIT_PAIRS, **NONE, pos_weight=np.array([3])),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
    ],
    raises=[
        UNKNOWN_REDUCTION,
        RaisesFor(call([0.5], [0.5, 1.0]), ValueError, "Target size"),
        RaisesFor(call([0.5], np.array([1])), RuntimeError, "can't be cast"),
        RaisesFor(call(np.array([1]), [0.5]), NotImplementedError, "not implemented for"),
        RaisesFor(
            call([0.5], [0.5], pos_weight=[1.0]),
            RuntimeError,
            torch="not differentiable with respect to argument 'pos_weight'",
            jax="derivative for pos_weight is not implemented",
            when="backward",
        ),
    ],
    jax_idioms={
        "optax.sigmoid_binary_cross_entropy(x, y)": lambda x, y, reduction="mean", pos_weight=1: (
            reduced(optax.sigmoid_binary_cross_entropy(x, y), reduction)
        )
    },
    source="P096",
)
def binary_cross_entropy_with_logits(draw):
    shape = draw(shapes())
    x, y = draw(floats(shape)), draw(floats(shape, 0, 1))
    weights = _weights(draw, shape, "weight", "pos_weight")
    return call(x, y, reduction=draw(REDUCTIONS), **weights)


@operator(
    "soft_margin_loss",
    elementwise=True,
    points=[
        call(
            [0.0, -0.0, 1.0, 40.0, -40.0, -800.0, 800.0, inf, -inf, nan], np.ones(10, int), **NONE
        ),
        call(np.zeros((0, 2)), np.zeros((0, 2), int), **NONE),
    ],
    raises=[
        UNKNOWN_REDUCTION,
        RaisesFor(
            call(np.ones(2), np.ones(2)),
            RuntimeError,
            torch="not differentiable with respect to argument 'target'",
            jax="derivative for target is not implemented",
            when="backward",
        ),
    ],
    jax_idioms={
        "jax.nn.softplus(-y * x)": lambda x, y, reduction="mean": reduced(
            jax.nn.softplus(-y * x), reduction
        )
    },
)
def soft_margin_loss(draw):
    shape = draw(shapes())
    return call(draw(floats(shape)), signs(draw, shape), reduction=draw(REDUCTIONS))


@operator(
    "multilabel_soft_margin_loss",
    points=[
        call([[0.0, 800.0, -800.0, inf]], [[1.0, 0.0, 1.0, 1.0]]),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
    ],
    raises=[UNKNOWN_REDUCTION],
)
def multilabel_soft_margin_loss(draw):
    shape = draw(shapes(low=1))
    weight = {"weight": draw(floats(shape[-1:], 0.2, 2))} if draw(st.booleans()) else {}
    x, y = draw(floats(shape)), draw(floats(shape, 0, 1))
    return call(x, y, reduction=draw(REDUCTIONS), **weight)
