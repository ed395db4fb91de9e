"""Records of `jaxgrad.functional.classification`."""

import jax.numpy as jnp
import numpy as np
import optax
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, integers, shapes


F = torch.nn.functional
inf, nan = np.inf, np.nan
REDUCTIONS = st.sampled_from(["none", "mean", "sum"])
ROW = [[0.5, -1.0, 2.0]]
LABEL = np.array([1])
THREE = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [0.0, 1.0, 0.0]]


def _weights_of(fun):
    """torch's function with integer weights in the input's dtype: it has no gradient by them."""

    def called(input, target, *args, weight=None, **kwargs):
        if weight is not None and not weight.is_floating_point():
            weight = weight.to(input.dtype)
        return fun(input, target, *args, weight=weight, **kwargs)

    return called


def labelled(draw, ignored=True):
    """Scores, labels (some of them ignored) and maybe weights."""
    batch, classes = draw(shapes(0, 3)), draw(st.integers(1, 4))
    shape = (*batch[:1], classes, *batch[1:])
    target = draw(integers(batch, 0, classes))
    if ignored and draw(st.booleans()):
        target = np.where(draw(integers(batch, 0, 3)) == 0, -100, target)
    weight = {"weight": draw(integers((classes,), 1, 4))} if draw(st.booleans()) else {}
    return draw(floats(shape)), np.asarray(target), weight


NO_WEIGHT_GRADIENT = RaisesFor(
    call(ROW, LABEL, weight=[1.0, 2.0, 3.0]),
    RuntimeError,
    torch="not differentiable with respect to argument 'weight'",
    jax="derivative for weight is not implemented",
    when="backward",
)
LABEL_ERRORS = [
    RaisesFor(call(ROW, np.array([5])), IndexError, "out of bounds"),
    RaisesFor(call(ROW, np.array([-1])), IndexError, "out of bounds"),
    RaisesFor(call(ROW, np.array([1, 2])), ValueError, "batch_size (1)"),
    RaisesFor(
        call(ROW, LABEL, weight=[1.0, 2.0]),
        RuntimeError,
        torch="for all 3 classes",
        jax="all 3 classes",
    ),
    RaisesFor(call(ROW, [1.0]), RuntimeError, "target dtype"),
    NO_WEIGHT_GRADIENT,
    RaisesFor(call(ROW, LABEL, reduction="x"), ValueError, "x is not"),
]


def _mean_over_all(x, y, *_, weight=None, ignore_index=-100, reduction="mean"):
    loss = -jnp.take_along_axis(x, jnp.where(y == ignore_index, 0, y)[:, None], 1)[:, 0]
    loss = jnp.where(y == ignore_index, 0, loss)
    return jnp.mean(loss if weight is None else loss * weight[y])


@operator(
    "nll_loss",
    torch=_weights_of(F.nll_loss),
    points=[
        call(THREE, np.array([0, -100, 2])),
        call(THREE, np.array([-100, -100, -100])),
        call(THREE, np.array([0, 1, 2]), weight=np.array([1, 2, 0])),
        call(THREE, np.array([0, 1, 2]), ignore_index=1, reduction="sum"),
        call([[-inf, nan, 1.0], [inf, 0.0, 0.0]], np.array([0, 1])),
        call(np.zeros((0, 3)), np.zeros(0, int)),
        call(np.zeros((0, 3)), np.zeros(0, int), reduction="sum"),
    ],
    raises=LABEL_ERRORS,
    jax_idioms={"jnp.mean(where(y != -100, -x[i, y] * w[y], 0))": _mean_over_all},
    source="P086 P087 P088 P091",
)
def nll_loss(draw):
    x, y, weight = labelled(draw)
    return call(x, y, reduction=draw(REDUCTIONS), **weight)


def _optax(x, y, *_, reduction="mean", **__):
    if y.shape == x.shape:
        return jnp.mean(optax.losses.softmax_cross_entropy(x, y))
    return jnp.mean(optax.losses.softmax_cross_entropy_with_integer_labels(x, y))


