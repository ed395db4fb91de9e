"""Records of the operators in `jaxgrad/functional/fft/stft.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import COMPLEX_INPUTS
from parity_tests.operators import PinnedDifference, RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import floats, integers


inf, nan = np.inf, np.nan
WIDE = ("float64", "float32")
LENGTH = 16


def _options(draw):
    n_fft = draw(st.sampled_from([3, 4, 7, 8]))
    width = draw(st.integers(2, n_fft))
    options = {"hop_length": draw(st.sampled_from([None, 1, 2])), "win_length": width}
    if n_fft < 4:
        options["hop_length"] = 1
    options["normalized"] = draw(st.booleans())
    return n_fft, options


@operator(
    "stft",
    dtypes=WIDE,
    points=[call([nan, inf, 0.0, 1.0], 2, 1, center=False, return_complex=True)],
    differences=[
        PinnedDifference(
            call([1.0, 2.0], 2, 2, window=np.array([inf, 1.0]), center=False, return_complex=True),
            {"transpose/0": ([[inf], [inf]], [[complex(inf, nan)], [complex(inf, nan)]])},
            "JAX's gradient of rfft multiplies by a complex mask, and inf times its 0 is NaN",
        )
    ],
    raises=[
        RaisesFor(
            call(np.ones(8), 4), RuntimeError, torch="return_complex parameter", jax="pass True, or"
        ),
        RaisesFor(
            call(np.ones(8), 4, 0, return_complex=True),
            RuntimeError,
            torch="expected hop_length > 0",
            jax="hop_length > 0, but got hop_length=0",
        ),
        RaisesFor(
            call(np.ones(8), 4, win_length=5, return_complex=True),
            RuntimeError,
            torch="expected 0 < win_length <= n_fft",
            jax="win_length=5 and n_fft=4",
        ),
        RaisesFor(
            call(np.ones(8), 4, window=np.ones(3), return_complex=True),
            RuntimeError,
            torch="expected a 1D window tensor",
            jax="window with size [3]",
        ),
        RaisesFor(
            call(np.ones(8), 4, center=True, return_complex=True, align_to_window=True),
            RuntimeError,
            torch="align_to_window should only",
            jax="when center = false",
        ),
        RaisesFor(
            call(np.ones(8), 4, 1, 3, center=False, return_complex=True, align_to_window=True),
            RuntimeError,
            torch="are out of bounds for storage",
            jax="the last frame ends 1 past that",
        ),
        RaisesFor(
            call(np.ones(2), 4, center=False, return_complex=True),
            RuntimeError,
            torch="expected 0 < n_fft < 2, but got n_fft=4",
            jax="but got n_fft=4",
        ),
        RaisesFor(
            call(np.ones((1, 1, 8)), 4, center=False, return_complex=True),
            RuntimeError,
            torch="expected a 1D or 2D tensor",
            jax="got 3 dims",
        ),
        RaisesFor(
            call(np.ones(8, int), 4, center=False, return_complex=True),
            RuntimeError,
            torch="floating point or complex",
            jax="floating point or complex values, got int64",
        ),
        RaisesFor(
            call(np.ones(8) + 0j, 4, onesided=True, return_complex=True),
            RuntimeError,
            torch="Cannot have onesided output",
            jax="pass onesided=False",
        ),
    ],
)
def stft(draw):
    n_fft, options = _options(draw)
    if draw(st.booleans()):
        options["window"] = draw(floats((options["win_length"],), 0.5, 1.5))
    options["return_complex"] = draw(st.booleans())
    if draw(st.booleans()):
        options["onesided"] = False
    if draw(st.booleans()):
        options["pad_mode"] = draw(st.sampled_from(["constant", "replicate", "reflect"]))
    else:
        options["center"] = False
        aligned = draw(st.sampled_from([None, True, False]))
        even = (n_fft - options["win_length"]) % 2 == 0  # otherwise the last frame may not fit
        options["align_to_window"] = aligned if even or not aligned else None
    return call(draw(floats(draw(st.sampled_from([(LENGTH,), (2, LENGTH)])))), n_fft, **options)


def _real_window(input, *args, window=None, **kwargs):
    if window is not None and not window.is_complex():
        window = window.to(input.real.dtype)
    return torch.istft(input, *args, window=window, **kwargs)


@operator(
    "istft",
    max_programs=5,
    torch=_real_window,
    points=[
        call(
            np.array([[inf + 0j], [2.0]]),
            2,
            1,
            window=np.array([1 + 1j, 1 + 0.5j]),
            return_complex=True,
            onesided=False,
            center=False,
        ),
        call(np.array([[0j], [inf], [0.0]]), 4, 1, center=False),
    ],
    differences=[
        PinnedDifference(
            call(np.array([[0j], [inf], [0.0], [0.0]]), 6, 1, center=False),
            {"forward/0": ([inf, inf, -inf, -inf, -inf, inf], [inf, inf, -inf, -inf, -inf, nan])},
            "as in irfft, the order of the factors of six decides where inf meets a 0",
        )
    ],
    dtypes=("complex128", "complex64"),
    raises=[
        RaisesFor(
            call(np.ones((3, 5)), 4),
            TypeError if here(COMPLEX_INPUTS) else RuntimeError,
            torch="requires a complex-valued",
            jax="float64",
        ),
        RaisesFor(
            call(np.ones((3, 5)) + 0j, 6),
            RuntimeError,
            torch="expected the frequency dimension",
            jax="to be 4 for n_fft=6",
        ),
        RaisesFor(
            call(np.ones((3, 5)) + 0j, 4, window=np.zeros(4)),
            RuntimeError,
            torch="window overlap add min",
            jax="window overlap add min: 1",
        ),
        RaisesFor(
            call(np.ones((3, 5)) + 0j, 4, return_complex=True),
            RuntimeError,
            torch="Cannot have onesided output",
            jax="pass onesided=False",
        ),
        RaisesFor(
            call(np.ones((1, 1, 3, 5)) + 0j, 4),
            RuntimeError,
            torch="expected a tensor with",
            jax="with 2 or 3 dims",
        ),
    ],
)
def istft(draw):
    n_fft, options = _options(draw)
    options["hop_length"] = 1
    two_sided = draw(st.booleans())
    if two_sided:
        options["onesided"] = False
        options["return_complex"] = draw(st.booleans())
    options["center"] = draw(st.booleans())
    if not options["center"]:
        options["win_length"] = n_fft
    width = (options["win_length"],)
    # A floating window may become complex only if the result may be complex.
    if options.get("return_complex"):
        options["window"] = draw(floats(width, 0.5, 1.5))
    else:
        options["window"] = draw(integers(width, 1, 4))
    if draw(st.booleans()):
        options["length"] = draw(st.sampled_from([4, 6]))
    size = n_fft if two_sided else n_fft // 2 + 1
    shape = (*draw(st.sampled_from([(), (2,)])), size, draw(st.sampled_from([8, 9])))
    return call(draw(floats(shape)) + 1j * draw(floats(shape)), n_fft, **options)
