"""Recurrent layers as Python loops, and mistakes in them: the order of the gates, the biases."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import Mistakes, TorchCall
from jaxgrad.parity.prove.causes.mistakes.cells import (
    CELLS,
    GATES,
    WRONG_CELLS,
    Cell,
    Label,
    exchanges,
    ordered,
    permuted,
)
from jaxgrad.parity.prove.wording import Difference, Missing, Mutual, Told


class Layers(NamedTuple):
    """The arguments of torch's recurrent functions for padded inputs, which have a batch axis."""

    x: Tensor
    state: tuple[Tensor, ...]
    weights: Sequence[Tensor]
    has_bias: bool
    layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool

    @classmethod
    def of(cls, call: TorchCall) -> Layers | None:
        """Return the arguments of a call, or None for a packed sequence or a projection."""
        if call.kwargs or len(call.args) != 9 or not isinstance(call.args[3], bool):
            return None
        x, state, *rest = call.args
        state = tuple(state) if isinstance(state, list | tuple) else (state,)
        given = cls(x, state, *rest)
        return given if len(given.weights) == given.per_layer * given.passes else None

    @property
    def per_layer(self) -> int:
        """The number of weights of one layer in one direction."""
        return 4 if self.has_bias else 2

    @property
    def passes(self) -> int:
        """The number of layers, counting each direction."""
        return self.layers * (2 if self.bidirectional else 1)

    def name(self, number: int) -> str:
        """Return the name of a layer."""
        if not self.bidirectional:
            return f"layer {number}"
        return f"layer {number // 2}, {('forwards', 'backwards')[number % 2]}"


class Directions(NamedTuple):
    """How a bidirectional layer reads the sequence and joins its outputs."""

    reverse: bool = True  # whether the second direction reads the sequence backwards
    realign: bool = True  # whether its outputs are put back into the order of the sequence
    ahead_first: bool = True  # whether the outputs of the first direction come first


IN_ORDER = Directions()


def mistakes(call: TorchCall) -> Mistakes:
    """Permute the gates of one layer or of all, leave out biases, or use another cell."""
    given = Layers.of(call)
    if given is None:
        return
    x, state, weights, *rest = call.args
    per = given.per_layer
    groups = [(f" of {given.name(n)}", [n]) for n in range(given.passes)]
    groups = [("", list(range(given.passes))), *(groups if given.passes > 1 else [])]
    gates = GATES[call.op]
    for where, numbers in groups:
        chosen = {i for n in numbers for i in range(n * per, (n + 1) * per)}
        for order in list(itertools.permutations(range(len(gates))))[1:]:
            turned = [permuted(w, order) if i in chosen else w for i, w in enumerate(weights)]
            yield call.called(ordered(gates, order, where), x, state, turned, *rest)
        for name, k in (("ih", 0), ("hh", 1)):
            some = {i for i in chosen if i % per in ((k, k + 2) if given.has_bias else (k,))}
            names = f"weight_{name} and bias_{name}" if given.has_bias else f"weight_{name}"
            for order in exchanges(gates):
                turned = [permuted(w, order) if i in some else w for i, w in enumerate(weights)]
                text = ordered(gates, order, f" in {names}{where}")
                yield call.called(text, x, state, turned, *rest)
        for k, name in ((2, "bias_ih"), (3, "bias_hh")) if given.has_bias else ():
            bare = [
                torch.zeros_like(w) if i in chosen and i % per == k else w
                for i, w in enumerate(weights)
            ]
            yield call.called(Missing(f"{name}{where}"), x, state, bare, *rest)
        for text, turned in _transposed(weights, chosen, per, gates):
            yield call.called(Mutual(f"{text}{where} is transposed"), x, state, turned, *rest)
        for text, cell in WRONG_CELLS.get(call.op, {}).items():
            cells = dict.fromkeys(numbers, cell)
            run_ = lambda cells=cells: unrolled(call.op, given, cells=cells)  # noqa: E731
            yield call.by(text.at(where), run_)._replace(args=(), kwargs={})
    if given.bidirectional:
        yield from _directions(call, given)
    dim = 1 if given.batch_first else 0
    text = Mutual("the sequence is read backwards")
    yield call.called(text, x.flip(dim), state, weights, *rest)
    if not any(torch.any(s) for s in given.state):
        text = Mutual("the axes of batch and time are swapped")
        yield call.called(text, x, _for_swapped(given), weights, *rest[:-1], not rest[-1])


