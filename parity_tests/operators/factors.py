"""Records of LU, reflections and `jaxgrad.functional.tensors`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import Deviation, Raises, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.matrices import INFINITE, LAPACKS, _bad, inf, nan, regular


DTYPES = ("float64", "float32", "complex128")
EYE, R, V = np.eye(2), np.ones((2, 3)), np.ones(3)
UNPIVOTED = _bad(R, pivot=False, words="LU without pivoting")
NOT_MATRIX = _bad(V, words="2")


def _matrices(draw):
    m, n = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    batch = draw(st.sampled_from([(), (), (2,), (1, 2)]))
    return draw(floats((*batch, m, n), -1, 1)) + 2 * np.eye(m, n)


@operator(
    "linalg.lu",
    kinds=3,
    points=[call(np.ones((2, 2))), call(np.ones((3, 2))), call([[1.0, nan], [2.0, 3.0]])],
    deviations=[
        Deviation(
            call(INFINITE),
            {
                "forward/1": ([[1.0, 0.0], [nan, 1.0]], EYE),
                "forward/2": ([[inf, 1.0], [0.0, nan]], [[inf, 1.0], [0.0, 2.0]]),
                "gradient/0": (nan, [[nan, 2.0], [nan, 4.0]]),
            },
            LAPACKS,
        )
    ],
    raises=[UNPIVOTED, NOT_MATRIX],
    dtypes=DTYPES,
)
def lu(draw):
    return call(_matrices(draw))


OF_INFINITE = Deviation(
    call(INFINITE),
    {
        "forward/0": ([[inf, 1.0], [nan, nan]], [[inf, 1.0], [0.0, 2.0]]),
        "gradient/0": (nan, [[nan, 2.0], [nan, 4.0]]),
    },
    LAPACKS,
)


@operator(
    "linalg.lu_factor",
    kinds=3,
    points=[call([[1.0, nan], [2.0, 3.0]])],
    deviations=[OF_INFINITE],
    raises=[
        UNPIVOTED,
        NOT_MATRIX,
        Raises(call(np.ones((2, 2))), RuntimeError, "is zero and using it", "a pivot of U is zero"),
    ],
    dtypes=DTYPES,
)
def lu_factor(draw):
    return call(_matrices(draw))


@operator(
    "linalg.lu_solve",
    kinds=4,
    points=[
        call(EYE * 0.0, np.array([1, 2], np.int32), [[1.0], [2.0]], adjoint=adjoint)
        for adjoint in (False, True)
    ],
    raises=[
        _bad(R, np.array([1, 2], np.int32), R, words="batches of square matrices"),
        _bad(EYE, np.array([1], np.int32), R, words="Number of pivots"),
        _bad(EYE, np.array([1, 2]), R, words="scalar type torch.int32"),
        _bad(EYE, np.array([1, 2], np.int32), R.T, words="Incompatible shapes"),
    ],
    dtypes=DTYPES,
)
def lu_solve(draw):
    n, k, left = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.booleans())
    batch, other = draw(st.sampled_from([((), ()), ((2,), ()), ((2,), (2,)), ((1,), (3,))]))
    pivots = np.array([draw(st.integers(i + 1, n)) for i in range(n)], np.int32)
    return call(
        regular(draw, n, batch),
        np.broadcast_to(pivots, (*batch, n)).copy(),
        draw(floats((*other, n, k) if left else (*other, k, n))),
        left=left,
        adjoint=draw(st.booleans()),
    )


@operator(
    "linalg.householder_product",
    kinds=3,
    points=[call([[1.0], [inf]], [0.5]), call([[1.0], [2.0]], [0.0])],
    deviations=[
        Deviation(
            call([[1.0]], [1.0]),
            {"gradient/1": (nan, -1.0)},
            "torch's gradient divides by 1 - tau |v|^2, which is 0 here; the function is linear",
        )
    ],
    raises=[
        _bad(V, V, words="at least 2 dimensions"),
        _bad(R, V, words="must be greater than or equal to"),
        _bad(R.T, V, words="must be greater than or equal to"),
        _bad(np.ones((2, 3, 2)), np.ones(2), words="one dimension less than input"),
    ],
    dtypes=DTYPES,
)
def householder_product(draw):
    k, n, m = sorted(draw(st.integers(1, 4)) for _ in range(3))
    batch = draw(st.sampled_from([(), (2,)]))
    return call(draw(floats((*batch, m, n), -1, 1)), draw(floats((*batch, k), -1, 1)))


@operator(
    "linalg.tensorsolve",
    raises=[_bad(np.ones((4, 2, 2)), V, words="satisfy the requirement")],
    dtypes=DTYPES,
)
def tensorsolve(draw):
    x = regular(draw, 4)
    if draw(st.booleans()):
        return call(x.reshape(2, 2, 4), draw(floats((2, 2))))
    turned = np.moveaxis(x.reshape(4, 2, 2), 1, 0)
    return call(turned, draw(floats(4)), dims=draw(st.sampled_from([(0,), [-3]])))


@operator(
    "linalg.tensorinv",
    deviations=[
        Deviation(
            call(np.reshape(INFINITE, (2, 1, 2))),
            {
                "forward/0": (nan, [[[0.0], [0.0]], [[0.0], [0.5]]]),
                "gradient/0": (nan, [[[0.0, 0.0]], [[0.0, -1.0]]]),
            },
            LAPACKS,
        )
    ],
    raises=[
        _bad(np.ones((4, 3, 2)), words="satisfy the requirement"),
        _bad(np.ones((4, 2, 2)), ind=0, words="strictly positive"),
    ],
    dtypes=DTYPES,
)
def tensorinv(draw):
    x = regular(draw, 4)
    return draw(st.sampled_from([call(x.reshape(2, 2, 4)), call(x.reshape(4, 2, 2), ind=1)]))
