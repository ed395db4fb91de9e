"""Recurrent cells, with torch's two biases and order of gates."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx import init
from jaxgrad.nnx.module import Array, Dtype, Layer, needed, value


CELLS = {"tanh": functional.rnn_tanh_cell, "relu": functional.rnn_relu_cell}


class _Cell(Layer):
    """Base class of cells: weights of the input and of the state, and two biases."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, type(self).__name__)
        self.input_size, self.hidden_size = input_size, hidden_size
        bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0.0
        draw, rows = init.uniform(-bound, bound), self.gates * hidden_size
        self.parameter("weight_ih", draw, rngs, (rows, input_size), dtype)
        self.parameter("weight_hh", draw, rngs, (rows, hidden_size), dtype)
        for name in ("bias_ih", "bias_hh"):
            if bias:
                self.parameter(name, draw, rngs, (rows,), dtype)
            else:
                self.absent(name)

    def weights(self) -> list[Any]:
        return [value(getattr(self, n)) for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]

    def zero_state(self, input: Array) -> Array:
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        return jnp.zeros((*input.shape[:-1], self.hidden_size), input.dtype)


class RNNCell(_Cell):
    """Elman cell (tanh or ReLU) with trainable weights and two biases.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> print(RNNCell(3, 2, rngs=nnx.Rngs(0))(jnp.ones((4, 3), "float32")).shape)
        (4, 2)

    Torch: `torch.nn.RNNCell`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype, rngs=rngs)
        self.nonlinearity = checked_nonlinearity(nonlinearity)

    def __call__(self, input: Array, hx: Array | None = None) -> Array:
        hx = self.zero_state(input) if hx is None else hx
        return CELLS[self.nonlinearity](input, hx, *self.weights())


class GRUCell(_Cell):
    """GRU cell with trainable weights and two biases.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> print(GRUCell(3, 2, rngs=nnx.Rngs(0))(jnp.ones((4, 3), "float32")).shape)
        (4, 2)

    Torch: `torch.nn.GRUCell`.

    Differs from flax in:
        1. Every gate has two biases, and the reset gate multiplies one of the new gate's
           (`nnx.GRUCell`: one bias).
    """

    gates = 3

    def __call__(self, input: Array, hx: Array | None = None) -> Array:
        hx = self.zero_state(input) if hx is None else hx
        return functional.gru_cell(input, hx, *self.weights())


class LSTMCell(_Cell):
    """LSTM cell with trainable weights and two biases.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> h, c = LSTMCell(3, 2, rngs=nnx.Rngs(0))(jnp.ones((4, 3), "float32"))
        >>> print(h.shape, c.shape)
        (4, 2) (4, 2)

    Torch: `torch.nn.LSTMCell`.
    """

    gates = 4

    def __call__(self, input: Array, hx: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        hx = (self.zero_state(input), self.zero_state(input)) if hx is None else hx
        return functional.lstm_cell(input, hx, *self.weights())


def checked_nonlinearity(nonlinearity: str) -> str:
    """Return the name of a nonlinearity, or raise a ValueError if it is unknown."""
    if nonlinearity not in CELLS:
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return nonlinearity