def _directions(call: TorchCall, given: Layers) -> Mistakes:
    """Read the sequence forwards in both directions, or join their outputs in another way."""
    texts: dict[Directions, Difference] = {
        Directions(reverse=False): Told(
            "the backward direction reads the sequence forwards",
            "the backward direction reads the sequence backwards, JAX reads it forwards",
        ),
        Directions(realign=False): Told(
            "the outputs of the backward direction stay in reversed order",
            "the outputs of the backward direction are put in order, JAX leaves them reversed",
        ),
        Directions(ahead_first=False): Told(
            "the outputs of the backward direction come first",
            "the outputs of the forward direction come first, in JAX those of the backward one",
        ),
    }
    for directions, text in texts.items():
        run_ = lambda directions=directions: unrolled(call.op, given, directions=directions)  # noqa: E731
        yield call.by(text, run_)._replace(args=(), kwargs={}, reorders=directions.reverse)


def _transposed(
    weights: Sequence[Tensor], chosen: Collection[int], per: int, gates: Sequence[str]
) -> Iterator[tuple[str, list[Tensor]]]:
    """Yield the weights with one gate's square weight transposed."""
    for k, name in enumerate(("weight_ih", "weight_hh")):
        for g, gate in enumerate(gates):
            turned = list(weights)
            for i in chosen:
                parts = list(weights[i].chunk(len(gates)))
                if i % per == k and parts[g].shape[0] == parts[g].shape[-1]:
                    parts[g] = parts[g].T
                    turned[i] = torch.cat(parts)
            if any(x is not y for x, y in zip(turned, weights, strict=True)):
                yield f"{name} of the {gate} gate", turned


def _for_swapped(given: Layers) -> Any:
    """Return the zero state for an input whose axes of batch and time are swapped."""
    size = given.x.shape[1 if given.batch_first else 0]
    zeros = [s.new_zeros(s.shape[0], size, s.shape[-1]) for s in given.state]
    return zeros[0] if len(zeros) == 1 else zeros


def unrolled(
    kind: str,
    given: Layers,
    label: Label = lambda _: None,
    cells: dict[int, Cell] | None = None,
    directions: Directions = IN_ORDER,
) -> tuple[Tensor, ...]:
    """Run a recurrent layer step by step, and name each value with `label` before it is computed.

    Returns:
        What torch's function returns: the outputs, then each final state.
    """
    x = given.x.transpose(0, 1) if given.batch_first else given.x
    finals: list[tuple[Tensor, ...]] = []
    count = 2 if given.bidirectional else 1
    for layer in range(given.layers):
        outs = []
        for direction in range(count):
            n = layer * count + direction
            w = list(given.weights[n * given.per_layer : (n + 1) * given.per_layer])
            w += [torch.zeros((), dtype=x.dtype)] * (4 - len(w))
            cell = (cells or {}).get(n, CELLS[kind])
            state = tuple(s[n] for s in given.state)
            steps = range(len(x))
            reverse = direction and directions.reverse
            read: dict[int, Tensor] = {}
            for t in reversed(steps) if reverse else steps:
                state = cell(x[t], state, *w, _at(label, f"{given.name(n)} at step {t}"))
                read[t] = state[0]
            order = steps if directions.realign or not reverse else list(read)
            outs.append(torch.stack([read[t] for t in order]))
            finals.append(state)
        x = torch.cat(outs if directions.ahead_first else outs[::-1], -1)
    out = x.transpose(0, 1) if given.batch_first else x
    return out, *(torch.stack(part) for part in zip(*finals, strict=True))


def _at(label: Label, where: str) -> Label:
    return lambda part: label(f"{part} of {where}")
