"""Run cells of recurrent layers along a padded or packed batch of sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional.activation.dropout import dropout as dropped


State = tuple[Array, ...]  # the hidden state; for an LSTM also the cell state
Weights = list[Array | None]  # w_ih, w_hh, b_ih, b_hh, and w_hr for a projection
Cell = Callable[[Array, State, Weights], State]


class Batch(NamedTuple):
    """Sequences padded to `(L, N, in)`, and the steps `(L, N)` that exist if they were packed."""

    x: Array
    exists: np.ndarray | None
    position: np.ndarray | None  # of each row of the packed data, in the flattened (L, N)

    @classmethod
    def of_packed(cls, name: str, data: Array, batch_sizes: Sequence[int]) -> Batch:
        """Pad the sequences of packed data with zeros."""
        if isinstance(batch_sizes, Tracer):
            raise RuntimeError(
                f"{name}: batch_sizes determines shapes, so it cannot be an argument of a jitted "
                "function; pass a tuple or a numpy array"
            )
        sizes = np.asarray(batch_sizes)
        falls = sizes.ndim == 1 and sizes.size and np.all(np.diff(sizes) <= 0) and sizes[-1] > 0
        if not falls or sizes.sum() != data.shape[0]:
            raise RuntimeError(
                f"{name}: batch_sizes must be positive, must not increase and must add up to the "
                f"{data.shape[0]} rows of data, but it is {sizes.tolist()}"
            )
        exists = np.arange(sizes[0]) < sizes[:, None]
        row = np.cumsum(exists).reshape(exists.shape) - 1  # of a step that exists, in the data
        x = jnp.where(exists[..., None], data[np.where(exists, row, 0)], 0)
        return cls(x, exists, np.flatnonzero(exists))

    def packed(self, out: Array) -> Array:
        """Return the steps that exist, in the order of the packed data."""
        return out.reshape(-1, out.shape[-1])[self.position]


def run(name: str, cell: Cell, args: tuple[Any, ...], key: Array | None) -> tuple[Array, State]:
    """Run a cell in each layer and direction, and return the output and the final states.

    The arguments are torch's: `(input, hx, params, has_biases, num_layers, dropout, train,
    bidirectional, batch_first)`, or for a packed sequence `(data, batch_sizes, hx, params,
    has_biases, num_layers, dropout, train, bidirectional)`.
    """
    is_packed = isinstance(args[3], list | tuple)
    if is_packed:
        data, batch_sizes, hx, params, *options, batch_first = *args, False
        batch = Batch.of_packed(name, array(data), batch_sizes)
    else:
        input, hx, params, *options, batch_first = args
        x = array(input)
        if x.ndim != 3:
            raise RuntimeError(f"{name}: input must be (L, N, in), got shape {list(x.shape)}")
        batch = Batch(jnp.swapaxes(x, 0, 1) if batch_first else x, None, None)
    has_biases, num_layers, dropout, train, bidirectional = options
    states: State = tuple(hx) if isinstance(hx, list | tuple) else (hx,)
    runs = num_layers * (1 + bidirectional)
    weights = _split(name, list(params), states, has_biases, runs)
    _check(name, batch.x, states, runs)
    masks = dropout if train and num_layers > 1 else 0.0
    if masks and key is None:
        raise ValueError(f"{name}: dropout draws masks; pass key=")
    x, ends = batch.x, []
    for layer in range(num_layers):
        outs = []
        for k in range(layer * (1 + bidirectional), (layer + 1) * (1 + bidirectional)):
            start = tuple(s[k] for s in states)
            reverse = bidirectional and k % 2 == 1
            end, out = _scan(cell, x, start, weights[k], batch.exists, reverse)
            ends.append(end)
            outs.append(out)
        x = jnp.concatenate(outs, -1)
        if masks and key is not None and layer < num_layers - 1:
            x = dropped(x, masks, key=jax.random.fold_in(key, layer))
    final = tuple(jnp.stack(per_run) for per_run in zip(*ends, strict=True))
    if is_packed:
        return batch.packed(x), final
    return jnp.swapaxes(x, 0, 1) if batch_first else x, final


def _scan(
    cell: Cell,
    x: Array,
    start: State,
    weights: Weights,
    exists: np.ndarray | None,
    reverse: bool,
) -> tuple[State, Array]:
    """Run one cell along the sequence; a step that does not exist keeps the state."""

    def body(state: State, step: tuple[Array, Array | None]) -> tuple[State, Array]:
        new = cell(step[0], state, weights)
        if step[1] is not None:
            keep = step[1][:, None]
            new = tuple(jnp.where(keep, n, old) for n, old in zip(new, state, strict=True))
        return new, new[0]

    # As in torch, dtypes are promoted, so the first step may change the dtype of the state.
    after = jax.eval_shape(cell, x[0], start, weights)
    start = tuple(s.astype(new.dtype) for s, new in zip(start, after, strict=True))
    steps = None if exists is None else jnp.asarray(exists)
    return jax.lax.scan(body, start, (x, steps), reverse=reverse)


def _split(
    name: str, params: list[Array], states: State, has_biases: bool, runs: int
) -> list[Weights]:
    """Return the weights of each cell, with None for the biases that it does not have."""
    is_projected = len(states) == 2 and states[0].shape[-1] != states[1].shape[-1]
    each = 2 + 2 * has_biases + is_projected
    if len(params) != runs * each:
        raise RuntimeError(
            f"{name}: params has {len(params)} arrays, but {runs} cells with {each} weights each "
            f"need {runs * each}"
        )
    cells: list[Weights] = [[*params[k : k + each]] for k in range(0, len(params), each)]
    return [c if has_biases else [*c[:2], None, None, *c[2:]] for c in cells]


def _check(name: str, x: Array, states: State, runs: int) -> None:
    if not x.shape[0]:
        raise RuntimeError(f"{name}: Expected sequence length to be larger than 0 in RNN")
    for state in states:
        if state.ndim != 3 or state.shape[:2] != (runs, x.shape[1]):
            raise RuntimeError(
                f"{name}: each state in hx must have the shape ({runs}, {x.shape[1]}, H) for the "
                f"{runs} cells and the batch of {x.shape[1]}, got {list(state.shape)}"
            )
