"""Records of `jaxgrad.functional.fft`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats, shapes


NORMS = st.sampled_from([None, "backward", "ortho", "forward"])
inf, nan = np.inf, np.nan
X = np.arange(6.0).reshape(2, 3)


NO_NORM = RaisesFor(call(X, norm="both"), RuntimeError, "Invalid normalization mode")
COMPLEX = RaisesFor(call(X + 1j), RuntimeError, torch="Complex", jax="expects a real input")
REAL, BOTH = ("float64", "float32"), ("complex128", "float64", "complex64")


# Numbers of which one is infinite, transformed into or from six: the input, torch's and ours.
_FFT = [inf, complex(inf, -inf), complex(-inf, -inf), -inf, complex(-inf, inf), complex(inf, inf)]
SIX = {
    "fft": (
        [0.0, inf, 0.0, 0.0, 0.0, 0.0],
        _FFT,
        [*_FFT[:3], complex(-inf, nan), _FFT[4], complex(nan, inf)],
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


def _of_six(name: str) -> list[PinnedDifference]:
    """torch takes six apart into 2 x 3 and JAX into 3 x 2. Of two dims it is the last one."""
    kind = name.rstrip("2n")
    x, *both = (np.array(x) for x in SIX[CONJUGATE.get(kind, kind)])
    if kind in CONJUGATE:
        both = [y.conj() for y in both]
    if kind != name:
        x, both = x[None], [y[None] for y in both]
    why = "the order of the factors decides where an infinity meets a twiddle factor's 0"
    return [PinnedDifference(call(x), {"forward/0": (both[0], both[1])}, why)]


for name in ("fft", "ifft", "irfft", "hfft", "rfft", "ihfft"):
    _REAL = name in ("rfft", "ihfft")

    @operator(
        f"fft.{name}",
        differences=_of_six(name),
        points=[] if _REAL else [call(np.arange(3))],
        raises=[
            NO_NORM,
            RaisesFor(call(X, 0), RuntimeError, "Invalid number of data points"),
            RaisesFor(call(X.astype(np.float16)), RuntimeError, "Unsupported dtype"),
            RaisesFor(call(np.array(2.0)), IndexError, "no dimensions"),
        ]
        + ([COMPLEX] if _REAL else []),
        dtypes=REAL if _REAL else BOTH,
        source="P051" if name in ("rfft", "irfft") else "",
    )
    def along(draw, least=2 if name in ("irfft", "hfft") else 1):
        x = draw(floats(draw(shapes(low=1, high=2, least=least))))
        n = draw(st.sampled_from([None, None, 2, 5]))
        return call(x, n, draw(dims(x.ndim)), draw(NORMS))


for name in (f"{kind}fft{many}" for kind in ("", "i", "r", "ir", "h", "ih") for many in "2n"):
    _REAL = name.startswith(("r", "ih"))

    @operator(
        f"fft.{name}",
        differences=_of_six(name),
        raises=[
            NO_NORM,
            RaisesFor(call(X, (2, 2, 2), (0, 1)), RuntimeError, "must have the same length"),
            *([COMPLEX] if _REAL else []),
            *(
                [RaisesFor(call(X, dim=()), RuntimeError, "at least one axis")]
                if name[-5:-4] in ("r", "h")
                else []
            ),
        ],
        dtypes=REAL if _REAL else BOTH,
    )
    def over(draw, name=name):
        """Pairs of dims, all of them, the last ones that `s` names, one as a number."""
        x = draw(floats(draw(shapes(low=2, high=3, least=2))))
        pair = tuple(draw(st.permutations(range(x.ndim)))[:2])
        sizes, norm = draw(st.sampled_from([(2, 3), (-1, 4), (3, -1), [4, 2], None])), draw(NORMS)
        if draw(st.booleans()):
            return call(x, sizes, pair, norm)
        if name.endswith("n"):
            return call(x, sizes, norm=norm)
        return call(x, draw(st.sampled_from([None, 3])), dim=draw(dims(x.ndim)), norm=norm)


for name in ("fftshift", "ifftshift"):

    @operator(f"fft.{name}", dtypes=("float64", "complex128"))
    def shifted(draw):
        x = draw(floats(draw(shapes(low=1))))
        return call(x, draw(st.sampled_from([None, draw(dims(x.ndim))])))
