"""Records of the operators in `jaxgrad/functional/fft/complex.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import dims, floats, shapes
from parity_tests.operators.fft._shared import (
    BOTH,
    MANY_DIMS_ERRORS,
    ONE_DIM_ERRORS,
    along_any_dims,
    along_one_dim,
    along_two_dims,
    transform_of_six,
)


for name in ("fft", "ifft"):
    operator(
        f"fft.{name}",
        differences=transform_of_six(name),
        points=[call(np.arange(3))],
        raises=ONE_DIM_ERRORS,
        dtypes=BOTH,
    )(along_one_dim)


for name in ("fft2", "ifft2", "fftn", "ifftn"):
    operator(
        f"fft.{name}",
        differences=transform_of_six(name),
        raises=MANY_DIMS_ERRORS,
        dtypes=BOTH,
    )(along_any_dims if name.endswith("n") else along_two_dims)


for name in ("fftshift", "ifftshift"):

    @operator(f"fft.{name}", dtypes=("float64", "complex128"))
    def shifted(draw):
        x = draw(floats(draw(shapes(low=1))))
        return call(x, draw(st.sampled_from([None, draw(dims(x.ndim))])))
