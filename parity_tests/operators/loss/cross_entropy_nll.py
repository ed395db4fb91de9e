"""Records of the operators in `jaxgrad/functional/loss/cross_entropy_nll.py`."""

import jax.numpy as jnp
import numpy as np
import optax
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, integers, shapes
from parity_tests.operators.loss._shared import (
    LABEL,
    NO_WEIGHT_GRADIENT,
    REDUCTIONS,
    ROW,
    THREE,
    with_weights_in_input_dtype,
)


inf, nan = np.inf, np.nan


def labelled(draw, ignored=True):
    """Draw scores, labels (some of them ignored), and possibly weights."""
    batch, classes = draw(shapes(0, 3)), draw(st.integers(1, 4))
    shape = (*batch[:1], classes, *batch[1:])
    target = draw(integers(batch, 0, classes))
    if ignored and draw(st.booleans()):
        target = np.where(draw(integers(batch, 0, 3)) == 0, -100, target)
    weight = {"weight": draw(integers((classes,), 1, 4))} if draw(st.booleans()) else {}
    return draw(floats(shape)), np.asarray(target), weight


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
    torch=with_weights_in_input_dtype("nll_loss"),
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
    torch=with_weights_in_input_dtype("cross_entropy"),
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
    tolerance={"float32": Tolerance(1e-6, "XLA adds the 50 numbers of a mean in another order")},
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
