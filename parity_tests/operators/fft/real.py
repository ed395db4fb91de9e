"""Records of the operators in `jaxgrad/functional/fft/real.py`."""

import numpy as np

from parity_tests.operators import call, operator
from parity_tests.operators.fft._shared import (
    BOTH,
    MANY_DIMS_ERRORS,
    NO_DIMS,
    NOT_REAL,
    ONE_DIM_ERRORS,
    REAL,
    along_any_dims,
    along_one_dim,
    along_two_dims,
    at_least_two,
    transform_of_six,
)


operator(
    "fft.rfft",
    differences=transform_of_six("rfft"),
    raises=[*ONE_DIM_ERRORS, NOT_REAL],
    dtypes=REAL,
    source="P051",
)(along_one_dim)


operator(
    "fft.irfft",
    differences=transform_of_six("irfft"),
    points=[call(np.arange(3))],
    raises=ONE_DIM_ERRORS,
    dtypes=BOTH,
    source="P051",
)(at_least_two)


for name in ("rfft2", "rfftn"):
    operator(
        f"fft.{name}",
        differences=transform_of_six(name),
        raises=[*MANY_DIMS_ERRORS, NOT_REAL, NO_DIMS],
        dtypes=REAL,
    )(along_any_dims if name.endswith("n") else along_two_dims)


for name in ("irfft2", "irfftn"):
    operator(
        f"fft.{name}",
        differences=transform_of_six(name),
        raises=[*MANY_DIMS_ERRORS, NO_DIMS],
        dtypes=BOTH,
    )(along_any_dims if name.endswith("n") else along_two_dims)
