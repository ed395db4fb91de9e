"""Where the backward pass parts: the first wrong cotangent on the way back from the loss."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from jaxgrad.parity.prove.align.align import NOISY, Alignment
from jaxgrad.parity.prove.align.fingerprint import SIZE, apart, fingerprint, is_constant, magnitude
from jaxgrad.parity.prove.jax_side.flow import Flow, leaf_of
from jaxgrad.parity.prove.jax_side.program import JaxProgram, Key, Spot
from jaxgrad.parity.prove.torch_side.values import TorchRun
from jaxgrad.parity.prove.weights.layout import layout


SAME = 1e-9
NOTHING = 1e-13  # of the largest cotangent: rounding of what is zero


_MOVES = (
    "getitem",
    "reshape",
    "view",
    "transpose",
    "permute",
    "flatten",
    "contiguous",
    "clone",
    "to",
    "unsqueeze",
    "squeeze",
    "split",
    "chunk",
    "unbind",
    "result",
)
_VIEWS = ("get", "t", "float", "double", "type")  # `get` is that of a property, as `.T`
_PLAIN = ("add", "sub", "radd", "reshape", "view", "transpose", "permute", "dropout", "result")


def watched(run: TorchRun, seen: Alignment, made: JaxProgram) -> dict[int, Spot]:
    """For each torch value with numbers of its own, the JAX value whose cotangent is compared."""
    found: dict[int, Spot] = {}
    served: set[int] = set()
    carried = {seen.first[i] for i, v in enumerate(run.values) if v.cotangent is not None}
    for i, value in enumerate(run.values):
        spot, first = seen.spot(i), seen.first[i]
        if spot is None or seen.trivial[i] or is_constant(value.print) or first in served:
            continue
        if not value.requires_grad:
            continue  # made of data alone, where torch asks for no gradient
        if not value.inputs and value.op in (*_MOVES, *_VIEWS):
            continue  # a weight seen another way: its parts are for the gradients
        if run.values[first].cotangent is None and value.cotangent is not None:
            # The first was detached (a straight-through estimator): the last carries the gradient.
            spot = seen.spots[seen.candidates[i][-1]]
        elif first != i or (value.cotangent is None and i in carried):
            continue
        if value.cotangent is not None:
            served.add(first)
        if leaf_of(spot.key) is None and spot.path not in made.closed and not _shared(run, i):
            found[i] = spot
    return found


def _shared(run: TorchRun, number: int) -> bool:
    """Whether one call made this value and another: a port may take the last state of an LSTM
    from its outputs, and then the cotangent of one is part of the other's.
    """
    value = run.values[number]
    beside = [
        k for k in (number - 2, number - 1, number + 1, number + 2) if 0 <= k < len(run.values)
    ]
    made = value.maker >= 0 and any(run.values[k].maker == value.maker for k in beside)
    return made and value.op not in _MOVES


def wrong(
    run: TorchRun,
    spots: Mapping[int, Spot],
    cotangents: Mapping[Key, np.ndarray],
    noise: Mapping[int, float],
) -> list[int]:
    """The torch values whose cotangents differ, in torch's order."""
    nothing = np.zeros(SIZE)
    pairs = {}
    for i, spot in spots.items():
        ours = fingerprint(np.asarray(cotangents[spot.key])[spot.turn])
        theirs = run.values[i].cotangent
        pairs[i] = ours, nothing if theirs is None else theirs
    top = max((float(magnitude(t)) for _, t in pairs.values()), default=0.0)
    found = []
    for i, (ours, theirs) in pairs.items():
        high = max(float(magnitude(ours)), float(magnitude(theirs)))
        bound = max(1e-10, 20 * noise.get(i, 0.0))
        if high <= NOTHING * top or bound > NOISY * 100:
            continue
        if run.values[i].cotangent is None or float(apart(ours, theirs)) > bound:
            found.append(i)
    return found


def nearest(run: TorchRun, number: int) -> set[str]:
    """The weights of the calls that a value comes from most directly."""
    found: set[str] = set()
    seen: set[int] = set()
    todo = [number]
    while todo:
        i = todo.pop()
        if i in seen:
            continue
        seen.add(i)
        value = run.values[i]
        found |= set(value.weights) or ({"input"} if value.op == "input" else set())
        if not value.weights:
            todo += [k for k in value.inputs if run.values[k].cotangent is not None or k == number]
    return found


def culprit(
    number: int,
    theirs: np.ndarray | None,
    ours: np.ndarray,
    run: TorchRun,
    values: Any,
    noise: float = 0.0,
) -> tuple[int | None, str]:
    """Through which of the calls that read a value its cotangent goes wrong.

    Args:
      number: The value.
      theirs: torch's cotangent of it, None where none came.
      ours: JAX's.
      run: torch's run with `parts_of=number`.
      values: The value itself on both sides, from which the order of the axes is known.
      noise: What rounding does to the cotangent, as a share.

    Returns:
      The first value that the call made, and what JAX does with torch's part of the cotangent.
    """
    readers = [i for i, value in enumerate(run.values) if number in value.inputs]
    if theirs is None:
        cut = [i for i in readers if run.values[i].op in ("detach", "data", "requires_grad")]
        return (cut or readers or [None])[0], "torch stops the gradient here, JAX lets it through"
    index = layout(np.asarray(values[0]), np.asarray(values[1]), rtol=1e-9)
    if index is None:
        return _likely(run, readers), ""
    left = theirs.ravel()[index] if theirs.size == index.size else theirs
    rest = np.asarray(ours - left, np.float64).ravel()
    norm = float(np.linalg.norm(rest)) or 1.0
    near = max(1e-6, min(0.01, 20 * noise * float(np.linalg.norm(left)) / norm))
    best: tuple[float, int, float] | None = None
    for i, part in _parts(run, readers, theirs).items():
        c = np.asarray(part).ravel()[index].ravel()
        size = float(c @ c)
        if not size:
            continue
        factor = float(rest @ c) / size
        miss = float(np.linalg.norm(rest - factor * c)) / norm
        if best is None or miss < best[0]:
            best = miss, i, factor
    if best is not None and best[0] < near:
        _, i, factor = best
        if abs(factor + 1) < near:
            return i, "JAX lets no gradient through this call: an extra stop_gradient?"
        return i, f"JAX's gradient through this call is {1 + factor:.6g} times torch's"
    several = _several(run, readers, theirs, rest, index)
    if several:
        return max(several), "JAX's gradients through several calls of this value are not torch's"
    silent = [i for i in readers if i not in run.parts]
    cut = [i for i in silent if run.values[i].op in ("detach", "data")]
    if cut:
        return cut[0], "torch stops the gradient here, JAX lets it through: stop_gradient missing?"
    return _likely(run, readers), ""


