"""Records of matrices: determinants, inverses, systems and functions."""

import itertools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, Sample, call, operator
from parity_tests.operators._harness.draw import floats, shapes


inf, nan = np.inf, np.nan
WIDE = ("float64", "float32", "complex128")
SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
COFACTORS = [[4.0, 4.0, -4.0], [-2.0, -2.0, 2.0], [0.0, 0.0, 0.0]]
R, V, EYE = np.ones((2, 3)), np.ones(3), np.eye(2)
INFINITE = [[inf, 1.0], [inf, 2.0]]
LAPACKS = "below an infinite pivot JAX's LAPACK (OpenBLAS) has 0, torch's (MKL) inf / inf, NaN"
SOLVED_BY_INFINITE = PinnedDifference(
    call(INFINITE, [[1.0], [2.0]]),
    {
        "forward/0": (nan, [[0.0], [1.0]]),
        "gradient/0": (nan, [[0.0, 0.0], [0.0, -1.0]]),
        "gradient/1": (nan, [[0.0], [1.0]]),
    },
    LAPACKS,
)


def _not_read(x: float) -> list[list[float]]:
    """An element in the upper triangle, which is not read."""
    return [[1.0, 0.0, 0.0], [0.0, 1.0, x], [0.0, 0.0, 1.0]]


NOT_SQUARE = RaisesFor(call(R), RuntimeError, "batches of square matrices")
NOT_MATRIX = RaisesFor(call(V), RuntimeError, "at least 2 dim")


def regular(draw: Any, n: int, batch: tuple[int, ...] = ()) -> np.ndarray:
    """Square matrices that are far from singular."""
    return draw(floats((*batch, n, n), -1, 1)) + 2.5 * np.eye(n)


def _square(*options: Any) -> Callable[..., Sample]:
    def strategy(draw):
        batch = draw(st.sampled_from([(), (), (2,)]))
        x = regular(draw, draw(st.integers(1, 3)), batch)
        return call(x, *([draw(st.sampled_from(options))] if options else []))

    strategy.__module__ = __name__
    return strategy


