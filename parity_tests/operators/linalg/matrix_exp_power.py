"""Records of the operators in `jaxgrad/functional/linalg/matrix_exp_power.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes
from parity_tests.operators.linalg._shared import (
    COMPLEX,
    EYE,
    NOT_SQUARE,
    VECTOR,
    WIDE_MATRIX,
    square_matrix,
)


inf, nan = np.inf, np.nan


operator(
    "linalg.matrix_power",
    raises=[RaisesFor(call(WIDE_MATRIX, 2), RuntimeError, "batches of square matrices")],
    dtypes=COMPLEX,  # torch has no half-precision inverse for negative powers
)(square_matrix(0, 1, 2, 3, -1, -2))


operator(
    "linalg.matrix_exp",
    max_programs=2,
    points=[call([[-1e6]]), call([[inf]]), call([[nan, 0.0], [0.0, 1.0]])],
    differences=[
        PinnedDifference(
            call(-1e6 * EYE),
            {"forward/0": (0.0, nan), "gradient/0": (0.0, nan)},
            "jax.scipy squares at most 16 times, which suffices up to a norm of 350000",
        )
    ],
    raises=[
        NOT_SQUARE,
        RaisesFor(call(np.ones((2, 2), int)), RuntimeError, "Expected a floating point"),
    ],
    tolerance={
        "float32": Tolerance(4e-6, "the approximants have other degrees, which makes 28 ULP")
    },
    dtypes=COMPLEX,
)(square_matrix())


@operator(
    "linalg.vander",
    points=[call([0.0, 1.0, -2.0]), call(np.array(2.0), N=3)],
    differences=[
        PinnedDifference(
            call([inf, 2.0], N=2),
            {"tangent/0": ([[0.0, nan], [0.0, 2.0]], [[0.0, 1.0], [0.0, 2.0]])},
            "torch's forward mode divides by the infinity, but its gradient does not",
        )
    ],
    raises=[RaisesFor(call(VECTOR, N=1), RuntimeError, "N must be greater than 1")],
    jax_idioms={
        "jnp.vander(x, increasing=True)": lambda x, **more: jnp.vander(
            jnp.atleast_1d(x), **more, increasing=True
        )
    },
    dtypes=COMPLEX,
)
def vander(draw):
    return call(draw(floats(draw(shapes(low=1)))), N=draw(st.integers(2, 4)))
