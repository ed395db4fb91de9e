"""Calls, arrays and strategies that several records of `fft` share."""

import numpy as np
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import COMPLEX_INPUTS
from parity_tests.operators import PinnedDifference, RaisesFor, call, here
from parity_tests.operators._harness.draw import dims, floats, shapes


inf, nan = np.inf, np.nan
X = np.arange(6.0).reshape(2, 3)
BOTH = ("complex128", "float64", "complex64")
NORMS = st.sampled_from([None, "backward", "ortho", "forward"])
REAL = ("float64", "float32")
NO_NORM = RaisesFor(call(X, norm="both"), RuntimeError, "Invalid normalization mode")
NOT_REAL = RaisesFor(
    call(X + 1j),
    TypeError if here(COMPLEX_INPUTS) else RuntimeError,
    torch="Complex",
    jax="expects a real input",
)
NO_DIMS = RaisesFor(call(X, dim=()), RuntimeError, "at least one axis")
ONE_DIM_ERRORS = [
    NO_NORM,
    RaisesFor(call(X, 0), RuntimeError, "Invalid number of data points"),
    RaisesFor(call(X.astype(np.float16)), RuntimeError, "Unsupported dtype"),
    RaisesFor(call(np.array(2.0)), IndexError, "no dimensions"),
]
MANY_DIMS_ERRORS = [
    NO_NORM,
    RaisesFor(call(X, (2, 2, 2), (0, 1)), RuntimeError, "must have the same length"),
]
# For transforms of length six: an input with one infinity, torch's result and JAX's result.
FFT_OF_SIX = [
    inf,
    complex(inf, -inf),
    complex(-inf, -inf),
    -inf,
    complex(-inf, inf),
    complex(inf, inf),
]
SIX = {
    "fft": (
        [0.0, inf, 0.0, 0.0, 0.0, 0.0],
        FFT_OF_SIX,
        [*FFT_OF_SIX[:3], complex(-inf, nan), FFT_OF_SIX[4], complex(nan, inf)],
    ),
    "rfft": (
        [0.0, 0.0, 0.0, 0.0, 0.0, inf],
        [inf, complex(inf, inf), complex(-inf, inf), -inf],
        [inf, complex(nan, inf), complex(nan, inf), -inf],
    ),
    "irfft": (
        [0.0, inf, 0.0, 0.0],
        [inf, inf, -inf, -inf, -inf, inf],
        [inf, inf, -inf, -inf, -inf, nan],
    ),
}
CONJUGATE = {"ifft": "fft", "ihfft": "rfft", "hfft": "irfft"}


def transform_of_six(name: str) -> list[PinnedDifference]:
    """Pin the difference at length six, which torch factors as 2 x 3 and JAX as 3 x 2.

    In a two-dimensional transform, the last dimension has the six elements.
    """
    kind = name.rstrip("2n")
    x, *both = (np.array(x) for x in SIX[CONJUGATE.get(kind, kind)])
    if kind in CONJUGATE:
        both = [y.conj() for y in both]
    if kind != name:
        x, both = x[None], [y[None] for y in both]
    why = "the order of the factors decides where an infinity meets a twiddle factor's 0"
    return [PinnedDifference(call(x), {"forward/0": (both[0], both[1])}, why)]


def along_one_dim(draw, least=1):
    x = draw(floats(draw(shapes(low=1, high=2, least=least))))
    n = draw(st.sampled_from([None, None, 2, 5]))
    return call(x, n, draw(dims(x.ndim)), draw(NORMS))


def along_two_dims(draw, every=False):
    """Draw a transform over two dimensions, over the last ones, or over one given as an int."""
    x = draw(floats(draw(shapes(low=2, high=3, least=2))))
    pair = tuple(draw(st.permutations(range(x.ndim)))[:2])
    sizes, norm = draw(st.sampled_from([(2, 3), (-1, 4), (3, -1), [4, 2], None])), draw(NORMS)
    if draw(st.booleans()):
        return call(x, sizes, pair, norm)
    if every:
        return call(x, sizes, norm=norm)
    return call(x, draw(st.sampled_from([None, 3])), dim=draw(dims(x.ndim)), norm=norm)


def along_any_dims(draw):
    return along_two_dims(draw, every=True)


def at_least_two(draw):
    return along_one_dim(draw, least=2)
