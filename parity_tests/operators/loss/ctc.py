"""Record of the operator in `jaxgrad/functional/loss/ctc.py`."""

import jax.numpy as jnp
import numpy as np
import optax
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, integers
from parity_tests.operators.loss._shared import NONE


SCORES = np.asarray(np.sin(np.arange(24.0)).reshape(4, 2, 3))
LOG_PROBS = SCORES - np.log(np.sum(np.exp(SCORES), -1, keepdims=True))
LABELS = np.array([[1, 2], [1, 1]])
LENGTHS = np.array([4, 3])
SIZES = np.array([2, 2])
UNIFORM = np.full((2, 1, 2), -np.log(2))
IMPOSSIBLE = np.array([[[-np.inf, 0.0]], [[-1.0, -0.5]]])


def _optax(log_probs, targets, input_lengths, target_lengths, **_):
    steps, longest = np.arange(len(log_probs)), np.arange(targets.shape[1])
    loss = optax.ctc_loss(
        jnp.moveaxis(log_probs, 1, 0),
        jnp.where(steps >= jnp.asarray(input_lengths)[:, None], 1.0, 0.0),
        targets,
        jnp.where(longest >= jnp.asarray(target_lengths)[:, None], 1.0, 0.0),
    )
    return jnp.mean(loss)


@operator(
    "ctc_loss",
    max_programs=4,
    dtypes=("float64", "float32"),
    torch_gradient=True,
    points=[
        call(LOG_PROBS, LABELS, LENGTHS, SIZES),
        call(LOG_PROBS, LABELS, np.array([4, 2]), SIZES, **NONE),
    ],
    raises=[
        RaisesFor(call(LOG_PROBS, LABELS, LENGTHS, SIZES, 5), RuntimeError, "in label"),
        RaisesFor(call(LOG_PROBS, LABELS, np.array([5, 3]), SIZES), RuntimeError, "at most"),
        RaisesFor(call(LOG_PROBS, LABELS, LENGTHS[:1], SIZES), RuntimeError, "batch_size"),
        RaisesFor(call(LOG_PROBS, LABELS, LENGTHS, np.array([3, 2])), RuntimeError, "size at"),
    ],
    differences=[
        PinnedDifference(
            call(UNIFORM, np.array([[1]]), np.array([2]), np.array([1]), **NONE),
            {
                "gradient/0": (
                    np.array([[[1 / 6, -1 / 6]], [[1 / 6, -1 / 6]]]),
                    np.array([[[-1 / 3, -2 / 3]], [[-1 / 3, -2 / 3]]]),
                )
            },
            "torch returns the gradient with respect to the logits of a log_softmax",
        ),
        PinnedDifference(
            call(IMPOSSIBLE, np.array([[1]]), np.array([2]), np.array([1]), **NONE),
            {
                "gradient/0": (
                    [[[np.nan, 0.0]], [[-0.009661227626703073, -0.01592867148922117]]],
                    [[[0.0, -1.0]], [[-0.37754066879814546, -0.6224593312018546]]],
                )
            },
            "torch subtracts -inf from -inf at a label of probability 0; and as above",
        ),
        PinnedDifference(
            call(-IMPOSSIBLE[:1], np.array([[1]]), np.array([1]), np.array([0]), **NONE),
            {
                "forward/0": (-np.inf, np.nan),
                "gradient/0": ([[[np.nan, 1.0]]], np.nan),
            },
            "inf is not a log-probability, and JAX computes inf - inf",
        ),
    ],
    jax_idioms={"jnp.mean(optax.ctc_loss(...))": _optax},
    source="P097 P098 P099",
)
def ctc_loss(draw):
    steps, classes, longest, batch = 4, 3, 2, 2
    # Each kind of call takes long to compile, so there are only four.
    kind, reduction, zero, blank = draw(
        st.sampled_from(
            [
                ("rows", "mean", False, 0),  # as in `points`
                ("flat", "sum", True, 0),
                ("unnormalised", "none", False, classes - 1),
                ("alone", "mean", True, 0),
            ]
        )
    )
    scores = draw(floats((steps, batch, classes)))
    log_probs = scores - np.log(np.sum(np.exp(scores), -1, keepdims=True))
    targets = draw(integers((batch, longest), 1, classes)) - (blank > 0)
    lengths = [draw(integers((batch,), 2, steps + 1)), draw(integers((batch,), 0, longest + 1))]
    if kind == "flat":
        targets = np.concatenate([row[:n] for row, n in zip(targets, lengths[1], strict=True)])
    if kind == "alone":
        lengths = [np.asarray(n[0]) for n in lengths]
        log_probs, targets = log_probs[:, 0], targets[0, : lengths[1]]
    x = scores if kind == "unnormalised" else log_probs
    options = {"reduction": reduction, "zero_infinity": zero, "blank": blank}
    return call(x, targets, *lengths, **(options if kind != "rows" else {}))
