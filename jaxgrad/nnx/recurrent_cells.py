"""Recurrent cells, with torch's two biases and order of gates."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx import init
from jaxgrad.nnx.module import Array, Layer, needed, value


NONLINEAR = {"tanh": functional.rnn_tanh_cell, "relu": functional.rnn_relu_cell}


class _Cell(Layer):
    """One step: the weights of the input and of the state, and two biases."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, dtype: Any, rngs: nnx.Rngs | None
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

    def start(self, input: Array) -> Array:
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        return jnp.zeros((*input.shape[:-1], self.hidden_size), input.dtype)


class RNNCell(_Cell):
    """`functional.rnn_tanh_cell` or `rnn_relu_cell` with weights and two biases.

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
        dtype: Any = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype, rngs)
        self.nonlinearity = known(nonlinearity)

    def __call__(self, input: Array, hx: Array | None = None) -> Array:
        hx = self.start(input) if hx is None else hx
        return NONLINEAR[self.nonlinearity](input, hx, *self.weights())


class GRUCell(_Cell):
    """`functional.gru_cell` with weights and two biases.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> print(GRUCell(3, 2, rngs=nnx.Rngs(0))(jnp.ones((4, 3), "float32")).shape)
        (4, 2)

    Torch: `torch.nn.GRUCell`.

    Differs from flax in:
        1. There are two biases, also in the new gate, inside of the reset (`nnx.GRUCell`: one).
    """

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        dtype: Any = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype, rngs)

    def __call__(self, input: Array, hx: Array | None = None) -> Array:
        hx = self.start(input) if hx is None else hx
        return functional.gru_cell(input, hx, *self.weights())


class LSTMCell(_Cell):
    """`functional.lstm_cell` with weights and two biases.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> h, c = LSTMCell(3, 2, rngs=nnx.Rngs(0))(jnp.ones((4, 3), "float32"))
        >>> print(h.shape, c.shape)
        (4, 2) (4, 2)

    Torch: `torch.nn.LSTMCell`.
    """

    gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        dtype: Any = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype, rngs)

    def __call__(self, input: Array, hx: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        hx = (self.start(input), self.start(input)) if hx is None else hx
        return functional.lstm_cell(input, hx, *self.weights())


def known(nonlinearity: str) -> str:
    if nonlinearity not in NONLINEAR:
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return nonlinearity
