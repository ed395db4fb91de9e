"""Records of the operators in `jaxgrad/functional/linalg/eig.py`.

Only quantities that do not depend on the signs of eigenvectors are compared.
"""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.linalg._shared import (
    BATCHES,
    COMPLEX,
    UNSYMMETRIC,
    WIDE,
    WIDE_MATRIX,
    symmetric,
)


inf, nan = np.inf, np.nan
ASYMMETRIC = [[1.0, 5.0], [2.0, 3.0]]


@operator(
    "linalg.eigh",
    max_programs=4,
    invariant=lambda values, v: (values, v**2, v[..., :1, :] * v),
    points=[call(ASYMMETRIC), call(ASYMMETRIC, "U"), call([[2.0, 0.0], [0.0, 2.0]])],
    raises=[
        RaisesFor(call(WIDE_MATRIX), RuntimeError, "batches of square matrices"),
        RaisesFor(call(np.eye(2), "X"), RuntimeError, "'L' or 'U'"),
    ],
    jax_idioms={"jnp.linalg.eigh(x)": lambda x, _="L": _invariant(*jnp.linalg.eigh(x))},
    forward_mode=UNSYMMETRIC,
    dtypes=WIDE,
    source="P053 P054",
)
def eigh(draw):
    return call(symmetric(draw), draw(st.sampled_from(["L", "U"])))


def _invariant(values, v):
    return values, v**2, v[..., :1, :] * v


@operator(
    "linalg.eigvalsh",
    points=[call(ASYMMETRIC), call([[2.0, 0.0], [0.0, 2.0]])],
    raises=[RaisesFor(call(WIDE_MATRIX), RuntimeError, "batches of square matrices")],
    jax_idioms={"jnp.linalg.eigvalsh(x)": jnp.linalg.eigvalsh},
    dtypes=WIDE,
    tolerance={
        "float32": Tolerance(
            1e-5, "eigenvectors of close eigenvalues differ by 19 ULP between LAPACK libraries"
        )
    },
    source="P054",
)
def eigvalsh(draw):
    return call(symmetric(draw), draw(st.sampled_from(["L", "U"])))


def _spread(draw):
    n = draw(st.integers(1, 3))
    return draw(floats((*draw(BATCHES), n, n), -1, 1)) + np.diag(3.0 * np.arange(1, n + 1))


@operator(
    "linalg.eig",
    max_programs=4,
    invariant=lambda values, v: (values, (v * v.conj()).real),
    points=[call([[0.0, 1.0], [-4.0, 0.0]])],
    raises=[
        RaisesFor(call(WIDE_MATRIX), RuntimeError, "batches of square matrices"),
        *(
            RaisesFor(call(np.array([[x]])), RuntimeError, "should not contain infs or NaNs")
            for x in (inf, nan)
        ),
    ],
    dtypes=WIDE,
    source="P061",
)
def eig(draw):
    return call(_spread(draw))


@operator(
    "linalg.eigvals",
    points=[call([[0.0, 1.0], [-4.0, 0.0]])],
    raises=[RaisesFor(call(WIDE_MATRIX), RuntimeError, "batches of square matrices")],
    dtypes=COMPLEX,
)
def eigvals(draw):
    return call(_spread(draw))