def _parts(run: TorchRun, readers: list[int], total: np.ndarray) -> dict[int, np.ndarray]:
    """The cotangent through each call; what a custom Function took is what the others left."""
    silent = [i for i in readers if i not in run.parts]
    if not silent:
        return run.parts
    rest = total - sum(run.parts.values(), np.zeros_like(total))
    return run.parts | {silent[0]: rest}


def _several(
    run: TorchRun, readers: list[int], total: np.ndarray, rest: np.ndarray, index: np.ndarray
) -> list[int]:
    """Some calls of one kind (the layers of a decoder) through all of which it goes wrong alike."""
    parts = {i: x.ravel()[index].ravel() for i, x in _parts(run, readers, total).items()}
    ops = {run.values[i].op for i in parts}
    norm = float(np.linalg.norm(rest)) or 1.0
    for op in ops:
        chosen = [i for i in parts if run.values[i].op == op]
        together = np.sum([parts[i] for i in chosen], 0)
        size = float(together @ together)
        factor = float(rest @ together) / size if size else 0.0
        if len(chosen) > 1 and np.linalg.norm(rest - factor * together) < 1e-6 * norm:
            return chosen
    if 1 < len(parts) <= 64:
        columns = np.stack(list(parts.values()), 1)
        if len(columns) > 2 * len(parts):
            factors = np.linalg.lstsq(columns, rest, rcond=None)[0]
            if np.linalg.norm(rest - columns @ factors) < 1e-6 * norm:
                return [i for i, f in zip(parts, factors, strict=True) if abs(f) > 1e-6]
    return []


def handed_on(run: TorchRun, seen: Alignment, number: int) -> int:
    """The value itself, or what a reshape or a transpose that alone reads it hands on."""
    while True:
        readers = [i for i, v in enumerate(run.values) if number in v.inputs]
        if len(readers) != 1 or not moves_only(run, readers[0]):
            return number
        if seen.first[readers[0]] != seen.first[number]:
            return number
        number = readers[0]


def first_reader(run: TorchRun, number: int) -> int | None:
    """The first value that was made of another."""
    return next((i for i, v in enumerate(run.values) if number in v.inputs), None)


def _likely(run: TorchRun, readers: list[int]) -> int | None:
    """Of several calls the one that does more than add and rearrange."""
    return next((i for i in readers if run.values[i].op not in _PLAIN), next(iter(readers), None))


def through(run: TorchRun, seen: Alignment, number: int, reader: int | None) -> int | None:
    """The call that does something with what a dropout or a reshape only hands on.

    Args:
      run: torch's run with `parts_of=number`.
      seen: The alignment.
      number: The value whose cotangent is wrong.
      reader: A value made of it.
    """
    part = run.parts.get(reader) if reader is not None else None
    arrives = run.values[number].cotangent if part is None else fingerprint(part)
    while reader is not None and seen.first[reader] == seen.first[number]:
        if not moves_only(run, reader) and "dropout" not in run.values[reader].op:
            break  # it happened to change nothing: a relu of what is positive
        leaves = run.values[reader].cotangent
        if leaves is None or (arrives is not None and apart(leaves, arrives) > SAME):
            break  # the same numbers forward, others back: a gradient reversal
        reader = first_reader(run, reader)
    return reader


def moves_only(run: TorchRun, reader: int) -> bool:
    """Whether a call only picks and rearranges: what is wrong there may as well be before it."""
    return run.values[reader].op in _MOVES


def between(
    flow: Flow, seen: Alignment, spot: Spot, ahead: int | None, same: Set[Key] = frozenset()
) -> Key:
    """The first equation that reads a JAX value on its way to what torch's call made.

    Args:
      flow: The JAX program.
      seen: The alignment.
      spot: The JAX value.
      ahead: What torch's call made.
      same: Other JAX values with the same numbers: casts and stop_gradients on the way.

    Returns:
      A stop_gradient on the way, if there is one, else the first equation.
    """
    readers = flow.children.get(spot.key, [])
    if ahead is None or not readers:
        return spot.key
    goal = {seen.spots[k].key for k in seen.candidates[ahead]}
    stops = flow.between([spot.key], goal, seen.known - same, "stop_gradient")
    if stops:
        return stops[0]
    for key in sorted(readers, key=lambda key: flow.order[key]):
        if key in goal or flow.ahead([key], seen.known - same) & goal:
            return key
    return min(readers, key=lambda key: flow.order[key])
