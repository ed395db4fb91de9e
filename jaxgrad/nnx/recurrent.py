"""Recurrent layers, with torch's two biases and order of gates."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx import init
from jaxgrad.nnx.module import Array, Dtype, Layer, needed, value
from jaxgrad.nnx.recurrent_cells import checked_nonlinearity


Layers = Callable[..., tuple[Array, ...]]  # `functional.lstm` and the like


class _Recurrent(Layer):
    """Base class of recurrent layers, which run a cell along the sequence."""

    gates = 1
    states = 1  # 2 if there is a cell state besides the hidden state
    rngs: Any

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        proj_size: int,
        dtype: Dtype,
        rngs: nnx.Rngs | None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, type(self).__name__)
        _check(type(self).__name__, hidden_size, num_layers, dropout, proj_size)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional, self.proj_size = bidirectional, proj_size
        bound = 1 / math.sqrt(hidden_size)
        out = proj_size or hidden_size
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            in_size = input_size if layer == 0 else out * len(self.directions)
            shapes = [(rows, in_size), (rows, out), (rows,), (rows,), (proj_size, hidden_size)]
            for direction in self.directions:
                for name, shape in zip(_NAMES, shapes, strict=True):
                    if ("bias" in name and not bias) or (name == "weight_hr" and not proj_size):
                        continue
                    draw = init.uniform(-bound, bound)
                    self.parameter(f"{name}_l{layer}{direction}", draw, rngs, shape, dtype)
        self.rngs = rngs.dropout.fork() if dropout else nnx.data(None)

    @property
    def directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def layers(self) -> Layers:
        """Return the function of `jaxgrad.functional` that runs the layers."""
        raise NotImplementedError

    def __call__(self, input: Array, hx: Any = None) -> tuple[Array, Any]:
        x, batched = self._sequence_first(input)
        states = self._states(x, hx, batched)
        drops = self.dropout and self.training and self.num_layers > 1
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        key = self.rngs() if drops else None
        start = states if self.states > 1 else states[0]
        x, *final = self.layers()(x, start, self._weights(), *options, False, key=key)
        if not batched:
            x, final = x[:, 0], [s[:, 0] for s in final]
        elif self.batch_first:
            x = jnp.swapaxes(x, 0, 1)
        return x, tuple(final) if self.states > 1 else final[0]

    def _weights(self) -> list[Array]:
        runs = [f"_l{n}{end}" for n in range(self.num_layers) for end in self.directions]
        names = [f"{name}{run}" for run in runs for name in _NAMES]
        return [value(getattr(self, name)) for name in names if hasattr(self, name)]

    def _sequence_first(self, input: Array) -> tuple[Array, bool]:
        name = type(self).__name__
        if input.ndim not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.ndim}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {input.shape[-1]}"
            )
        if input.ndim == 2:
            return input[:, None], False
        return (jnp.swapaxes(input, 0, 1) if self.batch_first else input), True

    def _states(self, x: Array, hx: Any, batched: bool) -> tuple[Array, ...]:
        count = self.num_layers * len(self.directions)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]
        shapes = [(count, x.shape[1], width) for width in widths]
        if hx is None:
            return tuple(jnp.zeros(shape, x.dtype) for shape in shapes)
        initial = tuple(hx) if self.states > 1 else (hx,)
        initial = initial if batched else tuple(s[:, None] for s in initial)
        for s, shape in zip(initial, shapes, strict=True):
            if s.shape != shape:
                raise RuntimeError(f"Expected hidden size {shape}, got {list(s.shape)}")
        return initial


_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


class RNN(_Recurrent):
    """Layers of Elman cells (tanh or ReLU) along a sequence.

    Args:
        input_size: Size of the last dim of the input, `(L, N, in)` or `(L, in)`.
        hidden_size: Size H of the state, `(layers * directions, N, H)`.
        num_layers: Number of layers; each takes the output of the previous one.
        nonlinearity: Either "tanh" or "relu".
        bias: Whether each cell has its two biases.
        batch_first: Whether input and output are `(N, L, ...)`.
        dropout: Probability of dropout between layers in training.
        bidirectional: Whether a second cell in each layer runs backwards.
        dtype: Dtype of the parameters; None means float32.
        rngs: Keys for parameters (uniform between `-1 / sqrt(H)` and `1 / sqrt(H)`) and dropout.

    Returns:
        A call returns the last layer's output at every step and the final state of every layer.

    Raises:
        ValueError: The input does not have 2 or 3 dims.
        RuntimeError: The last dim of the input or the shape of a state does not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> out, h = RNN(3, 2, 2, rngs=nnx.Rngs(0))(jnp.ones((5, 4, 3), "float32"))
        >>> print(out.shape, h.shape)
        (5, 4, 2) (2, 4, 2)

    Torch: `torch.nn.RNN`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        options = (num_layers, bias, batch_first, dropout, bidirectional, 0, dtype, rngs)
        super().__init__(input_size, hidden_size, *options)
        self.nonlinearity = checked_nonlinearity(nonlinearity)

    def layers(self) -> Layers:
        return functional.rnn_tanh if self.nonlinearity == "tanh" else functional.rnn_relu


class GRU(_Recurrent):
    """Layers of GRU cells along a sequence; the arguments are those of `RNN`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> out, h = GRU(3, 2, bidirectional=True, rngs=nnx.Rngs(0))(jnp.ones((5, 4, 3), "float32"))
        >>> print(out.shape, h.shape)
        (5, 4, 4) (2, 4, 2)

    Torch: `torch.nn.GRU`.
    """

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        options = (num_layers, bias, batch_first, dropout, bidirectional, 0, dtype, rngs)
        super().__init__(input_size, hidden_size, *options)

    def layers(self) -> Layers:
        return functional.gru


class LSTM(_Recurrent):
    """Layers of LSTM cells along a sequence; the arguments are those of `RNN`.

    A call takes and returns the hidden and cell states as a pair. `proj_size` is the size to which
    the hidden state is projected; 0 means no projection.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> out, (h, c) = LSTM(3, 4, proj_size=2, rngs=nnx.Rngs(0))(jnp.ones((5, 1, 3), "float32"))
        >>> print(out.shape, h.shape, c.shape)
        (5, 1, 2) (1, 1, 2) (1, 1, 4)

    Torch: `torch.nn.LSTM`.
    """

    gates = 4
    states = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        options = (num_layers, bias, batch_first, dropout, bidirectional, proj_size, dtype, rngs)
        super().__init__(input_size, hidden_size, *options)

    def layers(self) -> Layers:
        return functional.lstm


def _check(name: str, hidden: int, layers: int, dropout: float, projected: int) -> None:
    if isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            f"being zeroed, not {dropout}"
        )
    if dropout and layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and num_layers={layers}",
            stacklevel=4,
        )
    for argument, size in (("hidden_size", hidden), ("num_layers", layers)):
        if size <= 0:
            raise ValueError(f"{argument} must be greater than zero, not {size}")
    if projected < 0 or projected >= hidden:
        raise ValueError(
            f"{name}: proj_size has to be a positive integer, smaller than hidden_size, or zero to "
            f"disable projections; got proj_size={projected} and hidden_size={hidden}"
        )
