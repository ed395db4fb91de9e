"""Recurrent cells, with torch's two biases per gate and its gate order."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.activation.relu_hardtanh import relu
from jaxgrad.functional.activation.sigmoid_tanh_softplus import sigmoid, tanh
from jaxgrad.functional.nn.linear import linear


def rnn_tanh_cell(
    input: Array,
    hx: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> Array:
    """Compute a step of an Elman RNN, `tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)`.

    Args:
        input: `(N, in)` or `(in,)`.
        hx: `(N, H)` or `(H,)`.
        w_ih: `(H, in)`.
        w_hh: `(H, H)`.
        b_ih: `(H,)`.
        b_hh: `(H,)`.

    Raises:
        RuntimeError: The shapes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> print(f"{rnn_tanh_cell(one, one, one, -one)[0, 0]:.1f}")
        0.0

    Torch: `torch.rnn_tanh_cell`.

    Differs from jax in:
        1. Each gate has two biases (flax: one).
    """
    gates = _gates("rnn_tanh_cell", 1, input, hx, w_ih, w_hh, b_ih, b_hh)
    return in_opmath(lambda x, h: tanh(x + h), *gates)


def rnn_relu_cell(
    input: Array,
    hx: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> Array:
    """Compute `relu(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)`; see `rnn_tanh_cell`.

    Example:
        >>> import jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> print(rnn_relu_cell(one, one, one, one))
        [[2.]]

    Torch: `torch.rnn_relu_cell`. Gradient conventions: docs/operators.md.
    """
    reject("rnn_relu_cell", "complex", input, hx, w_ih, w_hh, b_ih, b_hh)
    gates = _gates("rnn_relu_cell", 1, input, hx, w_ih, w_hh, b_ih, b_hh)
    return in_opmath(lambda x, h: relu(x + h), *gates)


def gru_cell(
    input: Array,
    hx: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> Array:
    """Compute a step of a gated recurrent unit; the gates are stacked as reset, update, new.

    Args:
        input: `(N, in)` or `(in,)`.
        hx: `(N, H)` or `(H,)`.
        w_ih: `(3 H, in)`.
        w_hh: `(3 H, H)`.
        b_ih: `(3 H,)`.
        b_hh: `(3 H,)`; the reset gate also multiplies its last third.

    Raises:
        RuntimeError: The shapes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> zeros = jnp.zeros((3, 1))
        >>> print(gru_cell(jnp.ones((1, 1)), jnp.ones((1, 1)), zeros, zeros))
        [[0.5]]

    Torch: `torch.gru_cell`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Every gate, including the new one, has two biases (`flax.nnx.GRUCell`: one).
    """
    reject("gru_cell", "integer", input, hx, w_ih, w_hh, b_ih, b_hh)
    gates = _gates("gru_cell", 3, input, hx, w_ih, w_hh, b_ih, b_hh)

    def step(x: Array, h: Array, old: Array) -> Array:
        (xr, xz, xn), (hr, hz, hn) = jnp.split(x, 3, -1), jnp.split(h, 3, -1)
        update = sigmoid(xz + hz)
        new = tanh(xn + sigmoid(xr + hr) * hn)
        return (old - new) * update + new

    return in_opmath(step, *gates, hx)


def lstm_cell(
    input: Array,
    hx: tuple[Array, Array],
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> tuple[Array, Array]:
    """Compute a step of an LSTM; the gates are stacked as input, forget, cell, output.

    Args:
        input: `(N, in)` or `(in,)`.
        hx: The hidden and the cell state, each `(N, H)` or `(H,)`.
        w_ih: `(4 H, in)`.
        w_hh: `(4 H, H)`.
        b_ih: `(4 H,)`.
        b_hh: `(4 H,)`.

    Returns:
        The new hidden and cell state.

    Raises:
        RuntimeError: The shapes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> one, zeros = jnp.ones((1, 1)), jnp.zeros((4, 1))
        >>> print(lstm_cell(one, (one, one), zeros, zeros)[1])
        [[0.5]]

    Torch: `torch.lstm_cell`.

    Differs from jax in:
        1. Each gate has two biases (flax: one).
    """
    reject("lstm_cell", "integer", input, *hx, w_ih, w_hh, b_ih, b_hh)
    hidden, cell = hx
    gates = _gates("lstm_cell", 4, input, hidden, w_ih, w_hh, b_ih, b_hh)

    def step(x: Array, h: Array, old: Array) -> tuple[Array, Array]:
        i, f, g, o = jnp.split(x + h, 4, -1)
        new = sigmoid(f) * old + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(new), new

    return in_opmath(step, *gates, cell)


def _gates(
    name: str, n: int, input: Array, hidden: Array, w_ih: Array, w_hh: Array, *biases: Array | None
) -> tuple[Array, Array]:
    """Return the gate preactivations from the input and from the hidden state, as two arrays."""
    reject(name, "bool", input, hidden, w_ih, w_hh, *biases)
    x, h = array(input), array(hidden, "hx")
    if w_ih.shape[-1] != x.shape[-1] or w_hh.shape[-1] != h.shape[-1]:
        raise RuntimeError(
            f"{name}: input {list(x.shape)} and hidden {list(h.shape)} do not match the weights "
            f"{list(w_ih.shape)} and {list(w_hh.shape)}"
        )
    if x.shape[:-1] != h.shape[:-1] or w_hh.shape[0] != n * h.shape[-1]:
        raise RuntimeError(
            f"{name}: Input batch size {list(x.shape)} doesn't match hidden {list(h.shape)}, or "
            f"the weight {list(w_hh.shape)} is not ({n} H, H)"
        )
    return linear(x, w_ih, biases[0]), linear(h, w_hh, biases[1])
