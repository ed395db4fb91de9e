"""Records of the operators in `jaxgrad/functional/nn/recurrent_cells.py`."""

import jax
import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats


inf, nan = np.inf, np.nan
ONE = np.ones((1, 1))
THREE = np.array([[1.0], [0.5], [-1.0]])
MISFIT = RaisesFor(
    call(np.ones((2, 3)), np.ones((2, 1)), ONE, ONE), RuntimeError, jax="do not match"
)


def _drawn(draw, count, states=1):
    n, size, width = (draw(st.integers(1, 3)) for _ in range(3))
    state = tuple(draw(floats((n, width))) for _ in range(states))
    rows = count * width
    biases = [draw(floats((rows,))), draw(floats((rows,)))] if draw(st.booleans()) else []
    return call(
        draw(floats((n, size))),
        state if states > 1 else state[0],
        draw(floats((rows, size))),
        draw(floats((rows, width))),
        *biases,
    )


SATURATED = "z (1 - z) and 1 - n**2 cancel where a gate saturates"


@operator(
    "rnn_tanh_cell",
    raises=[MISFIT],
    tolerance={"float64": Tolerance(1e-11, SATURATED)},
    source="P115 P116",
)
def rnn_tanh_cell(draw):
    return _drawn(draw, 1)


@operator(
    "rnn_relu_cell",
    points=[call(ONE, ONE, ONE, -ONE)],
    differences=[
        PinnedDifference(
            call(ONE, ONE, [[inf]], ONE),
            {"second/0": (nan, ONE)},
            "torch multiplies the second derivative of relu, a zero, by the infinite weight",
        )
    ],
    jax_idioms={
        "jnp.maximum(x @ w_ih.T + h @ w_hh.T, 0)": lambda x, h, w, u: jnp.maximum(
            x @ w.T + h @ u.T, 0
        )
    },
    source="P115",
)
def rnn_relu_cell(draw):
    return _drawn(draw, 1)


def _one_bias(x, h, w, u, b, _):
    """Compute `flax.nnx.GRUCell`, which adds no bias to the hidden state's term of the new gate."""
    (r, z, n), (hr, hz, hn) = jnp.split(x @ w.T + b, 3, -1), jnp.split(h @ u.T, 3, -1)
    z = jax.nn.sigmoid(z + hz)
    return (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn) + z * h


@operator(
    "gru_cell",
    max_programs=4,
    points=[call(ONE, ONE, THREE, THREE, np.ones(3), np.ones(3))],
    jax_idioms={"flax.nnx.GRUCell()(h, x)": _one_bias},
    tolerance={"float64": Tolerance(1e-11, SATURATED)},
    source="P115",
)
def gru_cell(draw):
    return _drawn(draw, 3)


@operator(
    "lstm_cell",
    max_programs=4,
    torch=torch.lstm_cell,
    source="P115",
)
def lstm_cell(draw):
    return _drawn(draw, 4, states=2)