operator(
    "linalg.det",
    points=[call(np.zeros((0, 0))), call([[2.0]])],
    torch_gradient=True,
    differences=[
        PinnedDifference(
            call(SINGULAR),
            {"gradient/0": (0.0, COFACTORS)},
            "torch's gradient of a singular matrix is 0, and is that of cofactors if one asks for "
            "a graph of it",
        ),
        PinnedDifference(
            call(np.zeros((2, 2))),
            {"second/0": (nan, [[4.0, -3.0], [-2.0, 1.0]])},
            "torch's second derivative of a singular matrix is by singular values, NaN where some "
            "are equal; it is linear in the entries",
        ),
        PinnedDifference(
            call(np.diag([1.0, 2.0, 3.0, 0.0])),
            {"gradient/0": (0.0, np.diag([0.0, 0.0, 0.0, 6.0]))},
            "the same of four rows, where the second derivative is torch's too",
        ),
        PinnedDifference(
            call([[inf, 1.0], [2.0, 3.0]]),
            {"gradient/0": ([[nan, nan], [nan, inf]], [[3.0, -2.0], [-1.0, inf]])},
            "torch divides by the matrix; ours are cofactors, most of which do not touch infinity",
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
    dtypes=WIDE,
    source="P057",
)(_square())
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
    dtypes=WIDE,
    source="P058",
)(_square())
operator(
    "logdet",
    max_programs=4,
    points=[call([[0.0, 1.0], [1.0, 0.0]])],
    differences=[
        PinnedDifference(call(INFINITE), {"gradient/0": (nan, [[0.0, 0.0], [0.0, 0.5]])}, LAPACKS)
    ],
    raises=[RaisesFor(call(R), RuntimeError, "logdet: A must be batches of square matrices")],
    jax_idioms={"jnp.log(jnp.linalg.det(x))": lambda x: jnp.log(jnp.linalg.det(x))},
    dtypes=WIDE,
)(_square())
operator(
    "linalg.inv",
    differences=[
        PinnedDifference(
            call(INFINITE),
            {
                "forward/0": (nan, [[0.0, 0.0], [0.0, 0.5]]),
                "gradient/0": (nan, [[0.0, 0.0], [0.0, -1.0]]),
            },
            LAPACKS,
        )
    ],
    raises=[
        NOT_SQUARE,
        RaisesFor(call(SINGULAR), RuntimeError, "because the input matrix is singular"),
    ],
    dtypes=WIDE,
    source="P059",
)(_square())
operator(
    "linalg.matrix_power",
    raises=[RaisesFor(call(R, 2), RuntimeError, "batches of square matrices")],
    dtypes=WIDE,  # a negative power is an inverse, which torch does not have of halves
)(_square(0, 1, 2, 3, -1, -2))
operator(
    "linalg.matrix_exp",
    max_programs=2,
    points=[call([[-1e6]]), call([[inf]]), call([[nan, 0.0], [0.0, 1.0]])],
    differences=[
        PinnedDifference(
            call(-1e6 * EYE),
            {"forward/0": (0.0, nan), "gradient/0": (0.0, nan)},
            "jax.scipy squares at most 16 times, which is enough up to a norm of 350000",
        )
    ],
    raises=[
        NOT_SQUARE,
        RaisesFor(call(np.ones((2, 2), int)), RuntimeError, "Expected a floating point"),
    ],
    tolerance={"float32": Tolerance(4e-6, "the approximants are of other degrees: 28 ULP")},
    dtypes=WIDE,
)(_square())


def _cond(x, p=None):
    """torch's; of other norms than 2 without its write into the inverse, which stops a second."""
    if p in (None, 2, -2):
        return torch.linalg.cond(x, p)
    return torch.linalg.matrix_norm(x, p) * torch.linalg.matrix_norm(torch.linalg.inv(x), p)


operator("linalg.cond", torch=_cond, raises=[NOT_MATRIX], dtypes=WIDE)(
    _square(None, 2, -2, "fro", 1, inf)
)


def _wide_or_tall(draw):
    m, n = draw(st.permutations([1, 2, 3]))[:2]
    return draw(floats((m, n), -1, 1)) + 2 * np.eye(m, n)


@operator(
    "linalg.pinv",
    max_programs=4,
    points=[
        call([[2.0, 9.0], [1.0, 3.0]], hermitian=True),
        call([[1.0, 100.0], [0.0, 0.25]], atol=0.5, hermitian=True),
        *(call(x, hermitian=True) for x in (np.zeros((2, 2)), np.eye(3), np.diag([1.0, -1.0]))),
        *(call(x, hermitian=True) for x in ([[0.0, 1.0], [1.0, 0.0]], [[-0.0]], np.zeros((0, 0)))),
        *(call(_not_read(x), hermitian=True) for x in (inf, nan)),
        call([[inf]], hermitian=True),
    ],
    differences=[
        PinnedDifference(
            call([[nan]], hermitian=True),
            {"forward/0": (0.0, nan)},
            "torch leaves out an eigenvalue that is not above the bound, as NaN; of other "
            "matrices its eigenvectors are NaN, and so is the inverse",
        ),
        PinnedDifference(
            call(np.diag([1.0, inf, 1.0])),
            {
                "forward/0": (0.0, nan),
                "gradient/0": ([[0.0, nan, 0.0], [nan, nan, nan], [0.0, nan, 0.0]], nan),
            },
            "LAPACK may iterate without end on three rows with an infinity: ours is not asked",
        ),
    ],
    raises=[RaisesFor(call(V), RuntimeError, "linalg.pinv")],
    dtypes=WIDE[:2],
)
def pinv(draw):
    """The bounds of what is 0 do not touch these singular values, or leave one out."""
    more = draw(st.sampled_from([{}, {"rtol": 1e-3}, {"atol": 1e-3}, {"rcond": 1e-3}]))
    if draw(st.booleans()):
        return call(_wide_or_tall(draw), **more)
    x = draw(floats((2, 3, 3), -1, 1))
    more.pop("rcond", None)
    return call(x @ x.swapaxes(-1, -2) + 3 * np.eye(3), hermitian=True, **more)


@operator(
    "linalg.solve",
    max_programs=4,
    differences=[SOLVED_BY_INFINITE],
    raises=[
        RaisesFor(call(SINGULAR, V), RuntimeError, "because the input matrix is singular"),
        RaisesFor(call(EYE, V), RuntimeError, "Incompatible shapes of A and B"),
        RaisesFor(call(R, R), RuntimeError, "batches of square matrices"),
    ],
    dtypes=WIDE,
    source="P059",
)
def solve(draw):
    n, k = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    batch = draw(st.sampled_from([(), (2,)]))
    x = regular(draw, n, batch)
    left = draw(st.booleans())
    one = (n, k) if left else (k, n)
    shapes = [(2, *one)] if batch else [one, (2, *one)]
    if left:
        shapes.append((*batch, n))
    return call(x, draw(floats(draw(st.sampled_from(shapes)))), left=left)


@operator(
    "linalg.solve_triangular",
    points=[call([[0.0]], [[1.0]], upper=True)],
    raises=[
        RaisesFor(
            call(EYE, np.ones((3, 1)), upper=True), RuntimeError, "Incompatible shapes of A and B"
        )
    ],
    dtypes=WIDE,
)
def solve_triangular(draw):
    n, k = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    left, upper, unit = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    x = regular(draw, n, draw(st.sampled_from([(), (2,)])))
    x = np.triu(x) if upper else np.tril(x)
    b = draw(floats((n, k) if left else (k, n)))
    return call(x, b, upper=upper, left=left, unitriangular=unit)


@operator(
    "linalg.lstsq",
    max_programs=4,
    points=[call([[1.0, 0.0], [0.0, 2.0]], [[1.0, inf], [1.0, 2.0]])],
    differences=[
        PinnedDifference(
            call([[inf]], [[1.0]]),
            {"forward/0": (nan, 0.0), "forward/2": (1, 0)},
            "torch's LAPACK divides the matrix by its largest number and counts the NaN as a rank",
        )
    ],
    raises=[RaisesFor(call(R, np.ones((3, 1))), RuntimeError, "should match other.size(-2)")],
    torch=torch.linalg.lstsq,
    dtypes=WIDE,
)
def lstsq(draw):
    x = _wide_or_tall(draw)
    x = np.stack([x, x + 0.1]) if draw(st.booleans()) else x
    more = draw(st.sampled_from([{}, {"rcond": 1e-3}]))
    return call(x, draw(floats((*x.shape[:-1], draw(st.integers(1, 2))))), **more)


@operator(
    "linalg.multi_dot",
    torch=torch.linalg.multi_dot,
    raises=[
        RaisesFor(call([V]), RuntimeError, "at least 2 tensors"),
        RaisesFor(call([EYE, R.T]), RuntimeError, "cannot be multiplied"),
    ],
    points=[call([np.array(x) for x in ([inf], [[-2.0, 0.5]], [[-0.5], [3.0]], [[0.25, 2.0]])])],
    dtypes=WIDE,
)
def multi_dot(draw):
    sizes = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(3, 5)))]
    arrays = [draw(floats(pair)) for pair in itertools.pairwise(sizes)]
    if draw(st.booleans()):
        arrays[0] = arrays[0][0]
    return call(arrays)


