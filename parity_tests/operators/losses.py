"""Records of losses: regression, binary, likelihoods, margins."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, masks, shapes


F = torch.nn.functional
inf, nan = np.inf, np.nan
SIDES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, inf, -inf, nan]
PAIRS = [np.array(side) for side in zip(*itertools.product(SIDES, SIDES), strict=True)]
NUMBERS = ~np.isnan(PAIRS[0]) & ~np.isnan(PAIRS[1])
LEFT, RIGHT = (x[NUMBERS] for x in PAIRS)
REDUCTIONS = st.sampled_from(["none", "mean", "sum"])
NONE = {"reduction": "none"}
LOGIT = -np.log(1e-11)
SCALE = RaisesFor(call(np.ones(2), np.ones(2), reduction="x"), ValueError, "x is not")


def signs(draw, shape):
    """1 and -1, as integers: torch has no gradient by them."""
    return np.where(draw(masks(shape)), 1, -1)


def two(draw, low=-3.0, high=3.0):
    shape = draw(shapes())
    return [draw(floats(shape, low, high)) for _ in range(2)]


def weighed(draw, x):
    """A weight for each element, or none."""
    if not draw(st.booleans()):
        return {}
    return {"weight": draw(floats(x.shape, 0.2, 2))}


def _weighed(fun):
    """torch's function, with integer weights in the input's dtype."""

    def called(input, *args, **kwargs):
        def cast(x):
            return x.to(input.dtype) if isinstance(x, torch.Tensor) else x

        named = {k: cast(x) if k.endswith("weight") else x for k, x in kwargs.items()}
        return fun(input, *args, **named)

    return called


@operator(
    "l1_loss",
    elementwise=True,
    points=[
        call(*PAIRS, **NONE),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
        call(np.arange(4), np.array([1, 5, 0, 3]), reduction="sum"),
    ],
    raises=[
        SCALE,
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
        "jnp.abs(x - y)": lambda x, y, reduction="mean": _reduced(jnp.abs(x - y), reduction)
    },
    source="P004",
)
def l1_loss(draw):
    x, y = two(draw)
    return call(x, y, reduction=draw(REDUCTIONS), **weighed(draw, x))


def _reduced(loss, reduction):
    return loss if reduction == "none" else getattr(jnp, reduction)(loss)


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
            "torch's forward mode of a quotient is (dx - out dy) / y, its gradient -x / y / y",
        )
    ],
    raises=[SCALE],
    jax_idioms={
        "optax.l2_loss(x, y)": lambda x, y, reduction="mean": _reduced(
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
        SCALE,
        RaisesFor(call(np.ones(2), np.ones(2), beta=-1.0), RuntimeError, "negative"),
    ],
    jax_idioms={
        "optax.huber_loss(x, y, delta)": lambda x, y, reduction="mean", beta=1.0: _reduced(
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
        SCALE,
        RaisesFor(
            call(np.ones(2), np.ones(2), delta=0.0),
            RuntimeError,
            torch="non-positive",
            jax="non-pos",
        ),
    ],
    jax_idioms={
        "optax.huber_loss(x, y, delta)": lambda x, y, reduction="mean", delta=1.0: _reduced(
            optax.huber_loss(x, y, delta=delta), reduction
        )
    },
    source="P093 P173",
)
def huber_loss(draw):
    x, y = two(draw)
    delta = draw(st.sampled_from([0.5, 1.0, 2.0]))
    return call(x, y, draw(REDUCTIONS), delta, **weighed(draw, x))


def _weights(draw, shape, *names):
    """Integer weights: torch has no gradient by them."""
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
        SCALE,
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
            "1 / (x (1 - x)) at -0: torch's tail forgets the sign, its vectorised loop does not",
        ),
        PinnedDifference(
            call([1e-11], [0.0]),
            {"transpose/0": (LOGIT + 10 / 11, LOGIT + 1)},
            "torch's double backward adds 1e-12 to x in the slope, its gradient does not",
        ),
    ],
    jax_idioms={
        "-y log(p) - (1 - y) log(1 - p)": lambda p, y, reduction="mean": _reduced(
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
SOFT = [0.0, -0.0, 1.0, 40.0, -40.0, -800.0, 800.0, inf, -inf, nan]
LABELS = [0.0, 1.0, 0.5]
LOGIT_PAIRS = [np.array(side) for side in zip(*itertools.product(LOGITS, LABELS), strict=True)]


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
        SCALE,
        RaisesFor(call([0.5], [0.5, 1.0]), ValueError, "Target size"),
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
            _reduced(optax.sigmoid_binary_cross_entropy(x, y), reduction)
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
    "kl_div",
    torch=F.kl_div,
    elementwise=True,
    points=[
        call([-1.0, -1.0, -inf, -1.0, 0.0], [0.0, 0.5, 0.5, -1.0, inf], **NONE),
        call([-1.0, -inf, nan], [-inf, 0.5, 1.0], **NONE, log_target=True),
        call([[-1.0, -2.0]], [[0.0, 1.0]]),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
    ],
    raises=[SCALE],
    jax_idioms={
        "optax.losses.kl_divergence(x, y)": lambda x, y, reduction="mean", log_target=False: (
            _reduced(
                (optax.losses.kl_divergence_with_log_targets if log_target
                 else optax.losses.kl_divergence)(x, y), "mean"
            )
        )
    },
    source="P094 P095",
)  # fmt: skip
def kl_div(draw):
    left, right = draw(broadcast())
    logs = draw(st.booleans())
    x = draw(floats(left, -3, 0))
    y = draw(floats(right, -3 if logs else 0.1, 0 if logs else 1))
    reduction = draw(st.sampled_from(["none", "mean", "sum", "batchmean"]))
    return call(x, y, reduction=reduction, log_target=logs)


@operator(
    "gaussian_nll_loss",
    points=[
        call([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1e-8, 0.5, 0.0, 1e-6]),
        call([1.0, inf], [0.0, 1.0], [1.0, nan], reduction="none"),
        call([[1.0, 2.0]], [[0.0, 0.0]], 0.5),
    ],
    raises=[
        RaisesFor(call([1.0], [0.0], [-1.0]), ValueError, "var has negative"),
        RaisesFor(call([1.0], [0.0], -1.0), ValueError, "var has negative"),
        RaisesFor(
            call([1.0] * 3, [0.0] * 3, [1.0] * 2),
            ValueError,
            torch="incorrect size",
            jax="incorrect",
        ),
        RaisesFor(call([1.0], [0.0], [1.0], reduction="x"), ValueError, "x is not"),
    ],
    jax_idioms={
        "variance jnp.maximum(var, eps)": lambda x, y, var, reduction="mean": _reduced(
            0.5 * (jnp.log(jnp.maximum(var, 1e-6)) + (x - y) ** 2 / jnp.maximum(var, 1e-6)),
            reduction,
        )
    },
    forward_mode="torch's forward mode differentiates the clamp, its gradient does not",
    source="P100",
)
def gaussian_nll_loss(draw):
    shape = draw(shapes(low=1))
    kind = draw(st.sampled_from(["same", "short", "one"]))
    var = {"same": shape, "short": shape[:-1], "one": (*shape[:-1], 1)}[kind]
    x, y, v = draw(floats(shape)), draw(floats(shape)), draw(floats(var, 0.2, 2))
    eps = draw(st.sampled_from([{}, {"eps": 0.8}]))
    return call(x, y, v, draw(st.booleans()), reduction=draw(REDUCTIONS), **eps)


@operator(
    "poisson_nll_loss",
    elementwise=True,
    points=[
        call([0.0, 1.0, -inf, 800.0, nan], [0.0, 1.0, 1.0, 2.0, 1.0], **NONE),
        call([0.0, 1.0, 2.0, -1.0], [1.0, 0.0, 2.0, 1.0], log_input=False, **NONE),
        call([1.0, 1.0, 1.0], [0.0, 1.0, 2.0], full=True, **NONE),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
    ],
    raises=[SCALE],
)
def poisson_nll_loss(draw):
    left, right = draw(broadcast())
    logs, full = draw(st.booleans()), draw(st.booleans())
    x, y = draw(floats(left, 0.2, 2)), draw(floats(right, 0.2, 4))
    eps = draw(st.sampled_from([{}, {"eps": 1e-3}]))
    return call(x, y, logs, full, reduction=draw(REDUCTIONS), **eps)


@operator(
    "hinge_embedding_loss",
    elementwise=True,
    points=[
        call([1.0, 0.5, 2.0, 1.0, inf, -inf, nan], np.array([-1, -1, -1, 1, 1, -1, -1]), **NONE),
        call([0.5, 1.0], np.array([-1, 0]), margin=0.5, **NONE),
        call(np.zeros((0, 2)), np.zeros((0, 2), int), **NONE),
    ],
    raises=[SCALE],
    jax_idioms={
        "jnp.where(y > 0, x, jnp.maximum(0, margin - x))": (
            lambda x, y, margin=1.0, reduction="mean": _reduced(
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
            lambda a, b, y, margin=0.0, reduction="mean": _reduced(
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
        SCALE,
        RaisesFor(
            call(np.ones(2), np.ones(2)),
            RuntimeError,
            torch="not differentiable with respect to argument 'target'",
            jax="derivative for target is not implemented",
            when="backward",
        ),
    ],
    jax_idioms={
        "jax.nn.softplus(-y * x)": lambda x, y, reduction="mean": _reduced(
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
    raises=[SCALE],
)
def multilabel_soft_margin_loss(draw):
    shape = draw(shapes(low=1))
    weight = {"weight": draw(floats(shape[-1:], 0.2, 2))} if draw(st.booleans()) else {}
    x, y = draw(floats(shape)), draw(floats(shape, 0, 1))
    return call(x, y, reduction=draw(REDUCTIONS), **weight)
