"""Records of the operators in `jaxgrad/functional/loss/triplet_cosine_embedding.py`."""

import jax.numpy as jnp
import numpy as np
import optax
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes
from parity_tests.operators.loss._shared import REDUCTIONS, signs


TWO = np.ones((2, 2))


@operator(
    "cosine_embedding_loss",
    points=[
        call([[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 2.0]], np.array([-1, 1])),
        call([[1e-4, 0.0]], [[1.0, 2.0]], np.array([1])),
        call([[1.0, 1.0]], [[2.0, 1.0]], np.array([0])),
    ],
    raises=[
        RaisesFor(call(TWO, TWO, TWO), RuntimeError, "multi-target"),
        RaisesFor(
            call(TWO[0], TWO[0], TWO[0]),
            RuntimeError,
            torch="target tensor expects",
            jax="expects 2D",
        ),
    ],
    jax_idioms={
        "where(y > 0, 1 - cosine, jnp.maximum(0, cosine))": lambda x, y, target: jnp.mean(
            jnp.where(target > 0, 1 - _cosine(x, y), jnp.maximum(0, _cosine(x, y)))
        )
    },
)
def cosine_embedding_loss(draw):
    shape = (*draw(shapes(0, 1)), 3)
    x, y = draw(floats(shape)), draw(floats(shape, -4.0, 2.0))
    margin = draw(st.sampled_from([0.0, 0.3]))
    return call(x, y, signs(draw, shape[:-1]), margin, reduction=draw(REDUCTIONS))


def _cosine(x, y):
    return optax.cosine_similarity(x, y, epsilon=1e-8)


def triple(draw):
    shape = (*draw(shapes(0, 1)), 3)
    return [draw(floats(shape, low)) for low in (-3.0, -4.0, -2.0)]


TRIPLETS = [
    call([[1.0, 2.0]], [[1.0, 2.0]], [[1.5, 2.0]]),
    call([[1.0, 2.0]], [[1.2, 2.4]], [[1.5, 2.0]]),
]
TRIPLET_ERRORS = [
    RaisesFor(call(TWO, TWO, TWO, margin=0.0), ValueError, "greater than 0"),
    RaisesFor(call(TWO, TWO, TWO[0]), RuntimeError, "same number of"),
]


@operator(
    "triplet_margin_loss",
    points=[
        *TRIPLETS,
        call([[1.0, 2.0]], [[1.0, 2.0]], [[1.5, 2.0]], eps=0.0),
        call([[0.0, 0.0]], [[1.0, 0.0]], [[2.0, 0.0]], eps=0.0),
        call([[0.0, 0.0]], [[1.0, 0.0]], [[1.0, 0.0]], swap=True),
    ],
    raises=TRIPLET_ERRORS,
    jax_idioms={
        "optax.losses.triplet_margin_loss": lambda a, p, n, eps=1e-6, swap=False: jnp.mean(
            optax.losses.triplet_margin_loss(a, p, n, eps=eps)
        )
    },
    source="P101",
)
def triplet_margin_loss(draw):
    a, p, n = triple(draw)
    power, swap = draw(st.sampled_from([1.0, 2.0, 3.0])), draw(st.booleans())
    margin = draw(st.sampled_from([1.0, 0.3]))
    return call(a, p, n, margin, power, swap=swap, reduction=draw(REDUCTIONS))


@operator(
    "triplet_margin_with_distance_loss",
    points=TRIPLETS,
    raises=TRIPLET_ERRORS,
    source="P101",
)
def triplet_margin_with_distance_loss(draw):
    a, p, n = triple(draw)
    margin, swap = draw(st.sampled_from([1.0, 0.3])), draw(st.booleans())
    return call(a, p, n, margin=margin, swap=swap, reduction=draw(REDUCTIONS))
