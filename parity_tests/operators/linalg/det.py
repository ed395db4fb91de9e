"""Records of the operators in `jaxgrad/functional/linalg/det.py`."""

import jax.numpy as jnp
import numpy as np

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators.linalg._shared import (
    COMPLEX,
    INFINITE,
    LAPACKS,
    NOT_MATRIX,
    NOT_SQUARE,
    SINGULAR,
    WIDE_MATRIX,
    square_matrix,
)


inf, nan = np.inf, np.nan
COFACTORS = [[8.0, 4.0, -4.0], [-4.0, -2.0, 2.0], [0.0, 0.0, 0.0]]


operator(
    "linalg.det",
    points=[call(np.zeros((0, 0))), call([[2.0]])],
    torch_gradient=True,
    differences=[
        PinnedDifference(
            call(SINGULAR),
            {"gradient/0": (0.0, COFACTORS)},
            "torch's gradient of a singular matrix is 0, unless `create_graph=True` makes it use "
            "cofactors",
        ),
        PinnedDifference(
            call(np.zeros((2, 2))),
            {"second/0": (nan, [[4.0, -3.0], [-2.0, 1.0]])},
            "torch computes the second derivative of a singular matrix from its SVD, which gives "
            "NaN for equal singular values; the exact one is linear in the entries",
        ),
        PinnedDifference(
            call(np.diag([1.0, 2.0, 3.0, 0.0])),
            {"gradient/0": (0.0, np.diag([0.0, 0.0, 0.0, 6.0]))},
            "as above, for a matrix of four rows",
        ),
        PinnedDifference(
            call([[inf, 1.0], [2.0, 3.0]]),
            {"gradient/0": ([[nan, nan], [nan, inf]], [[3.0, -2.0], [-1.0, inf]])},
            "torch divides by the matrix; JAX computes cofactors, most of which contain no "
            "infinity",
        ),
        *(
            PinnedDifference(
                call([[x]]),
                {"tangent/0": (x * 0, 1.0)},
                "torch's forward mode multiplies the determinant by the trace of a solution",
            )
            for x in (0.0, inf)
        ),
    ],
    raises=[NOT_SQUARE, NOT_MATRIX],
    dtypes=COMPLEX,
    source="P057",
)(square_matrix())


operator(
    "linalg.slogdet",
    max_programs=4,
    differences=[
        PinnedDifference(
            call(INFINITE),
            {"gradient/0": (nan, [[0.0, 0.0], [0.0, 0.5]])},
            LAPACKS,
        )
    ],
    raises=[NOT_SQUARE],
    dtypes=COMPLEX,
    source="P058",
)(square_matrix())


operator(
    "logdet",
    max_programs=4,
    points=[call([[0.0, 1.0], [1.0, 0.0]])],
    differences=[
        PinnedDifference(call(INFINITE), {"gradient/0": (nan, [[0.0, 0.0], [0.0, 0.5]])}, LAPACKS)
    ],
    raises=[
        RaisesFor(call(WIDE_MATRIX), RuntimeError, "logdet: A must be batches of square matrices")
    ],
    jax_idioms={"jnp.log(jnp.linalg.det(x))": lambda x: jnp.log(jnp.linalg.det(x))},
    dtypes=COMPLEX,
)(square_matrix())
