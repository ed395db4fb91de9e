"""Records of the operators in `jaxgrad/functional/activation/softmax.py`."""

from unittest import mock

import jax
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import WIDENED, dims, floats, shapes


inf, nan = np.inf, np.nan
ROWS = [
    call([[-inf, -inf], [-inf, 1.0], [inf, 1.0], [nan, 1.0], [1e308, -1e308]], 1),
    call(np.zeros((0, 3)), 0),
    call(np.array(2.0), 0),
]
NO_DIM = RaisesFor(call(np.ones((2, 2)), 2), IndexError, "out of range")


@operator(
    "softmax",
    points=ROWS,
    raises=[NO_DIM],
    jax_idioms={"jax.nn.softmax(x, dim)": jax.nn.softmax},
    source="P043",
)
def softmax(draw):
    x = draw(floats())
    return call(x, draw(dims(x.ndim)), **draw(WIDENED))


@operator("softmin", points=ROWS, raises=[NO_DIM])
def softmin(draw):
    x = draw(floats())
    return call(x, draw(dims(x.ndim)), **draw(WIDENED))


@operator(
    "log_softmax",
    points=ROWS,
    raises=[NO_DIM],
    jax_idioms={"jax.nn.log_softmax(x, dim)": jax.nn.log_softmax},
)
def log_softmax(draw):
    x = draw(floats())
    return call(x, draw(dims(x.ndim)), **draw(WIDENED))


def _gumbel_softmax(logits, tau=1, hard=False, dim=-1, *, noise):
    """Run torch's function with the given noise instead of its random noise."""
    exponential = mock.Mock(log=lambda: -noise)  # torch takes the log of this object
    with mock.patch.object(torch.Tensor, "exponential_", return_value=exponential):
        return torch.nn.functional.gumbel_softmax(logits, tau, hard, dim=dim)


SURE = "where one class has almost all the probability, tangents are differences of numbers near 1"


@operator(
    "gumbel_softmax",
    torch=_gumbel_softmax,
    tolerance={"float64": Tolerance(1e-11, SURE)},
)
def gumbel_softmax(draw):
    x = draw(floats(draw(shapes(low=1))))
    tau, hard = draw(st.sampled_from([1, 0.5])), draw(st.booleans())
    return call(x, tau, hard, dim=draw(dims(x.ndim)), noise=draw(floats(x.shape)))
