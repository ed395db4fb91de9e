"""Records of `jaxgrad.functional.fft`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import Raises, call, operator
from parity_tests.operators._draw import dims, floats, shapes


NORMS = st.sampled_from([None, "backward", "ortho", "forward"])
X = np.arange(6.0).reshape(2, 3)


def _bad(*args, words: str, **kwargs) -> Raises:
    return Raises(call(*args, **kwargs), RuntimeError, words, words)


NO_NORM = _bad(X, norm="both", words="Invalid normalization mode")
REAL, BOTH = ("float64", "float32"), ("complex128", "float64", "complex64")


for name in ("fft", "ifft", "irfft", "hfft", "rfft", "ihfft"):
    _REAL = name in ("rfft", "ihfft")

    @operator(
        f"fft.{name}",
        points=[] if _REAL else [call(np.arange(3))],
        raises=[NO_NORM, _bad(X, 0, words="Invalid number of data points")]
        + ([_bad(X + 1j, words="expects a real input")] if _REAL else []),
        dtypes=REAL if _REAL else BOTH,
    )
    def along(draw, least=2 if name in ("irfft", "hfft") else 1):
        x = draw(floats(draw(shapes(low=1, high=2, least=least))))
        n = draw(st.sampled_from([None, None, 2, 5]))
        return call(x, n, draw(dims(x.ndim)), draw(NORMS))


for name in ("fft2", "ifft2", "irfft2", "rfft2", "fftn", "ifftn", "irfftn", "rfftn"):

    @operator(
        f"fft.{name}",
        raises=[NO_NORM, _bad(X, (2, 2, 2), (0, 1), words="must have the same length")],
        dtypes=REAL if name.startswith("r") else BOTH,
    )
    def over(draw, name=name):
        x = draw(floats(draw(shapes(low=2, high=3, least=2))))
        pair = tuple(draw(st.permutations(range(x.ndim)))[:2])
        every = [(2, 3), (-1, 4), None]
        if name.endswith("n") and draw(st.booleans()):
            return call(x, norm=draw(NORMS))
        return call(x, draw(st.sampled_from(every)), pair, draw(NORMS))


for name in ("fftshift", "ifftshift"):

    @operator(f"fft.{name}", dtypes=("float64", "complex128"))
    def shifted(draw):
        x = draw(floats(draw(shapes(low=1))))
        return call(x, draw(st.sampled_from([None, draw(dims(x.ndim))])))
