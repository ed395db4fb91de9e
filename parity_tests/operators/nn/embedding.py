"""Records of the operators in `jaxgrad/functional/nn/embedding.py`."""

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, integers, shapes
from parity_tests.operators.nn._shared import TABLE


TWICE = np.array([0, 0, 2])
AGAIN = [[1, 2], [1, 2], [5, 6]]  # rows looked up in a table of 1, 2, 3, ...
ONCE = [[0.5, 1], [0.5, 1], [5, 6]]


def _torch_embedding(input, weight, padding_idx=None, max_norm=None, *args, **kwargs):
    """Run torch's function; with `max_norm`, use a copy of the table, which torch overwrites."""
    if max_norm is not None:
        weight = weight.clone()
    return torch.nn.functional.embedding(input, weight, padding_idx, max_norm, *args, **kwargs)


@operator(
    "embedding",
    torch=_torch_embedding,
    points=[
        call(TWICE, TABLE, 0),
        call(TWICE, TABLE, max_norm=1.0),
        call(TWICE, np.zeros((3, 2)), max_norm=0.0),
        call(np.array(2), TABLE, -1),
    ],
    differences=[
        PinnedDifference(
            call(TWICE, TABLE, scale_grad_by_freq=True),
            {"transpose/0": (AGAIN, ONCE)},
            "torch's second derivative ignores scale_grad_by_freq; JAX differentiates torch's "
            "gradient",
        )
    ],
    raises=[
        RaisesFor(call(np.array([3]), TABLE), IndexError, torch="out of range", jax="rows 0 to 2"),
        RaisesFor(call(np.array([-1]), TABLE), IndexError, torch="out of range", jax="rows 0 to 2"),
        RaisesFor(call(TWICE, TABLE, 3), AssertionError, "Padding_idx"),
        RaisesFor(call(TWICE, TABLE[0]), RuntimeError, "2-D"),
        RaisesFor(call([1.0], TABLE), RuntimeError, "scalar types"),
    ],
    forward_mode="torch's forward mode ignores padding_idx",
    jax_idioms={"w[i]": lambda i, w, *_, **__: w[i]},
    source="P071 P102 P103 P104",
)
def embedding(draw):
    rows = draw(st.integers(1, 4))
    return call(
        draw(integers(draw(shapes()), 0, rows)),
        draw(floats((rows, draw(st.integers(1, 3))))),
        padding_idx=draw(st.sampled_from([None, rows - 1, -rows])),
        max_norm=draw(st.sampled_from([None, 1.0])),
        norm_type=draw(st.sampled_from([2.0, 1.0, 3.0])),
    )


@operator(
    "one_hot",
    jit=False,
    num_samples=10,
    points=[call(np.zeros((0, 2), int), 3), call(np.array(1), 3)],
    raises=[
        RaisesFor(call(np.array([2]), 2), RuntimeError, "smaller than"),
        RaisesFor(call(np.array([-2]), 2), RuntimeError, "non-negative"),
        RaisesFor(call(np.zeros(0, int)), RuntimeError, "Can not infer"),
        RaisesFor(call(np.ones(2)), RuntimeError, "LongTensor"),
    ],
)
def one_hot(draw):
    return call(draw(integers(draw(shapes()), 0, 4)), draw(st.sampled_from([-1, 4, 6])))