@operator(
    "linalg.cross",
    raises=[
        RaisesFor(call(EYE, EYE), RuntimeError, "must have length 3"),
        RaisesFor(call(V, np.ones((2, 3))), RuntimeError, "same number of dimensions"),
    ],
    dtypes=WIDE,
)
def cross(draw):
    shape = list(draw(shapes(low=1, high=2)))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    shape[dim] = 3
    other = [n if n == 3 else draw(st.sampled_from([n, 1])) for n in shape]
    return call(draw(floats(shape)), draw(floats(other)), dim=dim)


@operator("linalg.vecdot", dtypes=WIDE)
def vecdot(draw):
    x = draw(floats(dims=1))
    y = draw(floats(x.shape[1:] if x.ndim > 1 and draw(st.booleans()) else x.shape))
    return call(x, y, dim=draw(st.integers(-y.ndim, -1)))


@operator(
    "linalg.vander",
    points=[call([0.0, 1.0, -2.0])],
    differences=[
        PinnedDifference(
            call([inf, 2.0], N=2),
            {"tangent/0": ([[0.0, nan], [0.0, 2.0]], [[0.0, 1.0], [0.0, 2.0]])},
            "torch's forward mode divides by the infinity, its gradient does not",
        )
    ],
    raises=[RaisesFor(call(V, N=1), RuntimeError, "N must be greater than 1")],
    jax_idioms={"jnp.vander(x, increasing=True)": lambda x: jnp.vander(x, increasing=True)},
    dtypes=WIDE,
)
def vander(draw):
    return call(draw(floats(draw(shapes(low=1)))), N=draw(st.integers(2, 4)))


@operator(
    "linalg.matrix_rank",
    points=[
        *(call(x) for x in (SINGULAR, np.zeros((2, 3)), np.zeros((0, 3)))),
        call([[1.0, 5.0], [1.0, 1.0]], hermitian=True),
        *(call(_not_read(x), hermitian=True) for x in (inf, nan)),
    ],
    raises=[NOT_MATRIX],
    dtypes=WIDE[:2],
)
def matrix_rank(draw):
    x = _wide_or_tall(draw)
    x = np.stack([x, x * 0]) if draw(st.booleans()) else x
    bounds = [{}, {"rtol": 0.1}, {"atol": 0.9}, {"atol": 1.5, "rtol": 0.1}, {"tol": 0.9}]
    if draw(st.booleans()):
        return call(x @ x.swapaxes(-1, -2), hermitian=True)
    return call(x, **draw(st.sampled_from(bounds)))
