"""Records of the operators in `jaxgrad/functional/reduction/cov_gradient.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats, integers, shapes


CUBE = np.ones((2, 2, 2))
V = np.arange(4.0)


@operator(
    "cov",
    points=[
        call([1.0, 2.0, 4.0]),
        call(np.arange(6).reshape(2, 3)),
        call([[1.0], [2.0]]),
        call([[1.0, 2.0, 4.0]], fweights=np.array([1, 2, 1])),
        # torch sums float32 weights in float32, even beside float64 data.
        call([[1.0, 2.0, 4.0]], aweights=np.array([0.1, 0.7, 1.3], "f4"), correction=0),
    ],
    raises=[
        RaisesFor(call(CUBE), RuntimeError, "two or fewer dimensions"),
        RaisesFor(call(V > 1), RuntimeError, "bool dtype"),
        RaisesFor(call(V, fweights=V), RuntimeError, "integral dtype"),
        RaisesFor(call(V, fweights=np.ones(3, int)), RuntimeError, "same numel"),
        RaisesFor(call(V, aweights=-V), RuntimeError, "cannot be negative"),
    ],
    dtypes=("float64", "float32", "complex128"),
)
def cov(draw):
    x = draw(floats((draw(st.integers(1, 3)), draw(st.integers(2, 4)))))
    n = x.shape[1]
    more = {"correction": draw(st.integers(0, 1))}
    if draw(st.booleans()):
        more["fweights"] = draw(integers((n,), 1, 4))
    elif draw(st.booleans()):
        more = {"aweights": draw(floats((n,), 0.2, 2)), "correction": 0}
    return call(x, **more)


@operator(
    "corrcoef",
    max_programs=4,
    points=[call([1.0, 2.0, 4.0]), call([[1.0, 2.0, 4.0]])],
    raises=[RaisesFor(call(CUBE), RuntimeError, "two or fewer dimensions")],
    differences=[
        PinnedDifference(
            call(np.full((3, 5), 0.37)),
            {"forward/0": (np.nan, 1.0), "gradient/0": (np.nan, 0.0)},
            "the mean of five 0.37 is exact in torch's order of summation, which gives 0 / 0, but "
            "not in XLA's",
        )
    ],
)
def corrcoef(draw):
    return call(draw(floats((draw(st.integers(1, 3)), draw(st.integers(3, 5))))))


@operator(
    "gradient",
    torch=torch.gradient,
    points=[call([1.0, 2.0, 4.0, 8.0], spacing=[np.array([0.0, 1.0, 3.0, 4.0])])],
    raises=[
        RaisesFor(call(V, edge_order=3), RuntimeError, "only supports edge_order=1 and"),
        RaisesFor(call(V[:1]), RuntimeError, "at least edge_order+1"),
        RaisesFor(call(V, spacing=(1.0, 2.0)), RuntimeError, "a list of length"),
    ],
)
def gradient(draw):
    x = draw(floats(draw(shapes(low=1, high=2, least=3))))
    dim = draw(st.sampled_from([None, draw(dims(x.ndim)), tuple(range(x.ndim))]))
    spacing = draw(st.sampled_from([1, 0.5, 2]))
    return call(x, spacing=spacing, dim=dim, edge_order=draw(st.integers(1, 2)))
