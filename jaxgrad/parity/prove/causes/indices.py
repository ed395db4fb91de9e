"""Integers that calls read in the place of others, such as an edge's sources for its targets.

No fingerprint compares integers, so such a mistake is a cause only if it explains all outputs.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import jax
import numpy as np
import torch
from torch import Tensor, nn

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.causes.trials import Trial, in_place
from jaxgrad.parity.prove.record.torch_side.trees import is_inexact, leaves
from jaxgrad.parity.prove.record.torch_side.values import Change, TorchRun, Value
from jaxgrad.parity.prove.wording import Difference, Mutual, Told


_DEPTH = 3  # calls that return integers, before the one that reads them
_SETS = 6  # other integers that are tried, those that are read nearest to the call first


class Place(NamedTuple):
    """Where a call reads or returns integers."""

    call: int  # the call's number
    path: tuple[Any, ...]  # of an argument; empty for the result
    part: int = 0  # of a result with several parts


@dataclasses.dataclass(frozen=True, eq=False)
class Integers:
    """A tensor of integers of the run."""

    data: np.ndarray
    source: Place  # where it first occurs
    readers: tuple[Place, ...]
    name: str
    given: int = -1  # its position among the integers and booleans of the inputs, if it is one

    @property
    def known_from(self) -> int:
        """The number of the call after which the run has it."""
        return -1 if self.given >= 0 else self.source.call


def mistakes(
    run: TorchRun,
    starts: Sequence[int],
    every: Sequence[Integers],
    function: Callable[[str], Set[str]],
    *,
    operands: bool = False,
) -> Iterator[Trial]:
    """Yield the trials in which calls at or before `starts` read other integers.

    The calls are those of one line, of one function, or all calls; two sets of integers may also
    be exchanged everywhere.

    Args:
        run: torch's run, with its values.
        starts: The values at which the difference may begin.
        every: The integers of the run.
        function: Function from a line of torch's code to the lines of the function around it.
        operands: Whether the other integers are those from which a call computes torch's own.
            JAX may have this call with a mistake, and the same integers only here.
    """
    lines = _lines(run)
    for i in starts:
        for own in _read(run, i, every):
            alike = own.data.shape, own.data.dtype
            others = [x for x in every if x is not own and (x.data.shape, x.data.dtype) == alike]
            others = [x for x in others if _is_operand(x, own) is operands]
            for other in sorted(others, key=lambda x: -x.known_from)[:_SETS]:
                yield from _trials(run, i, own, other, lines, function)
            yield from () if operands else _at_one_place(run, i, own, every, lines)


def _is_operand(other: Integers, own: Integers) -> bool:
    """Whether the call that returns some integers reads the other ones."""
    returned = not own.source.path
    return returned and any(place.call == own.source.call for place in other.readers)


def _trials(
    run: TorchRun,
    i: int,
    own: Integers,
    other: Integers,
    lines: Mapping[int, str],
    function: Callable[[str], Set[str]],
) -> Iterator[Trial]:
    at = run.values[i].line
    near = (place for place in own.readers if lines[place.call] == at)
    around = function(at)
    inside = (place for place in own.readers if lines[place.call] in around)
    tried: list[list[Place]] = []
    for places in (near, inside, own.readers):
        chosen = [place for place in places if place.call > other.known_from]
        if chosen and chosen not in tried:
            tried.append(chosen)
            told = _told(run, chosen, [own], [other], lines)
            changes = tuple(_changes(run, [other], dict.fromkeys(chosen, 0)))
            yield Trial(i, told, changes, whole=True)
    pairs = {**dict.fromkeys(own.readers, 0), **dict.fromkeys(other.readers, 1)}
    first = max(own.known_from, other.known_from)
    if all(place.call > first for place in pairs) and other.readers:
        text = Mutual(f"the integers of {own.name} and of {other.name} are exchanged in all calls")
        yield Trial(i, text, tuple(_changes(run, [other, own], pairs)), whole=True)


def _at_one_place(
    run: TorchRun, i: int, own: Integers, every: Sequence[Integers], lines: Mapping[int, str]
) -> Iterator[Trial]:
    """Yield the trials in which a line reads what another one reads, in each call of a function."""
    readers: dict[tuple[Any, ...], list[tuple[Place, Integers]]] = {}
    pairs = [(place, x) for x in every for place in x.readers]
    for place, x in sorted(pairs, key=lambda pair: pair[0].call):
        called = _called(run, place.call)
        at = lines[place.call], called.op, called.module, place.path
        readers.setdefault(at, []).append((place, x))
    here = [at for at, read in readers.items() if any(x is own for _, x in read)]
    for at in (at for at in here if at[0] == run.values[i].line):
        places, torchs = zip(*readers[at], strict=True)
        tried: list[Sequence[Integers]] = []
        for read in readers.values():
            jaxs = [x for _, x in read]
            both = list(zip(torchs, jaxs, strict=False))
            if len(jaxs) != len(torchs) or len({*both}) < 2 or jaxs in tried:
                continue
            tried.append(jaxs)
            fits = all(
                (x.data.shape, x.data.dtype) == (y.data.shape, y.data.dtype)
                and y.known_from < place.call
                for place, (x, y) in zip(places, both, strict=True)
            )
            if fits and jaxs != list(torchs):
                told = _told(run, places, torchs, jaxs, lines, of_one=True)
                changes = _changes(run, jaxs, dict(zip(places, range(len(jaxs)), strict=True)))
                yield Trial(i, told, tuple(changes), whole=True)


def _told(
    run: TorchRun,
    places: Sequence[Place],
    torchs: Sequence[Integers],
    jaxs: Sequence[Integers],
    lines: Mapping[int, str],
    *,
    of_one: bool = False,
) -> Difference:
    own, other = (" and of ".join(dict.fromkeys(x.name for x in read)) for read in (torchs, jaxs))
    rest, largest = "", max(int(x.data.max()) for x in jaxs)
    if any(largest >= size for place in places if (size := _rows(run, place)) is not None):
        rest = "; JAX clamps integers that are out of bounds"
    calls = [*dict.fromkeys(place.call for place in places)]
    what = f"torch's {_called(run, calls[0]).in_words}"
    if len(calls) > 1:
        at = dict.fromkeys(lines[call] for call in calls)
        where = f"at {' and '.join(at)}" if len(at) < 3 else f"from {next(iter(at))} on"
        of = f" of {what}" if of_one else ""  # a line may contain others
        what = f"{len(calls)} calls{of} {where}"
    return Told(
        f"in {what}, JAX reads the integers of {other}, torch reads those of {own}{rest}",
        f"in {what}, torch reads the integers of {own}, JAX reads those of {other}{rest}",
    )


def _rows(run: TorchRun, place: Place) -> int | None:
    """Return how many rows the integers of a call choose from, if it looks rows up."""
    called = _called(run, place.call)
    table = None if called.call is None else _table(called.op, called.call[1:], place.path)
    return None if table is None else len(table)


def _table(op: str, tree: Any, path: Sequence[Any]) -> Tensor | None:
    """Return the tensor whose rows the integers at `path` choose."""
    args, kwargs = tree
    if op == "getitem" and path in ((0, 1), (0, 1, 0)):
        return args[0]
    if op == "embedding" and path[-1] in (0, "input"):
        return kwargs.get("weight", args[1] if len(args) > 1 else None)
    return None


def _changes(
    run: TorchRun, sources: Sequence[Integers], places: Mapping[Place, int]
) -> Iterator[Change]:
    """Yield the changes with which calls read the integers of a source.

    Args:
        run: torch's run.
        sources: The integers, which the run that is going on keeps where they first occur.
        places: Where integers are replaced, and by which source.
    """
    kept: dict[int, Tensor] = {}
    ops = {place.call: _called(run, place.call).op for place in places}
    computed = {n: x.source for n, x in enumerate(sources) if x.given < 0}
    given = {n: x.given for n, x in enumerate(sources) if x.given >= 0}
    for number in sorted({place.call for place in (*computed.values(), *places)}):
        keep = [(n, place) for n, place in computed.items() if place.call == number]
        replace = [(place, n) for place, n in places.items() if place.call == number]

        def call(
            func: Any, args: Any, kwargs: Any, *inputs: Tensor,
            keep: Any = keep, replace: Any = replace, op: str = ops.get(number, ""),
        ) -> Any:  # fmt: skip
            kept.update(zip(given, inputs, strict=True))
            tree: Any = (args, kwargs)
            kept.update({n: _taken(tree, place.path) for n, place in keep if place.path})
            beyond: Tensor | None = None
            for place, n in replace:
                table, read = _table(op, tree, place.path), kept[n]
                if table is not None and len(table):  # JAX clamps, torch raises an error
                    beyond, read = read >= len(table), read.clamp(max=len(table) - 1)
                tree = _with(tree, place.path, read)
            out = func(*tree[0], **tree[1])
            if beyond is not None and beyond.any():  # JAX's gradient leaves these rows out
                axes = (1,) * (out.ndim - beyond.ndim)
                out = torch.where(beyond.reshape(*beyond.shape, *axes), out.detach(), out)
            kept.update({n: _tensors(out)[place.part] for n, place in keep if not place.path})
            return out

        yield Change(number, call, discrete_inputs=tuple(given.values()))


def integers(run: TorchRun, inputs: Sequence[tuple[str, np.ndarray]]) -> list[Integers]:
    """Return the tensors of different integers of a run, each with the calls that read it.

    Args:
        run: torch's run, with its values.
        inputs: The integers of the inputs, with their names.
    """
    found: list[Integers] = []

    def add(data: np.ndarray, place: Place, name: str) -> None:
        for n, known in enumerate(found):
            if known.data.dtype == data.dtype and np.array_equal(known.data, data):
                readers = (*known.readers, place) if place.path else known.readers
                found[n] = dataclasses.replace(known, readers=readers)
                return
        readers = (place,) if place.path else ()
        given = (n for n, (_, x) in enumerate(inputs) if np.array_equal(x, data))
        number = next(given, -1)
        called = name if number < 0 else inputs[number][0]
        found.append(Integers(data, place, readers, called, number))

    parts: dict[int, int] = {}
    for value in _calls(run):
        number = value.call_number
        if number not in parts:
            parts[number] = 0
            for path, x in _paths(value.call[1:] if value.call else ()):
                place = Place(number, path)
                add(to_numpy(x), place, f"the indices of {value.op} at {value.line}")
        if value.data is not None and value.data.dtype.kind == "i":
            what = f"the result of {value.op} at {value.line}"
            add(value.data, Place(number, (), parts[number]), what)
            parts[number] += 1
    return [x for x in found if len(np.unique(x.data)) > 1]


def _calls(run: TorchRun) -> list[Value]:
    """Return the results of all calls, in the order of the calls."""
    every = (*run.values, *(value for value in run.discrete if not in_place(value)))
    return sorted((v for v in every if v.call is not None), key=lambda v: v.call_number)


def _called(run: TorchRun, number: int) -> Value:
    return next(v for v in (*run.values, *run.discrete) if v.call_number == number)


def _lines(run: TorchRun) -> dict[int, str]:
    return {v.call_number: v.line for v in (*run.values, *run.discrete)}


def _read(run: TorchRun, i: int, every: Sequence[Integers]) -> list[Integers]:
    """Return the integers that a call reads, and those from which they are computed."""
    calls, found = {run.values[i].call_number}, list[Integers]()
    for _ in range(_DEPTH):
        new = [x for x in every if x not in found and calls & {p.call for p in x.readers}]
        found += new
        calls = {x.source.call for x in new if not x.source.path}
    return found


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """Yield the tensors of integers among the arguments of a call, with their paths."""
    if isinstance(tree, dict):
        items: Any = tree.items()
    elif isinstance(tree, list | tuple):
        items = enumerate(tree)
    else:
        if isinstance(tree, Tensor) and not is_inexact(tree):
            if tree.dtype != torch.bool and tree.ndim:
                yield path, tree
        return
    for key, branch in items:
        yield from _paths(branch, (*path, key))


def _taken(tree: Any, path: Sequence[Any]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _with(tree: Any, path: Sequence[Any], new: Any) -> Any:
    """Return a tree of tuples, lists and dicts with one leaf replaced."""
    if not path:
        return new
    key, *rest = path
    if isinstance(tree, dict):
        return {**tree, key: _with(tree[key], rest, new)}
    items = [_with(x, rest, new) if n == key else x for n, x in enumerate(tree)]
    return type(tree)(items) if type(tree) in (list, tuple) else tree


def _tensors(tree: Any) -> list[Tensor]:
    return [x for x in leaves(tree) if isinstance(x, Tensor)]


def named_inputs(module: nn.Module, inputs: Any) -> list[tuple[str, np.ndarray]]:
    """Return the integers and booleans among a module's inputs, with the names of its arguments."""
    try:
        names = [*inspect.signature(module.forward).parameters]
    except (TypeError, ValueError):
        names = []
    listed = inputs if isinstance(inputs, tuple | list) else (inputs,)
    known = {id(x): name for x, name in zip(listed, names, strict=False)}
    arrays = [(n, x) for n, x in enumerate(jax.tree.leaves(inputs)) if isinstance(x, np.ndarray)]
    return [(known.get(id(x), f"input {n}"), x) for n, x in arrays if x.dtype.kind in "iub"]
