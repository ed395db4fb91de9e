"""Records of the operators in `jaxgrad/functional/reduction/norm_matrix_norm.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import WIDENED, dim_sets, dims, floats, shapes


inf, nan = np.inf, np.nan


@operator(
    "norm",
    points=[call([0.0, 0.0, 0.0]), call([1e-200, 2e-200]), call([[0.0, 0.0], [3.0, 4.0]], dim=1)],
    raises=[
        RaisesFor(call(np.arange(3)), RuntimeError, "Expected a floating"),
        RaisesFor(call(np.ones(2), 2, (0, 0)), RuntimeError, "multiple times"),
    ],
    jax_idioms={"jnp.linalg.norm(x)": lambda x, dim=None: jnp.linalg.norm(x, axis=dim)},
    source="P021 P175",
)
def norm(draw):
    x = draw(floats())
    p = draw(st.sampled_from(["fro", 2, 1, 3, inf]))
    dim = draw(dims(x.ndim)) if p == "fro" else draw(dim_sets(x.ndim))
    return call(x, p, dim, draw(st.booleans()), **draw(WIDENED))


@operator(
    "linalg.norm",
    points=[
        call(np.array(0.0)),
        call([0.0, 0.0]),
        call([[0.0, 0.0], [0.0, 0.0]], "fro"),
        call([[1.0, 0.0], [0.0, 2.0]], 1),
    ],
    raises=[
        RaisesFor(call(np.ones((1, 1, 1)), 1), RuntimeError, "must be 1D or 2D"),
        RaisesFor(call(np.ones((1, 1, 1)), dim=(0, 1, 2)), RuntimeError, "length 1 or 2"),
        RaisesFor(call(np.ones(2), "fro"), RuntimeError, "linalg.matrix_norm"),
    ],
    jax_idioms={"jnp.linalg.norm(x, ord)": jnp.linalg.norm},
    source="P021",
)
def linalg_norm(draw):
    ndim = draw(st.integers(1, 2))
    x = draw(floats(draw(shapes(ndim, ndim))))
    vector, matrix = [2, 1, 3, inf, -1, 0.5], ["fro", 1, inf, -1, None]
    order = draw(st.sampled_from(vector if ndim == 1 else matrix))
    dim = None
    if draw(st.booleans()):
        x = draw(floats(draw(shapes(3, 3))))
        dim = draw(st.permutations(range(-1, 2)))[:ndim]
        dim = dim[0] if ndim == 1 and draw(st.booleans()) else tuple(dim)
    return call(x, order, dim, draw(st.booleans()), **draw(WIDENED))


@operator(
    "linalg.matrix_norm",
    points=[
        call(np.zeros((3, 3))),
        *(call(np.zeros((3, 3)), p) for p in (1, -1, inf)),
        *(call(np.diag([1.0, 0.0, 2.0]), p) for p in (1, -1, inf, -inf)),
        *(call(np.eye(3), p) for p in (1, inf)),
        call([[nan, 1.0], [0.0, 2.0]], 1),
        call(np.zeros((0, 3)), inf),
    ],
    differences=[
        PinnedDifference(
            call([[-inf, 1.0, 2.0, 3.0], [4.0, -inf, 1.0, -inf]], "nuc"),
            {"gradient/0": (nan, [[1.0, nan, nan, nan], [0.0, nan, nan, nan]])},
            "JAX's LAPACK leaves the first singular vector finite where the others are NaN",
        )
    ],
    raises=[
        RaisesFor(call(np.ones(2)), RuntimeError, "at least 2 dim"),
        RaisesFor(call(np.ones((2, 2)), 3), RuntimeError, "Order 3 not"),
        RaisesFor(call(np.ones((2, 2)), dim=(0, 0)), RuntimeError, "be different"),
    ],
    jax_idioms={"jnp.linalg.norm(x, ord)": lambda x, p="fro": jnp.linalg.norm(x, p)},
    dtypes=("float64", "float32"),
    source="P021",
)
def matrix_norm(draw):
    x = draw(floats(draw(shapes(2, 3))))
    order = draw(st.sampled_from(["fro", "nuc", 1, -1, 2, inf, -inf]))
    pair = draw(st.permutations(range(x.ndim)))[:2]
    return call(x, order, tuple(pair), draw(st.booleans()), **draw(WIDENED))
