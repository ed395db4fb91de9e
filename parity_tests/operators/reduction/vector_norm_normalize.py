"""Records of the operators in `jaxgrad/functional/reduction/vector_norm_normalize.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import WIDENED, dim_sets, dims, floats, shapes
from parity_tests.operators.reduction._shared import COMPLEX, EMPTY


inf, nan = np.inf, np.nan
ORDERS = [0, 0.5, 1, 1.5, 2, 3, 4, inf, -inf, -1, -2]
VECTORS = [[0.0, 0.0, 0.0], [3.0, 0.0, -4.0], [2.0, -2.0, 1.0], [0.0, 0.0, 1.0]]
AT_EDGES = [[inf, 1.0, -2.0], [nan, 1.0, 0.0], [1e-200, 2e-200, 0.0]]


@operator(
    "linalg.vector_norm",
    dtypes=COMPLEX,
    points=[
        *(call(VECTORS, p, 1) for p in ORDERS),
        *(call(AT_EDGES, p, 1) for p in (1, 2, 3)),
        *(call([1.0, inf, 2.0], p) for p in (0.5, -1)),
        call(EMPTY),
        call(EMPTY, inf, 1),
        call(np.array(0.0)),
    ],
    raises=[
        RaisesFor(call(np.arange(3)), RuntimeError, "Expected a floating"),
        RaisesFor(
            call(EMPTY, inf),
            RuntimeError,
            torch="does not have an identity",
            jax="not have an identity",
        ),
    ],
    jax_idioms={
        "jnp.linalg.vector_norm(x, ord=p)": lambda x, p=2, dim=None: jnp.linalg.vector_norm(
            x, ord=p, axis=dim
        )
    },
    source="P021 P026",
)
def vector_norm(draw):
    x = draw(floats(low=0.2))
    x = x * np.where(draw(floats(x.shape)) > 0, 1, -1)
    order = draw(st.sampled_from(ORDERS))
    dims, keepdim = draw(dim_sets(x.ndim)), draw(st.booleans())
    return call(np.asarray(x), order, dims, keepdim, **draw(WIDENED))


@operator(
    "normalize",
    points=[
        call([[0.0, 0.0, 0.0], [3.0, 0.0, -4.0]]),
        call([[3.0, 4.0]], eps=5.0),
        call([[0.0, 0.0], [1.0, -1.0]], 1.0),
        call(EMPTY),
    ],
    raises=[RaisesFor(call(np.ones(2)), IndexError, "out of range")],
    jax_idioms={
        "x / jnp.maximum(norm, eps)": lambda x, p=2.0, eps=1e-12: (
            x / jnp.maximum(jnp.linalg.norm(x, p, 1, keepdims=True), eps)
        )
    },
    source="P028",
)
def normalize(draw):
    x = draw(floats(dims=1))
    return call(x, draw(st.sampled_from([1.0, 2.0, 3.0, inf])), draw(dims(x.ndim)))


@operator(
    "renorm",
    points=[
        call([[0.0, 0.0], [4.0, 3.0]], 2, 0, 1.0),
        call([[3.0, 4.0], [0.3, 0.4]], 2, 0, 5.0),
        call([[0.0, 2.0], [3.0, -4.0]], 1, 1, 3.0),
        call([[nan, 2.0], [3.0, -4.0]], 2, 0, 1.0),
    ],
    differences=[
        PinnedDifference(
            call([[0.0, 2.0], [0.0, 2.0]], 3, 1, 4.0),
            {"second/0": ([[nan, 0.0], [nan, 0.0]], 0.0)},
            "torch differentiates the norm of a zero slice that is not scaled, but JAX does not",
        )
    ],
    raises=[
        RaisesFor(call(np.ones(2), 2, 0, 1.0), RuntimeError, "at least 2 dim"),
        RaisesFor(call(np.ones((2, 2)), 0, 0, 1.0), RuntimeError, "non-positive"),
        RaisesFor(call(np.ones((2, 2)), 2, 0, -1.0), RuntimeError, "maxnorm to be"),
    ],
    jax_idioms={
        "x * where(norm > m, m / norm, 1)": lambda x, p, dim, maxnorm: (
            x * jnp.where(_norms(x, p, dim) > maxnorm, maxnorm / _norms(x, p, dim), 1)
        )
    },
)
def renorm(draw):
    x = draw(floats(draw(shapes(2, 3, least=2))))
    p, bound = draw(st.sampled_from([1, 2, 3])), draw(st.floats(0.5, 4))
    return call(x, p, draw(dims(x.ndim)), bound)


def _norms(x, p, dim):
    return jnp.linalg.norm(x, p, 1 - dim, keepdims=True)
