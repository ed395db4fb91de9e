"""Records of decompositions: what does not depend on signs is compared."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.matrices import _wide_or_tall, inf, nan, regular


WIDE = ("float64", "float32")
COMPLEX = (*WIDE, "complex128")
BATCHES = st.sampled_from([(), (), (2,), (1, 2)])
R, V = np.ones((2, 3)), np.ones(3)
FILLED = "torch's gradient fills the triangle that is not read"
UNSYMMETRIC = "torch's forward mode takes the tangent as it is, its gradient as if symmetric"


def _symmetric(draw):
    n = draw(st.integers(1, 3))
    x = draw(floats((*draw(BATCHES), n, n), -1, 1))
    return x + x.swapaxes(-1, -2) + np.diag(4.0 + 2 * np.arange(n))


@operator(
    "linalg.cholesky",
    points=[call([[4.0, 9.0], [1.0, 3.0]]), call([[4.0, 1.0], [9.0, 3.0]], upper=True)],
    raises=[
        RaisesFor(call(R), RuntimeError, "batches of square matrices"),
        RaisesFor(call([[1.0, 2.0], [2.0, 1.0]]), RuntimeError, "not positive-definite"),
    ],
    jax_idioms={"jnp.linalg.cholesky(x)": jnp.linalg.cholesky},
    forward_mode=UNSYMMETRIC,
    dtypes=WIDE,
    source="P055",
)
def cholesky(draw):
    return call(_symmetric(draw), upper=draw(st.booleans()))


def _triangle(draw):
    n, upper = draw(st.integers(1, 3)), draw(st.booleans())
    x = regular(draw, n, draw(BATCHES))
    return np.triu(x) if upper else np.tril(x), upper


@operator(
    "cholesky_inverse",
    torch_gradient=True,
    forward_mode="torch's forward mode does not fill the triangle that its gradient fills",
    differences=[
        PinnedDifference(
            call([[2.0, 0.0], [1.0, 3.0]]),
            {
                "gradient/0": (
                    [[-5 / 36, -29 / 108], [-2 / 9, -7 / 54]],
                    [[-5 / 36, 0.0], [-2 / 9, -7 / 54]],
                )
            },
            FILLED,
        ),
        PinnedDifference(
            call(np.full((2, 2), inf)),
            {
                "forward/0": ([[nan, nan], [nan, 0.0]], nan),
                "gradient/0": (nan, [[nan, 0.0], [nan, nan]]),
            },
            "LAPACK multiplies triangles, and what is solved by them here meets 0 * NaN",
        ),
    ],
    raises=[RaisesFor(call(R), RuntimeError, "batches of square matrices")],
    dtypes=WIDE,
)
def cholesky_inverse(draw):
    return call(*_triangle(draw))


@operator(
    "cholesky_solve",
    torch=torch.cholesky_solve,
    torch_gradient=True,
    points=[
        call([[1.0, 2.0], [2.0, 0.5]], [[[2.0, 0.0], [1.0, 3.0]], [[1.0, 0.0], [1.0, 2.0]]]),
        call([[1.0], [2.0]], [[0.0, 0.0], [1.0, 3.0]]),
        call([[1.0], [2.0]], [[1.0, 0.0], [inf, 3.0]]),
    ],
    forward_mode="torch's is wrong where one right-hand side is of several matrices",
    differences=[
        PinnedDifference(
            call([[1.0], [0.0]], [[2.0, 0.0], [1.0, 3.0]]),
            {
                "gradient/1": (
                    [[-2 / 9, -1 / 9], [-1 / 18, 1 / 18]],
                    [[-2 / 9, 0.0], [-1 / 18, 1 / 18]],
                )
            },
            FILLED,
        )
    ],
    raises=[RaisesFor(call(np.ones((3, 1)), np.eye(2)), RuntimeError, "Incompatible matrix sizes")],
    dtypes=WIDE,
)
def cholesky_solve(draw):
    x, upper = _triangle(draw)
    return call(draw(floats((x.shape[-1], draw(st.integers(1, 2))))), x, upper)


DEPENDENT = [[1.0, 1.0, 2.0], [0.0, 0.0, 3.0]]  # without a rounding: the same in every LAPACK
DIVIDED = "of columns that depend on each other torch's is a number, its gradient NaN"
INFINITE = PinnedDifference(
    call([[1.0, inf]]),
    {"forward/1": ([[1.0, nan]], [[1.0, inf]]), "gradient/0": (nan, [[nan, inf]])},
    "torch's LAPACK multiplies by 0 where there is nothing to reflect, and JAX's does not",
)
ZEROS = PinnedDifference(
    call([[0.0, 0.0]]),
    {"tangent/2": ([[nan, nan]], [[nan, inf]])},
    "of singular values 0 torch's forward mode contradicts its gradient, whose inf is ours",
)


@operator(
    "linalg.qr",
    invariant=lambda q, r: (q @ q.swapaxes(-1, -2), r * r, q[..., :1, :] * q),
    points=[call(DEPENDENT)],
    differences=[INFINITE],
    forward_mode=DIVIDED,
    raises=[
        RaisesFor(call(R, "x"), RuntimeError, "unrecognized mode 'x'"),
        RaisesFor(call(V), RuntimeError, "at least 2 dim"),
        RaisesFor(call(R.T, "complete"), RuntimeError, "not diff", when="backward"),
    ],
    dtypes=WIDE,
    source="P056 P060",
)
def qr(draw):
    x = _wide_or_tall(draw)
    return call(
        x, draw(st.sampled_from(["reduced", "complete"] if len(x) < x.shape[1] else ["reduced"]))
    )


def _distinct(draw):
    """Singular values that are far from each other."""
    x = _wide_or_tall(draw)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * (s + 2 * np.arange(s.size)[::-1])) @ vh


@operator(
    "linalg.svd",
    max_programs=4,
    invariant=lambda u, s, vh: (
        u[..., : s.shape[-1]] ** 2,
        s,
        u[..., : s.shape[-1]] @ vh[..., : s.shape[-1], :],
        vh[..., : s.shape[-1], :] ** 2,
    ),
    points=[call([[-0.0]])],
    differences=[ZEROS],
    raises=[RaisesFor(call(V), RuntimeError, "at least 2 dim")],
    dtypes=WIDE,
    source="P056",
)
def svd(draw):
    return call(_distinct(draw), draw(st.booleans()))


@operator(
    "linalg.svdvals",
    points=[call([[-0.0]])],
    raises=[RaisesFor(call(V), RuntimeError, "at least 2 dim")],
    differences=[
        PinnedDifference(
            call([[inf, 1.0]]),
            {
                "gradient/0": ([[1.0, 0.0]], [[-1.0, -0.0]]),
                "tangent/0": (1.0, -1.0),
                "transpose/0": (1.0, -1.0),
            },
            "of an infinite matrix JAX's LAPACK has singular vectors of another sign",
        )
    ],
    dtypes=COMPLEX,
)
def svdvals(draw):
    return call(_distinct(draw))


ASYMMETRIC = [[1.0, 5.0], [2.0, 3.0]]


@operator(
    "linalg.eigh",
    max_programs=4,
    invariant=lambda values, v: (values, v**2, v[..., :1, :] * v),
    points=[call(ASYMMETRIC), call(ASYMMETRIC, "U"), call([[2.0, 0.0], [0.0, 2.0]])],
    raises=[
        RaisesFor(call(R), RuntimeError, "batches of square matrices"),
        RaisesFor(call(np.eye(2), "X"), RuntimeError, "'L' or 'U'"),
    ],
    jax_idioms={"jnp.linalg.eigh(x)": lambda x, _="L": _invariant(*jnp.linalg.eigh(x))},
    forward_mode=UNSYMMETRIC,
    dtypes=WIDE,
    source="P053 P054",
)
def eigh(draw):
    return call(_symmetric(draw), draw(st.sampled_from(["L", "U"])))


def _invariant(values, v):
    return values, v**2, v[..., :1, :] * v


@operator(
    "linalg.eigvalsh",
    points=[call(ASYMMETRIC), call([[2.0, 0.0], [0.0, 2.0]])],
    raises=[RaisesFor(call(R), RuntimeError, "batches of square matrices")],
    jax_idioms={"jnp.linalg.eigvalsh(x)": jnp.linalg.eigvalsh},
    dtypes=WIDE,
    tolerance={"float32": Tolerance(1e-5, "vectors of near values: another LAPACK is 19 ULP off")},
    source="P054",
)
def eigvalsh(draw):
    return call(_symmetric(draw), draw(st.sampled_from(["L", "U"])))


def _spread(draw):
    n = draw(st.integers(1, 3))
    return draw(floats((*draw(BATCHES), n, n), -1, 1)) + np.diag(3.0 * np.arange(1, n + 1))


@operator(
    "linalg.eig",
    max_programs=4,
    invariant=lambda values, v: (values, (v * v.conj()).real),
    points=[call([[0.0, 1.0], [-4.0, 0.0]])],
    raises=[
        RaisesFor(call(R), RuntimeError, "batches of square matrices"),
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
    raises=[RaisesFor(call(R), RuntimeError, "batches of square matrices")],
    dtypes=COMPLEX,
)
def eigvals(draw):
    return call(_spread(draw))
