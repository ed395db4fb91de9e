"""Recurrent layers along a padded or packed sequence, with torch's flat list of weights."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional.nn._recurrence import State, Weights, run
from jaxgrad.functional.nn.linear import linear
from jaxgrad.functional.nn.recurrent_cells import (
    gru_cell,
    lstm_cell,
    rnn_relu_cell,
    rnn_tanh_cell,
)


def rnn_tanh(
    input: Array,
    hx: Array | Sequence[int],
    params: Sequence[Array] | Array,
    has_biases: bool | Sequence[Array],
    num_layers: int,
    dropout: float,
    train: bool | float,
    bidirectional: bool,
    batch_first: bool,
    *,
    key: Array | None = None,
) -> tuple[Array, Array]:
    """Run layers of Elman cells with tanh along a sequence.

    A packed sequence is passed as in torch, by position: `rnn_tanh(data, batch_sizes, hx, params,
    has_biases, num_layers, dropout, train, bidirectional)`. The types allow both orders.

    Args:
        input: `(L, N, in)`, or `(N, L, in)` with `batch_first`.
        hx: Initial states of all layers and directions, `(layers * directions, N, H)`.
        params: The weights of each layer and direction in turn: `w_ih (H, in)`, `w_hh (H, H)` and,
            with `has_biases`, `b_ih (H,)` and `b_hh (H,)`.
        has_biases: Whether each cell has its two biases.
        num_layers: Number of layers; each takes the output of the previous one.
        dropout: Probability of dropout between layers.
        train: Whether dropout is applied.
        bidirectional: Whether a second cell in each layer runs backwards.
        batch_first: Whether input and output are `(N, L, ...)`.
        key: A `jax.random` key, required if dropout is applied.

    Returns:
        The last layer's output at every step and the final state of every layer.

    Raises:
        RuntimeError: The shapes, the number of weights or the sizes of a packed batch do not fit.
        ValueError: The key is missing.

    Example:
        >>> import jax.numpy as jnp
        >>> w, x = jnp.ones((1, 1)), jnp.zeros((3, 2, 1))
        >>> out, h = rnn_tanh(x, x[:1], [w, w], False, 1, 0.0, False, False, False)
        >>> print(out.shape, h.shape)
        (3, 2, 1) (1, 2, 1)

    Torch: `torch.rnn_tanh`.

    Differs from jax in:
        1. Each gate has two biases, and the weights are a flat list (flax: a module of one layer).

    Differs from torch in:
        1. A batch of one is not broadcast against states of a larger batch.
        2. The sizes of a packed batch are numbers, not a traced array.
    """
    args = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    out, (hidden,) = run("rnn_tanh", _tanh, args, key)
    return out, hidden


def rnn_relu(
    input: Array,
    hx: Array | Sequence[int],
    params: Sequence[Array] | Array,
    has_biases: bool | Sequence[Array],
    num_layers: int,
    dropout: float,
    train: bool | float,
    bidirectional: bool,
    batch_first: bool,
    *,
    key: Array | None = None,
) -> tuple[Array, Array]:
    """Run layers of Elman cells with ReLU along a sequence; see `rnn_tanh`.

    Example:
        >>> import jax.numpy as jnp
        >>> w, x = jnp.ones((1, 1)), jnp.ones((3, 1, 1))
        >>> out, _ = rnn_relu(x, x[:1] * 0, [w, w], False, 1, 0.0, False, False, False)
        >>> print(out[:, 0, 0])
        [1. 2. 3.]

    Torch: `torch.rnn_relu`.
    """
    args = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    out, (hidden,) = run("rnn_relu", _relu, args, key)
    return out, hidden


def gru(
    input: Array,
    hx: Array | Sequence[int],
    params: Sequence[Array] | Array,
    has_biases: bool | Sequence[Array],
    num_layers: int,
    dropout: float,
    train: bool | float,
    bidirectional: bool,
    batch_first: bool,
    *,
    key: Array | None = None,
) -> tuple[Array, Array]:
    """Run layers of gated recurrent units along a sequence; see `rnn_tanh` and `gru_cell`.

    Example:
        >>> import jax.numpy as jnp
        >>> w, x = jnp.zeros((3, 1)), jnp.ones((2, 1, 1))
        >>> out, _ = gru(x, x[:1], [w, w], False, 1, 0.0, False, False, False)
        >>> print(out[:, 0, 0])
        [0.5  0.25]

    Torch: `torch.gru`.
    """
    args = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    out, (hidden,) = run("gru", _gru, args, key)
    return out, hidden


def lstm(
    input: Array,
    hx: Sequence[Array] | Sequence[int],
    params: Sequence[Array] | Array,
    has_biases: bool | Sequence[Array],
    num_layers: int,
    dropout: float,
    train: bool | float,
    bidirectional: bool,
    batch_first: bool,
    *,
    key: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Run layers of LSTM cells along a sequence; see `rnn_tanh` and `lstm_cell`.

    Args:
        hx: The initial hidden states `(layers * directions, N, P)` and cell states `(..., H)`.
        params: As in `rnn_tanh`, with 4 H rows. If P is not H, a matrix `w_hr (P, H)` follows the
            weights of each cell and projects its hidden state.

    Returns:
        The last layer's output at every step, the final hidden states and the final cell states.

    Example:
        >>> import jax.numpy as jnp
        >>> w, x = jnp.zeros((4, 1)), jnp.ones((2, 1, 1))
        >>> _, _, c = lstm(x, (x[:1], x[:1]), [w, w], False, 1, 0.0, False, False, False)
        >>> print(c)
        [[[0.25]]]

    Torch: `torch.lstm`.
    """
    args = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    out, (hidden, cell) = run("lstm", _lstm, args, key)
    return out, hidden, cell


def _tanh(x: Array, state: State, weights: Weights) -> State:
    return (rnn_tanh_cell(x, *state, *weights),)  # pyright: ignore[reportArgumentType]


def _relu(x: Array, state: State, weights: Weights) -> State:
    return (rnn_relu_cell(x, *state, *weights),)  # pyright: ignore[reportArgumentType]


def _gru(x: Array, state: State, weights: Weights) -> State:
    return (gru_cell(x, *state, *weights),)  # pyright: ignore[reportArgumentType]


def _lstm(x: Array, state: State, weights: Weights) -> State:
    *gates, projection = weights if len(weights) == 5 else [*weights, None]
    if projection is None:
        return lstm_cell(x, state, *gates)  # pyright: ignore[reportArgumentType]
    w_ih, w_hh, b_ih, b_hh = gates
    assert w_ih is not None and w_hh is not None
    hidden, cell = state
    i, f, g, o = jnp.split(linear(x, w_ih, b_ih) + linear(hidden, w_hh, b_hh), 4, -1)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
    return linear(jax.nn.sigmoid(o) * jnp.tanh(cell), projection), cell