@operator(
    "cross_entropy",
    torch=_weights_of(F.cross_entropy),
    points=[
        call(THREE, np.array([0, -100, 2])),
        call(THREE, np.array([-100, -100, -100])),
        call(THREE, np.array([0, 1, 2]), weight=np.array([1, 2, 3])),
        call(THREE, np.array([0, 1, 2]), weight=np.array([1, 2, 3]), label_smoothing=0.2),
        call(THREE, np.eye(3), weight=np.array([1, 2, 3])),
        call([[-inf, 1.0, 2.0], [1e4, -1e4, 0.0]], np.array([1, 0])),
        call([[-inf, 1.0, 2.0]], [[0.0, 0.5, 0.5]]),
        call(np.zeros((0, 3)), np.zeros(0, int)),
        call(np.zeros((0, 3)), np.zeros((0, 3))),
    ],
    raises=[
        *LABEL_ERRORS,
        RaisesFor(call(ROW, LABEL, label_smoothing=1.5), RuntimeError, "label_smoothing must be"),
        RaisesFor(call(ROW, np.array([[0, 1, 0]])), RuntimeError, "Expected floating"),
        RaisesFor(call(ROW, ROW, ignore_index=1), RuntimeError, "ignore_index is"),
    ],
    jax_idioms={"jnp.mean(optax.losses.softmax_cross_entropy...)": _optax},
    tolerance={"float32": Tolerance(1e-6, "a mean of 50 numbers, which XLA adds in another order")},
    source="P086 P087 P088 P089 P090 P091",
)
def cross_entropy(draw):
    smoothing = draw(st.sampled_from([0.0, 0.1, 1.0]))
    options = {"reduction": draw(REDUCTIONS), "label_smoothing": smoothing}
    x, y, weight = labelled(draw)
    if draw(st.booleans()):
        y = np.asarray(draw(floats(x.shape, 0, 1)))
        if weight:
            weight = {"weight": weight["weight"] * 0.5}
    else:
        options["ignore_index"] = draw(st.sampled_from([-100, 0, 1, -1]))
        y = np.where(y == -100, options["ignore_index"], y)
    return call(x, y, **options, **weight)


def scored(draw):
    batch, classes = draw(shapes(0, 1)), draw(st.integers(1, 4))
    return draw(floats((*batch, classes))), batch, classes


def _maximum(x, y, p=1, margin=1.0, **_):
    z = jnp.maximum(0, margin - jnp.take_along_axis(x, y[:, None], 1) + x) ** p
    return jnp.mean(jnp.where(jnp.arange(x.shape[1]) == y[:, None], 0, z))


@operator(
    "multi_margin_loss",
    dtypes=("float64", "float32"),
    torch=_weights_of(F.multi_margin_loss),
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
    "linear_cross_entropy",
    torch=_weights_of(F.linear_cross_entropy),
    points=[call(THREE, np.eye(3), np.array([0, -100, 2])), call(THREE, np.eye(3), np.eye(3))],
    raises=[
        RaisesFor(
            call(ROW, np.ones((3, 2)), LABEL),
            RuntimeError,
            torch="expected equal input and",
            jax="last dimensions (in_features), got",
        ),
        RaisesFor(
            call(ROW, np.eye(3), ROW, ignore_index=1),
            RuntimeError,
            torch="ignore_index cannot be specified",
            jax="leave ignore_index=1 out",
        ),
    ],
)
def linear_cross_entropy(draw):
    """Labels and probabilities, places, a bias, ignored labels, smoothing and weights."""
    classes, features, places = 3, draw(st.integers(1, 3)), draw(st.sampled_from([(), (2,)]))
    batch = draw(st.sampled_from([(), (2,)])) if not places else (2,)
    options = {"reduction": draw(REDUCTIONS)}
    if draw(st.booleans()):
        options["linear_bias"] = draw(floats((classes, *places)))
    if draw(st.booleans()):
        options["weight"] = draw(integers((classes,), 1, 4))
    options["label_smoothing"] = draw(st.sampled_from([0.0, 0.2]))
    if draw(st.booleans()):
        target = draw(floats((*batch, classes, *places), 0.0, 1.0))
    else:
        target = draw(integers((*batch, *places), 0, classes))
        options["ignore_index"] = draw(st.sampled_from([None, 1]))
    x, w = draw(floats((*batch, features))), draw(floats((classes, *places, features)))
    return call(x, w, target, **options)
