"""Explain a wrong value: rerun torch with a common mistake in one call, and compare with JAX."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import math
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity.interop import map_leaves
from jaxgrad.parity.prove.align.fingerprint import (
    fingerprint,
    is_constant,
    is_mask,
    print_distance,
)
from jaxgrad.parity.prove.align.order import exchanged_axes, reordering
from jaxgrad.parity.prove.causes import discrete, exchanges, indices, masks, pairings, trials
from jaxgrad.parity.prove.causes.acceptance import (
    AGREES,
    MARGIN,
    UNKNOWN,
    UNTRIED,
    Compared,
    compared,
    confirms,
    either,
    range_of,
)
from jaxgrad.parity.prove.causes.mistakes.call import INDEX, MULTIPLE
from jaxgrad.parity.prove.causes.mistakes.cells import GATES
from jaxgrad.parity.prove.causes.numbers import SAME, equal, find, find_multiple, find_print
from jaxgrad.parity.prove.causes.trials import Discrete, Trial
from jaxgrad.parity.prove.edits import InTorch
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import judge, max_difference
from jaxgrad.parity.prove.locate import shuffled as locate_shuffled
from jaxgrad.parity.prove.locate.forward import INNER_GRADIENT
from jaxgrad.parity.prove.locate.quotes import lines_of_function
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES, leaf_of
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.jax_side.program import Key, Spot, literals, numbers_of
from jaxgrad.parity.prove.record.lazy import replaced
from jaxgrad.parity.prove.record.torch_side.side import STATE
from jaxgrad.parity.prove.record.torch_side.values import MOVES, Change, Mistakes, TorchRun, Value
from jaxgrad.parity.prove.wording import Difference


_REORDERED = ("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "sum")
_NEUTRAL = ("add", "sub", "add_any", "mul", "div")  # primitives that can return an operand
_BOUNDS = ("max", "min", "clamp")
_NUMBERS = 32
_LOST = 64
# Calls after which the same elements may be in another order.
_MOVES = MOVES | set(GATES) | {"repeat_interleave"}
_HIDDEN = 4  # values behind one that JAX has
_TERMS = 4  # sums that are computed without a term
_COPIES = 8  # JAX values that equal the result of a call with a mistake
_ALTERNATIVES = 3  # mistakes that explain the same difference
_ROUNDING = 1e-14  # relative to the scale
_LARGER = 4.0  # times the numbers of a draw
_NEAR = 2  # values, and calls before each, that are tried before others
_CALLS = 64  # of one function, which are changed together


Origins = Callable[[Set[int]], list[int]]


class Guess(NamedTuple):
    """A mistake that makes torch compute what JAX computes."""

    value: int  # index of the torch value
    key: Key | None  # the JAX value
    text: str = ""  # empty if no mistake explains the difference
    tested: str = ""  # how the mistake was tested, and what agrees with it
    fix: tuple[str, str] = ("", "")  # what the JAX code contains, and what it should contain
    tried: tuple[str, ...] = ()  # the mistakes that do not explain the difference
    line: str = ""  # file:line of the call in torch's code
    complete: bool = False  # whether it explains all outputs, by the rule of `acceptance`
    needed: tuple[bool, ...] = ()  # for each earlier mistake, whether it is needed too
    alone: bool = False  # whether no other mistake explains as much, and all were tried
    changes: tuple[Change, ...] = ()  # with which torch makes it too; of calls alone
    weak: bool = False  # whether a correct port may compute what the mistake computes
    seen: bool = True  # whether JAX has the value that it gives, or all outputs
    write: InTorch = InTorch()  # what torch's code needs in order to do the same
    scales: bool = False  # whether JAX's value is a multiple of torch's, which may be chance
    discrete: Value | None = None  # the call with the mistake, if it returns integers or booleans

    @property
    def confirmed(self) -> bool:
        """Whether this mistake alone explains all outputs."""
        return self.complete and self.alone

    def mistakes(self, evidence: Evidence) -> Mistakes | None:
        """Return the mistakes that explain all outputs together, if they change calls alone."""
        earlier = zip(evidence.mistakes, self.needed, strict=True)
        every = (*(changes for changes, needed in earlier if needed), self.changes)
        return Mistakes(every, evidence.opened) if self.changes else None

    def cause(self, rest: str = "") -> str:
        """Return the mistake and how it was tested, with the rest of this sentence."""
        return f"{self.text} ({self.tested}{rest})" if self.text else ""


class Tested(NamedTuple):
    """A mistake with which torch has a result in common with JAX."""

    trial: Trial
    changes: tuple[Change, ...]
    result: str  # "JAX's outputs", or less
    complete: bool  # whether it explains all outputs, by the rule of `acceptance`
    needed: tuple[bool, ...] = ()  # for each earlier mistake, whether it is needed too
    rest: float = 0.0  # the largest difference that remains, relative to the scale
    occurs: bool = False  # whether JAX has the result that the changed call then has


class Search:
    """The mistakes in some torch calls, tested on one draw of weights and inputs."""

    def __init__(self, evidence: Evidence, draw: int):
        self.evidence, self.draw = evidence, draw
        self.run = evidence.run_with_values(draw)
        self.without = self._compared({})
        listed = [evaluation.spots(run.prints) for run in evidence.jax_runs]
        self.spots = listed[draw][0]
        self.every_print = [prints for _, prints in listed]  # of all JAX values on each draw
        alignment = evidence.alignments[draw]
        self.visible = alignment.visible
        known = {k for i in range(len(alignment.first)) for k in alignment.matches(i)}
        self.new = np.array([k for k in range(len(self.spots)) if k not in known], np.int64)
        # Of the JAX values that do not occur in torch, on each draw and on this one.
        self.prints_of = [rows[self.new] for rows in self.every_print]
        self.prints = self.prints_of[draw]
        self.numbers = _numbers(evidence, draw)
        self.cut = False  # whether the time ended before every mistake was tried
        self.tried: dict[Difference, None] = {}
        self.failed: set[Hashable] = set()  # mistakes in calls that explain nothing
        self.starts: list[int] = []  # values at which the difference may begin
        self.rewirings: dict[Hashable, Trial] = {}  # with another operand, JAX has the result
        self.merged: set[int] = set()  # values of which JAX has a part: a correct port may merge

    def spot(self, row: int) -> Spot:
        """Return the JAX value of a row of `prints`."""
        return self.spots[int(self.new[row])]

    def visible_trials(self, i: int) -> Iterator[Trial]:
        """Yield the mistakes whose result occurs in the JAX program, surest first."""
        value = self.run.values[i]
        if value.call is None or value.data is None or trials.in_place(value):
            return
        for trial in masks.different(self.evidence, self.draw, lambda: self._kept, i):
            rows = (row for row, k in enumerate(self.new) if self.spots[k].key == trial.key)
            yield trial._replace(row=next(rows, None))
        partial = []
        seen: list[tuple[Trial, int, np.ndarray]] = []
        again: list[Trial] = []
        for trial, x in trials.with_results(self.run, i, self.numbers):
            row = None if np.array_equal(x, value.data) else find(x, self.prints)
            if row is not None:
                seen.append((trial, row, x))
                continue
            self.tried[trial.difference] = None
            if not trial.partial and not np.array_equal(x, value.data):
                again += self._again(i, trial, x)
        for trial, row, x in self._in_order(seen):
            read = (self.run.values[k].data for k in value.inputs)
            operand = any(y is not None and np.array_equal(x, y) for y in read)
            found = trial._replace(row=row, partial=trial.partial or operand, operand=operand)
            if found.partial:
                partial.append(found)
            else:
                yield found
        yield from self._rewired(i)
        yield from self.of_other_layers(i)
        yield from trials.reordered(self.run, i) if partial else ()
        yield from partial
        yield from again
        read = [k for j in (i, *self._moves(i, 4)) for k in self.run.values[j].inputs]
        for k in (*reversed(read), i):  # a multiple of an operand, or of the value
            found = self.multiple(k)
            if found is not None:
                yield from self._called(k, found.row) if k != i else ()
                yield found

    def _called(self, i: int, row: int | None) -> Iterator[Trial]:
        """Yield the mistakes in a call whose result is one JAX value, such as swapped operands."""
        for trial, x in trials.with_results(self.run, i, self.numbers):
            if not trial.partial and trial.general != MULTIPLE and find(x, self.prints) == row:
                yield trial._replace(row=row)

    def _again(self, i: int, trial: Trial, x: np.ndarray) -> Iterator[Trial]:
        """Yield a mistake whose result both programs have, if JAX has it once more than torch.

        JAX then computes twice what torch computes once, such as a minimum where torch takes a
        minimum and a maximum. The copies are in the same order in both programs.
        """
        row = find(x, self.every_print[self.draw])
        if row is None or is_constant(self.every_print[self.draw][row]):
            return
        printed, values = self.every_print[self.draw][row], self.run.values
        equations = self.evidence.port.program.equations
        rows = np.flatnonzero(print_distance(printed, self.every_print[self.draw]) < SAME)
        keys = [
            spot.key
            for spot in map(self.spots.__getitem__, rows)
            if spot.path in equations and equations[spot.path].primitive.name not in REARRANGES
        ]
        own = [
            k
            for k, value in enumerate(values)
            if value.op not in (*MOVES, "result", "input")
            and print_distance(value.print, printed) < SAME
        ]
        if len(keys) == len(own) + 1:
            yield trial._replace(key=keys[sum(k < i for k in own)], whole=True)

    def _in_order(
        self, seen: Sequence[tuple[Trial, int, np.ndarray]]
    ) -> list[tuple[Trial, int, np.ndarray]]:
        """Leave out the results that have another order than JAX's value, if one has its order."""
        counts = collections.Counter(row for _, row, _ in seen)
        rows = [row for row, count in counts.items() if count > 1]
        if not rows:
            return [*seen]
        draw, spots = self.evidence.draws[self.draw], [*map(self.spot, rows)]
        data = dict(zip(rows, self.evidence.port.values(draw, spots), strict=True))
        exact = {row for _, row, x in seen if row in data and equal(x, data[row])}
        return [found for found in seen if found[1] not in exact or equal(found[2], data[found[1]])]

    def rewired(self, numbers: Iterable[int]) -> Iterator[Trial]:
        """Yield the calls whose result occurs in JAX if they read another value."""
        for i in numbers:
            for trial, x in trials.rewired(self.run, i, self.has):
                row = find(x, self.prints)
                if row is not None:
                    found = trial._replace(row=row)
                    self.rewirings.setdefault((i, trial.changes[0].reads), found)
                    yield found

    def has(self, i: int) -> bool:
        """Whether JAX has a value, which may be an input."""
        return self.run.values[i].op == "input" or self.visible(i)

    def of_other_layers(self, i: int) -> Iterator[Trial]:
        """Yield the weights of other layers with which the result of a call occurs in JAX."""
        side, state = self.evidence.torch_side, self.evidence.draws[self.draw].state
        for trial, x in exchanges.other_layers(self.run, i, state, side.module):
            row = find(x, self.prints)
            yield from () if row is None else (trial._replace(row=row),)

    def exchanged_reads(self) -> Iterator[Trial]:
        """Yield the pairs of the calls so far that may read each other's value."""
        for one, other in itertools.combinations(self.rewirings.values(), 2):
            found = trials.exchanged_reads(self.run, one, other)
            yield from () if found is None else (found,)

    def left_out(self, trial: Trial) -> int | None:
        """Return the value that a call does not read, if it reads an operand of it instead."""
        values = self.run.values
        read = values[trial.changes[0].reads[0]].print
        unread = values[trial.unread].print
        for k, value in enumerate(values[: trial.unread + 1]):
            if value.call is not None and print_distance(value.print, unread) < SAME:
                if any(print_distance(read, values[n].print) < SAME for n in value.inputs):
                    return k  # whose result other calls may move, or detach
        return None

    def _rewired(self, i: int) -> Iterator[Trial]:
        """Yield the other operands of a call; a call between the two is told as missing."""
        for trial in self.rewired([i]):
            unread = self.left_out(trial)
            if unread is None:
                yield trial
                continue
            skipped = trials.in_call(self.run, unread, self.numbers)
            yield from (found for found in skipped if found.write.removed)

    def lost(self, starts: Sequence[int]) -> list[int]:
        """Return the first values that depend on `starts` and do not occur in JAX."""
        after = set(starts)
        for i, value in enumerate(self.run.values):
            if after & set(value.inputs) and not self.visible(i):
                after.add(i)
        return sorted(after - set(starts))[:_LOST]

    def constants(self, starts: Sequence[int]) -> list[int]:
        """Return the values before `starts` that JAX does not have, such as a table of angles."""
        before: list[int] = []
        todo = list(starts)
        while todo:
            for k in self.run.values[todo.pop()].inputs:
                if not self.visible(k) and k not in (*before, *starts):
                    before.append(k)
                    todo.append(k)
        return sorted(before)[:_LOST]

    def without_terms(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield the sums at or after `starts` of which JAX has one term, and not the other."""
        alignment, values = self.evidence.alignments[self.draw], self.run.values
        for i in (*starts, *self.lost(starts)):
            operands = values[i].inputs if values[i].op in trials.SUMS else ()
            kept = [k for k in operands if alignment.candidates[k]]
            terms = [k for k in operands if not self.visible(k) and values[k].op != "input"]
            if len(kept) == len(terms) == 1:
                if self._is_kept(values[kept[0]].print):
                    continue
                key = alignment.spots[alignment.candidates[kept[0]][0]].key
                trial = trials.without_term(self.run, i, kept[0], terms[0], key)
                yield from () if trial is None else (trial,)

    def _is_kept(self, value: np.ndarray) -> bool:
        """Whether a call in JAX has a value as an operand and as its result.

        A sum or a product has its other operand, although it is 0 or 1 here: it is not missing if a
        gradient flows through it. A bound has another number, and changes nothing here, and so does
        a mask that depends on an input or a weight.
        """
        rows = np.flatnonzero(print_distance(value, self.every_print[self.draw]) < SAME)
        keys = {self.spots[k].key for k in rows}
        flow, equations = self.evidence.flow, self.evidence.port.program.equations
        same = {child for key in keys for child in flow.children.get(key, ()) if child in keys}

        def keeps(child: Key) -> bool:
            name, read = equations[child[0]].primitive.name, flow.operands.get(child[0], [])
            if name == "select_n":
                return bool(read) and self._depends(read[0])
            if name in _BOUNDS:
                return True
            return name in _NEUTRAL and any(flow.live & {*other} - keys for other in read)

        return any(map(keeps, same))

    def _depends(self, keys: Sequence[Key]) -> bool:
        """Whether JAX values depend on an input or a weight."""
        return any(leaf_of(k) is not None for k in self.evidence.flow.back(keys, set()))

    def _is_scaled(self, value: np.ndarray, trial: Trial) -> bool:
        """Whether JAX makes a value by the call that a trial leaves out, with its number.

        The value equals torch's operand by chance: another factor is wrong by the inverse number.
        """
        call = self.run.values[trial.changed].call
        numbers = [] if call is None else [x for x in call[1] if isinstance(x, int | float)]
        if not numbers:
            return False
        rows = np.flatnonzero(print_distance(value, self.every_print[self.draw]) < SAME)
        keys = {self.spots[k].key for k in rows}
        equations = self.evidence.port.program.equations
        made = [equations[path] for path, _ in keys if path in equations]
        factors = {
            float(x)
            for eqn in made
            if eqn.primitive.name in ("mul", "div")
            for x in numbers_of(eqn)
        }
        return bool(factors & {*map(float, numbers)})

    def hidden(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield the mistakes in calls before `starts` whose results JAX lacks, nearest first.

        The value after such a call may equal one of JAX by chance.
        """
        before: list[int] = []
        todo = list(starts)
        while todo and len(before) < _HIDDEN:
            for k in self.run.values[todo.pop(0)].inputs:
                if k not in (*before, *starts):
                    todo.append(k)
                    before += [] if self.visible(k) else [k]
        for k in before:
            yield from self.visible_trials(k)

    def multiple(self, i: int) -> Trial | None:
        """Return the trial that scales a value, if JAX has a multiple of it."""
        value = self.run.values[i]
        if value.call is None or value.data is None:
            return None
        multiple = find_multiple(value.data, self.prints)
        return None if multiple is None else trials.scaled(self.run, i, *multiple)

    def all_trials(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield every mistake in the calls of some values, one of each call in turn."""
        streams = [trials.in_call(self.run, i, self.numbers) for i in starts]
        yield from _in_turn([*streams, *self._in_moves(starts)])

    def moved(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield the mistakes in the calls just before some values that only move elements."""
        yield from _in_turn(self._in_moves(starts[:_NEAR], depth=_NEAR))

    def _in_moves(self, starts: Sequence[int], depth: int = 4) -> list[Iterator[Trial]]:
        moves = [(k, i) for i in starts for k in self._moves(i, depth)]
        return [trials.in_call(self.run, k, self.numbers, i) for k, i in moves]

    def shuffled(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield the values at or before `starts` of which JAX has the elements in another order."""
        near = dict.fromkeys(k for i in starts for k in (*self.run.values[i].inputs, i))
        calls = collections.Counter(v.call_number for v in self.run.values)
        for k in near:
            value = self.run.values[k]
            floats = value.data is not None and value.data.dtype.kind == "f"
            alone = value.call is not None and calls[value.call_number] == 1
            if not (floats and alone) or trials.in_place(value):
                continue
            spots = locate_shuffled.copies(self.evidence, self.draw, k)
            draws = self.evidence.draws
            copies = [self.evidence.port.values(draw, spots) for draw in draws] if spots else []
            xs = [np.asarray(run.values[k].data) for run in self._kept]
            orders = [reordering(xs, ys) for ys in zip(*copies, strict=True)]
            # If no call moves the elements, exchanged operands transpose a product; another order
            # is that of another computation.
            computed = value.op not in MOVES
            alone = computed and all(order is not None for order in orders)
            for spot, order in zip(spots, orders, strict=True):
                transposes = computed and exchanged_axes(order, value.shape) is not None
                if order is not None and (transposes or not alone):
                    found = trials.shuffled(self.run, k, order, spot.key)
                    yield found._replace(transposes=transposes)

    @functools.cached_property
    def _kept(self) -> list[TorchRun]:
        """torch's run on each draw, with the values themselves."""
        runs = [
            self.run if draw == self.draw else self.evidence.run_with_values(draw)
            for draw in range(len(self.evidence.draws))
        ]
        self.evidence.torch_side.load(self.evidence.draws[self.draw])
        return runs

    def shared_masks(self) -> Iterator[Trial]:
        """Yield the random masks of which the port draws one for several of torch's."""
        injection = self.evidence.port.injection
        noise = self.evidence.draws[self.draw].noise
        shared = {
            int(number): site.shape
            for site, sources in zip(injection.sites, injection.sources, strict=True)
            for number in sources.ravel()
            if math.prod(site.shape) < noise[int(number)].drawn.size
        }
        found = trials.shared_masks(self.run, noise, shared) if shared else None
        if found is not None:
            trial, x = found
            yield trial._replace(row=find(x, self.prints))

    def exchanged(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield the exchanges of weights that calls around `starts` read."""
        near = {*starts, *self.after(starts, len(self.run.values))}
        for _ in range(2):
            near |= {k for i in near for k in self.run.values[i].inputs}
        yield from exchanges.exchanged(self.run, self.evidence.port.weights.shapes, starts, near)

    def paired(self, starts: Sequence[int]) -> Iterator[Trial | None]:
        """Yield the pairings of elements whose result occurs in the JAX program, None for others.

        Each takes a run of torch, so that other mistakes are tried in between.
        """
        for one, *all_ in pairings.paired(self.run, starts):
            rerun = self._rerun(self.draw, one.changes)
            result = None if rerun is None else rerun.values[one.value].print
            row = None if result is None else find_print(result, self.prints)
            if row is not None:
                yield from (trial._replace(row=row) for trial in (*all_, one))
            else:
                yield None

    def discrete(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield the mistakes in calls before `starts` that return integers or booleans."""
        numbers = discrete.numbers(self.evidence.port.program)
        return discrete.mistakes(self.run, starts, numbers) if starts else iter(())

    def other_indices(self, near: Sequence[int], *, operands: bool = False) -> Iterator[Trial]:
        """Yield the trials in which some calls, and those before them, read other integers.

        With `operands`, they read those from which torch computes theirs.
        """
        values = self.run.values
        reading = [k for k in near if values[k].integers or values[k].unchecked]
        if not reading:
            return
        every, function = self._integers, functools.partial(lines_of_function, self.evidence)
        for trial in indices.mistakes(self.run, reading, every, function, operands=operands):
            if trial.difference not in self.tried:
                yield trial

    @functools.cached_property
    def _integers(self) -> list[indices.Integers]:
        """The integers of torch's run, each with the calls that read it."""
        evidence = self.evidence
        inputs = indices.named_inputs(evidence.torch_side.module, evidence.draws[self.draw].inputs)
        return indices.integers(self.run, inputs)

    def operands(self, starts: Sequence[int]) -> list[int]:
        """Return the values that some calls read, and what is read for these."""
        found = {*starts}
        for _ in range(2):
            found |= {k for i in found for k in self.run.values[i].inputs}
        return sorted(found - {*starts}, reverse=True)

    def of_integers(self, i: int, found: Sequence[Tested]) -> Sequence[Tested]:
        """Return the mistake that shifts an index which torch computes, or else what was found."""
        if found[0].trial.general == INDEX and self.run.values[i].unchecked:
            for trial in self.in_time(self.discrete([i])):
                tested = self.tested(trial)
                if tested is not None and tested.complete:
                    return _with_alternatives(self, tested)
        return found

    @functools.cached_property
    def _discrete(self) -> Mapping[Key, np.ndarray]:
        return self.evidence.port.discrete(self.evidence.draws[self.draw])

    def computed(self, mistake: Discrete) -> Key | None:
        """Return the JAX value with the result of a discrete call with a mistake.

        If several values are equal to it, or if all its elements are, it is the one with torch's
        own result in whose place JAX has torch's outputs on every draw. Another one is equal by
        chance, such as the test of an index for negative numbers.
        """
        program = self.evidence.port.program
        known = {
            key: inverted
            for key, inverted in discrete.computed(program, self._discrete, mistake.result).items()
            if self._depends([key])
            and (inverted or not discrete.contradicts(program.equations[key[0]], mistake))
        }
        if len(known) == 1 and len(np.unique(mistake.result)) > 1:
            return next(iter(known))
        for key, inverted in itertools.islice(known.items(), _COPIES):
            if all(self._agrees_with(draw, key, mistake, inverted) for draw in self._draws):
                return key
        return None

    def _agrees_with(self, draw: int, key: Key, mistake: Discrete, inverted: bool) -> bool:
        """Whether JAX has torch's outputs with torch's result of a discrete call."""
        number = next(n for n, v in enumerate(self.run.discrete) if v is mistake.call)
        run = self._kept[draw]
        own = run.discrete[number].data if number < len(run.discrete) else None
        if own is None or own.size != mistake.result.size:
            return False
        values = {key: ~own if inverted else own}
        try:
            outputs = self.evidence.port.outputs_with(self.evidence.draws[draw], values)
        except (TypeError, ValueError):  # JAX has the value in another shape
            return False
        compared = self._compared({draw: run}, [draw], {draw: outputs})
        return all(c.verdict in AGREES for c in compared)

    def scaled_weights(self, starts: Iterable[int]) -> Iterator[Trial]:
        """Yield the weights of which JAX has a multiple, at the calls that read them."""
        state = self.evidence.draws[self.draw].state
        for i in starts:
            for name in self.run.values[i].weights:
                multiple = find_multiple(np.asarray(state[name]), self.prints)
                if multiple is not None:
                    yield trials.scaled_weight(i, name, *multiple)

    def inner_stops(self, starts: Iterable[int]) -> Iterator[Trial]:
        """Yield the stops that one program alone has inside the inner gradients near `starts`.

        A gradient without a stop is a sum, of which torch's gradient with the stop is a part.
        """
        alignment = self.evidence.alignments[self.draw]

        def copy(i: int) -> Key | None:
            found = alignment.candidates[i]
            return alignment.spots[found[0]].key if found else None

        near = dict.fromkeys(k for i in starts for k in (*self.run.values[i].inputs, i))
        for k in near:
            if self.run.values[k].op == INNER_GRADIENT:
                yield from trials.inner_stops(self.run, k, copy)

    def _moves(self, i: int, depth: int) -> list[int]:
        """Return the calls before a value that only move elements, the nearest first."""
        values, near = self.run.values, [i]
        for k in near:
            near += [j for j in values[k].inputs if values[j].op in _MOVES and j not in near]
        return [k for k in near[1:] if values[k].call is not None][:depth]

    def after(self, starts: Sequence[int], limit: int) -> list[int]:
        """Return the values computed from `starts` in one or two calls."""
        near = set(starts)
        for _ in range(2):
            near |= {i for i, value in enumerate(self.run.values) if near & set(value.inputs)}
        return sorted(near - set(starts) - self.merged)[:limit]

    def _has_shapes(self, trial: Trial) -> bool:
        """Whether JAX has the operands and the result of a changed call in these shapes."""
        call = self.run.values[trial.changed].call
        if not trial.shapes or call is None:
            return True
        values, alignment = self.run.values, self.evidence.alignments[self.draw]
        *operands, result = trial.shapes
        if result not in map(self._shape, self.spots):
            return False
        for x, shape in zip(call[1], operands, strict=False):
            own = [k for k in values[trial.changed].inputs if trials.is_value(x, values[k])]
            copies = [alignment.spots[j] for k in own for j in alignment.candidates[k]]
            shapes = [_promoted(self._shape(copy)) for copy in copies]
            if shapes and _promoted(shape) not in shapes:
                return False
        return True

    def _shape(self, spot: Spot) -> tuple[int, ...]:
        """Return the shape of a JAX value in one iteration of the loops around it."""
        program, leaf = self.evidence.port.program, leaf_of(spot.key)
        if leaf is not None:
            return program.leaves[leaf].shape
        aval: Any = program.equations[spot.path].outvars[spot.output].aval
        return aval.shape

    def tested(self, trial: Trial) -> Tested | None:
        """Rerun torch with a mistake, and say what it then has in common with JAX.

        If the outputs do not agree, a later value must: a correct port may well compute what a
        mistake computes (a product without its bias) on the way to the right result. A mistake in
        a call that only moves elements is tested once, and not for each call after it.
        """
        if not self._has_shapes(trial):
            return None
        same = trial.difference, trial.changed, trial.partial, trial.whole
        if trial.changed >= 0 and same in self.failed:
            return None
        tested = self._tested(trial)
        if tested is not None and tested.complete and trial.discrete is not None:
            key = self.computed(trial.discrete)
            return None if key is None else tested._replace(trial=trial._replace(key=key))
        if tested is None or (trial.whole and not tested.complete):
            self.failed.add(same)
            return None
        return tested

    def _tested(self, trial: Trial) -> Tested | None:
        rerun = self._rerun(self.draw, trial.changes, trial)
        if rerun is None:
            return None
        if trial.occurs >= 0 and not self._occurs(rerun.values[trial.occurs]):
            return None
        rest = self._remaining(rerun, trial.changes, trial)
        if trial.write.removed:
            printed = rerun.values[trial.changed].print
            if self._is_kept(printed) or self._is_scaled(printed, trial):
                return None  # the call is not missing
        if trial.general == MULTIPLE and not self._visible(rerun.values[trial.value], self.draw):
            return None  # no value of JAX is this multiple, whatever the outputs are
        if rest is not None:
            needed = self._needed(trial.changes, trial)
            occurs = self._occurs(rerun.values[trial.called])
            text = f"JAX's {self.evidence.results}"
            return Tested(trial, trial.changes, text, True, needed, rest, occurs)
        if self._changes_nothing(rerun):
            local = not (trial.factors or trial.whole)  # a change of one call, not of a weight
            if trial.row is not None and local:
                self.merged.add(trial.value)
            return None
        repaired = self._repaired(trial.changes, rerun, trial), trial.changes, ""
        for changes, calls in self._repeated(trial):
            again = self._rerun(self.draw, changes)
            rest = None if again is None else self._remaining(again, changes)
            if again is not None and rest is None and not trial.partial:
                more = self._repaired(changes, again)
                if len(more) > len(repaired[0]):
                    repaired = more, changes, f" if {calls} are changed"
            if rest is not None:
                text = f"JAX's {self.evidence.results} if {calls} are changed"
                occurs = again is not None and self._occurs(again.values[trial.called])
                return Tested(trial, changes, text, True, self._needed(changes), rest, occurs)
        names, changes, calls = repaired
        if names:
            return Tested(trial, changes, f"JAX's {' and '.join(names)}{calls}", False)
        draws = self._draws
        for draw in draws:
            again = rerun if draw == self.draw else self._rerun(draw, trial.changes, trial)
            if not self._advances(trial, again, draw):
                return None
        ways = () if trial.partial else self._repeated(trial)
        for changes, calls in sorted(ways, key=lambda way: -len(way[0])):
            if all(self._spreads(draw, changes) for draw in draws):
                text = f"JAX's value here if {calls} are changed"
                return Tested(trial, changes, text, False)
        return Tested(trial, trial.changes, "JAX's value here", False)

    def result_of(self, trial: Trial, changes: Sequence[Change]) -> Key | None:
        """Return the JAX value that equals the result of a mistake and that torch does not have."""
        rerun = self._rerun(self.draw, changes, trial)
        row = None if rerun is None else find_print(rerun.values[trial.called].print, self.prints)
        return None if row is None else self.spot(row).key

    def in_call(self, i: int, occurring: bool) -> Iterator[Trial]:
        """Yield the mistakes in a call, without those whose result JAX must have and lacks."""
        single = sum(v.call_number == self.run.values[i].call_number for v in self.run.values) == 1
        if not (occurring and single) or trials.in_place(self.run.values[i]):
            yield from trials.in_call(self.run, i, self.numbers)
            return
        for trial, x in trials.with_results(self.run, i, self.numbers):
            if find_print(fingerprint(x), self.every_print[self.draw]) is None:
                self.tried[trial.difference] = None
            else:
                yield trial

    def _occurs(self, value: Value) -> bool:
        """Whether JAX has a value, of which any program may have a constant."""
        constant = value.print[0] > 1 and is_constant(value.print)
        return not constant and _among(value, self.every_print[self.draw])

    def _spreads(self, draw: int, changes: Sequence[Change]) -> bool:
        """Whether JAX has the results of all changed calls, as far as it has what they read.

        It must not have torch's own result of any of them.
        """
        rerun = self._rerun(draw, changes)
        if rerun is None or len(rerun.values) != len(self.run.values):
            return False
        numbers = {change.number for change in changes}
        rows = self.every_print[draw]
        for i, value in enumerate(rerun.values):
            if value.call_number in numbers and self.visible(i):
                return False
            if value.call_number not in numbers or _among(value, rows):
                continue
            if all(_among(rerun.values[k], rows) for k in value.inputs):
                return False
        return True

    def _repeated(self, trial: Trial) -> Iterator[tuple[tuple[Change, ...], str]]:
        """Yield the changes that make a mistake in several calls of one function, and name these.

        They are the calls of one line of the user's code, all calls, or those where the programs
        first differ. A line may call the function several times, of which one may be wrong.
        """
        if trial.discrete is None:
            listed: Sequence[Value] = self.run.values
            value = listed[trial.called]
        else:
            listed, value = self.run.discrete, trial.discrete.call
        alike = {v.call_number: v for v in listed if v.op == value.op}.values()
        if not 1 < len(alike) <= _CALLS:
            return
        changes = [*trial.everywhere()]
        first = {self.run.values[i].call_number for i in self.starts}
        line = [v for v in alike if value.line and v.line == value.line]
        tried: list[set[int]] = []
        ways = [({v.call_number for v in line}, f"calls at {value.line}")]
        if not trial.general:  # many values are a multiple of another one by chance
            ways.append((_same_place(value, line), f"such calls at {value.line}"))
        if trial.calls > 1:
            ways = [({change.number for change in changes}, "such averages")]
        elif not trial.partial:
            ways.append(({change.number for change in changes}, f"calls of {value.op}"))
            ways.append((first, f"of {len(alike)} calls of {value.op}"))
        for numbers, where in ways:
            chosen = {change.number: change for change in changes if change.number in numbers}
            if len(chosen) > 1 and chosen.keys() not in tried:
                tried.append({*chosen})
                many = len(chosen) // trial.calls
                count = f"all {many}" if numbers is not first else str(many)
                yield tuple(chosen.values()), f"{count} {where}"

    def _rerun(
        self,
        draw: int | Draw,
        changes: Sequence[Change],
        trial: Trial | None = None,
        earlier: Sequence[Change] | None = None,
    ) -> TorchRun | None:
        """Rerun torch with some calls or weights changed, or return None if that is impossible.

        Args:
            draw: The weights and inputs, or the number of a draw.
            changes: The changes of calls.
            trial: The mistake, if it changes weights.
            earlier: The mistakes that torch makes too; by default those that were found before.
        """
        evidence = self.evidence
        given = evidence.draws[draw] if isinstance(draw, int) else draw
        earlier = Mistakes(evidence.mistakes).joined if earlier is None else earlier
        if trial is not None:
            given = _with_weights(given, trial)
        options: dict[str, Any] = dict(forward=True, opened=evidence.opened)
        try:
            return evidence.torch_side.run(given, changes=(*earlier, *changes), **options)
        except Exception:  # the mistake makes a later call impossible
            return None
        finally:  # the recorded calls read the weights that are loaded
            if given is not evidence.draws[self.draw]:
                evidence.torch_side.load(evidence.draws[self.draw])

    def _remaining(
        self,
        rerun: TorchRun,
        changes: Sequence[Change],
        trial: Trial | None = None,
    ) -> float | None:
        """Return the largest difference from JAX's outputs that a change leaves, on all draws.

        Args:
            rerun: torch's run with the change, on the draw of the search.
            changes: The changes of calls.
            trial: The mistake, if it changes weights.

        Returns:
            The difference relative to the scale; None if the change does not explain all outputs.
        """
        if any(c.verdict == "fail" for c in self._compared({self.draw: rerun}, [self.draw])):
            return None
        reruns = {self.draw: rerun}
        for draw in range(len(self.evidence.draws)):
            again = reruns.get(draw) or self._rerun(draw, changes, trial)
            if again is None:
                return None
            reruns[draw] = again
        changed = self._compared(reruns)
        if not confirms(self.without, changed):
            return None
        return max((c.difference for c in changed if c.verdict == "pass"), default=0.0)

    def _needed(self, changes: Sequence[Change], trial: Trial | None = None) -> tuple[bool, ...]:
        """Return for each earlier mistake whether torch differs from JAX without it."""
        mistakes, needed = self.evidence.mistakes, []
        for k in range(len(mistakes)):
            others = Mistakes((*mistakes[:k], *mistakes[k + 1 :])).joined
            rerun = self._rerun(self.draw, changes, trial, others)
            needed.append(rerun is None or not self._agrees(rerun))
        return tuple(needed)

    def _repaired(
        self, changes: Sequence[Change], rerun: TorchRun, trial: Trial | None = None
    ) -> list[str]:
        """Return the names of outputs that agree with JAX's only after a change, on every draw.

        There are none if the change alters another output, or if `acceptance` would not confirm
        that it explains these.
        """
        if len(self.run.outputs) == 1 or (trial is not None and trial.partial):
            return []
        wrong = [c for c in self.without if c.verdict == "fail"]
        reruns = {self.draw: rerun}
        first = {c.of: c.verdict for c in self._compared(reruns, [self.draw])}
        if all(first.get(c.of, "fail") == "fail" for c in wrong):
            return []
        for draw in range(len(self.evidence.draws)):
            again = reruns.get(draw) or self._rerun(draw, changes, trial)
            if again is None:
                return []
            reruns[draw] = again
        after = {c.of: c for c in self._compared(reruns)}
        left = {c.name for c in after.values() if c.verdict == "fail"}
        fixed = [c for c in wrong if c.name not in left]
        new = left - {c.name for c in wrong}
        if new or not confirms(fixed, [after[c.of] for c in fixed]):
            return []
        return [*dict.fromkeys(c.name.removeprefix(f"{STATE}/") for c in fixed)]

    def _changes_nothing(self, rerun: TorchRun) -> bool:
        """Whether a rerun has torch's outputs: a port may mask with another large number."""
        drawn = self.evidence.drawn[self.draw]
        outputs = [np.asarray(x) for x in rerun.outputs.values()]
        shapes = [np.shape(x) for x in drawn.run.outputs.values()]
        return [x.shape for x in outputs] == shapes and drawn.agrees(outputs)

    def _agrees(self, rerun: TorchRun) -> bool:
        """Whether all outputs of a rerun agree with JAX's, and rounding hides none of them."""
        compared = self._compared({self.draw: rerun}, [self.draw])
        return all(c.verdict in AGREES for c in compared)

    def in_time(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """Yield trials as long as the proof has time for a search."""
        for trial in trials:
            if not self.evidence.may_search(trial.difference.says(self.evidence.reference)):
                self.cut = True
                return
            yield trial

    def told_apart(self, found: Sequence[Tested]) -> list[Tested]:
        """Leave out the mistakes with which torch differs from JAX on larger numbers, or by more.

        A relu and a relu6 are equal on small numbers, and 1e-12 is nearly nothing. Mistakes that
        explain all outputs are compared by these, and others by the value that they explain.
        """
        least = min(tested.rest for tested in found)
        found = [tested for tested in found if tested.rest <= max(MARGIN * least, _ROUNDING)]
        if len(found) == 1:
            return found
        side, port = self.evidence.torch_side, self.evidence.port
        larger = enlarged(self.evidence.draws[self.draw], side.flags)
        kept = []
        try:
            watched = port.watch(larger)
        except Exception:  # the port does not accept these numbers
            return list(found)
        _, prints = evaluation.spots(watched.prints)
        for tested in found:
            rerun = self._rerun(larger, tested.changes, tested.trial)
            if rerun is None:  # torch does not accept them
                kept.append(tested)
            elif tested.complete:
                pairs = zip(rerun.outputs.values(), watched.outputs, strict=False)
                if all(np.size(x) == np.size(y) and _close(x, y) for x, y in pairs):
                    kept.append(tested)
            elif _among(rerun.values[tested.trial.value], prints):
                kept.append(tested)
        return kept or list(found)

    @property
    def _draws(self) -> list[int]:
        """The numbers of the draws, that of the search first."""
        every = range(len(self.evidence.draws))
        return sorted(every, key=lambda draw: draw != self.draw)

    def _compared(
        self,
        reruns: Mapping[int, TorchRun],
        draws: Sequence[int] | None = None,
        changed: Mapping[int, Sequence[np.ndarray]] | None = None,
    ) -> list[Compared]:
        """Compare the outputs of torch, or of its reruns, with JAX's, or with `changed` ones."""
        evidence, found = self.evidence, []
        for draw in range(len(evidence.draws)) if draws is None else draws:
            drawn = evidence.drawn[draw]
            outputs = (changed or {}).get(draw, evidence.jax_runs[draw].outputs)
            run = reruns.get(draw, drawn.run)
            for (name, x), y in zip(run.outputs.items(), outputs, strict=False):
                if np.size(x) != np.size(y):
                    low, high, _ = UNKNOWN
                    label = name or "output"
                    found.append(Compared(label, "fail", math.inf, low, high, draw=draw))
                    continue
                expected = drawn.run.outputs[name]
                near = [r.outputs[name] for r in drawn.reruns if np.shape(x) == np.shape(expected)]
                noise = [max_difference(expected, other) for other in near]
                actual, most = np.reshape(y, np.shape(x)), drawn.most_rounding
                judged = judge(name or "output", x, actual, noise, most=most)
                (judged,) = evidence.waivers.apply("forward", [judged])
                found.append(compared(judged, range_of(np.asarray(y)), draw=draw))
        return found

    def _advances(self, trial: Trial, rerun: TorchRun | None, draw: int) -> bool:
        """Whether a value that depends on the changed one now occurs in the JAX program."""
        if rerun is None or len(rerun.values) != len(self.run.values):
            return False
        start = trial.called
        changed, same = {start}, {start}
        for j, value in enumerate(rerun.values[start + 1 :], start + 1):
            if not changed & set(value.inputs):
                continue
            changed.add(j)
            equal = print_distance(value.print, rerun.values[start].print) < SAME
            if same & set(value.inputs) and (equal or value.op in (*MOVES, "result", "contiguous")):
                same.add(j)  # a view or a part of the changed value
            elif trial.partial and value.op in _REORDERED:
                continue  # a correct port may add the same terms in another order
            elif not _by_chance(value) and self._visible(value, draw):
                return True
        return False

    def _visible(self, value: Value, draw: int) -> bool:
        return _among(value, self.prints_of[draw])


def _by_chance(value: Value) -> bool:
    """Whether JAX may have a value by chance: a constant, or a mask with as many ones."""
    return bool(is_constant(value.print)) or is_mask(value.print)


def _promoted(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without the leading ones that broadcasting adds."""
    return tuple(itertools.dropwhile(lambda size: size == 1, shape))


def _same_place(value: Value, calls: Sequence[Value]) -> set[int]:
    """Return the calls that are, in each module, the one that a call is in its module."""
    modules: dict[str, list[int]] = {}
    for other in calls:
        modules.setdefault(other.module, []).append(other.call_number)
    own = modules.get(value.module, [])
    place = own.index(value.call_number) if value.call_number in own else 0
    return {numbers[place] for numbers in modules.values() if len(numbers) == len(own)}


def _in_turn(streams: Sequence[Iterator[Trial | None]]) -> Iterator[Trial]:
    for group in itertools.zip_longest(*streams):
        yield from (trial for trial in group if trial is not None)


def _among(value: Value, prints: np.ndarray) -> bool:
    """Whether a torch value is among those with some fingerprints."""
    return bool(np.min(print_distance(value.print, prints), initial=np.inf) < SAME)


def guesses(evidence: Evidence, draw: int, origins: Origins, limit: int = 12) -> Iterator[Guess]:
    """Rerun the first unmatched torch calls with mistakes, and yield those that agree with JAX.

    Args:
        evidence: All runs.
        draw: The draw of weights and inputs on which torch is rerun.
        origins: Function from torch values that the port merges into others (a bias into a sum)
            to the remaining values at which the difference may begin.
        limit: The largest number of origins that are tested.

    Yields:
        Mistakes that explain a value or all outputs; then where the difference begins, unless
        torch has no candidate.
    """
    search = Search(evidence, draw)
    starts = search.starts
    terms = itertools.islice(search.without_terms(origins(frozenset())[:limit]), _TERMS)
    updates = filter(None, [trials.before_updates(search.run)])
    for trial in search.in_time(itertools.chain(updates, terms)):
        tested = search.tested(trial)
        if tested is not None and tested.complete:
            yield _guess(search, [tested])
    multiples: list[Guess] = []
    while fresh := [i for i in origins(search.merged) if i not in starts][:limit]:
        starts += fresh
        for i in fresh:
            found = _agreeing(search, search.visible_trials(i))
            if found:
                guess = _guess(search, search.of_integers(i, found))
                # A mistake in an operand (the divisor of a deviation) may multiply the result.
                if guess.scales:
                    multiples.append(guess)
                else:
                    yield guess
    yield from multiples
    del starts[limit:]
    found = _agreeing(search, search.scaled_weights(starts))
    if found:
        yield _guess(search, found)
    later = search.after(starts, limit)
    skipping: list[Trial] = []  # without one call, which is told as a call that is missing
    operands: list[Tested] = []  # with another operand torch has one value of JAX, not all outputs
    orders = (trial for i in starts for trial in trials.reordered(search.run, i))
    for trial in search.in_time(search.rewired(search.lost(starts))):
        if search.left_out(trial) is not None:
            skipping.append(trial)
            continue
        tested = search.tested(trial)
        if tested is not None and tested.complete:
            yield _guess(search, _with_alternatives(search, tested))
        elif tested is not None:
            operands.append(tested)
    averages = (
        trial
        for i in (*starts, *later)
        for trial in (
            *trials.averages(search.run, i, search.numbers),
            *trials.without_masks(search.run, i),
            *trials.eps_inside(search.run, i),
        )
    )
    tables = (trial for i in search.constants(starts) for trial in search.visible_trials(i))
    shuffled: list[Trial] = []  # is filled while the results that are only transposed are tried
    transposed = _transposed(search.shuffled(starts), shuffled)
    swaps = search.exchanged(starts)
    hidden = (trial._replace(whole=True) for trial in search.hidden(starts))
    first, then = map(search.all_trials, (starts, later))
    near = itertools.chain(
        search.exchanged_reads(),
        search.shared_masks(),
        search.inner_stops(starts),
        search.moved(starts),
        search.other_indices(starts[:_NEAR]),
    )
    others = itertools.chain(
        orders, averages, tables, transposed, swaps, hidden, first, shuffled, then, skipping
    )
    before = search.other_indices([*starts, *search.operands(starts)])
    in_turn = _in_turn([search.paired(starts), search.discrete(starts), others, before])
    last = search.other_indices([*starts, *search.operands(starts)], operands=True)
    for trial in search.in_time(itertools.chain(near, in_turn, last)):
        tested = search.tested(trial)
        if tested is not None:
            found = search.of_integers(trial.value, _with_alternatives(search, tested))
            yield _guess(search, found)
        else:
            search.tried[trial.difference] = None
    for tested in operands:
        yield _guess(search, _with_alternatives(search, tested))
    left = origins(search.merged) or starts
    if left:
        line = search.run.values[left[0]].line
        tried = tuple(x.says(evidence.reference) for x in search.tried)
        yield Guess(left[0], None, tried=tried, line=line)


def _transposed(shuffled: Iterable[Trial], others: list[Trial]) -> Iterator[Trial]:
    """Yield the trials that transpose a computed value, and append the others to a list."""
    for trial in shuffled:
        if trial.transposes:
            yield trial
        else:
            others.append(trial)


def enlarged(draw: Draw, parameters: Collection[str]) -> Draw:
    """Return a draw with larger floating inputs and parameters."""

    def larger(x: Any) -> Any:
        return x * _LARGER if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else x

    state = replaced(draw.state, {name: larger(draw.state[name]) for name in parameters})
    return dataclasses.replace(draw, state=state, inputs=map_leaves(larger, draw.inputs))


def _close(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether the finite elements of two outputs agree, of which there must be one."""
    y = np.reshape(y, np.shape(x))
    finite = np.isfinite(x) & np.isfinite(y)
    return bool(finite.any()) and bool(np.allclose(x[finite], y[finite], rtol=1e-9, atol=0))


def _with_alternatives(search: Search, tested: Tested) -> list[Tested]:
    """Return a mistake, and the others in the same call that explain as much.

    A call that is missing needs no other name, such as the absolute value of a positive operand.
    """
    if not tested.changes or tested.trial.partial:
        return [tested]
    trial = tested.trial
    if trial.discrete is None:
        every = search.in_call(trial.called, tested.occurs)
    else:
        same, result = trial.discrete.call, trial.discrete.result  # which JAX has
        every = (
            other
            for other in search.discrete(search.starts)
            if (found := other.discrete)
            and found.call is same
            and np.array_equal(found.result, result)
        )
    return _agreeing(
        search, (other for other in every if other.difference != trial.difference), tested
    )


def _agreeing(search: Search, trials: Iterable[Trial], *first: Tested) -> list[Tested]:
    """Return the mistakes that explain all outputs, or else those that explain one value."""
    found = [*first]
    for trial in search.in_time(trials):
        tested = search.tested(trial)
        if tested is None:
            search.tried[trial.difference] = None
            if trial.partial and not trial.operand:
                search.merged.add(trial.value)
        elif tested.complete or not found or _alike(tested.trial, found[0].trial):
            found.append(tested)
            if sum(other.complete and not other.trial.general for other in found) == _ALTERNATIVES:
                break
    found = [tested for tested in found if tested.complete] or found
    least = min((tested.trial.general for tested in found), default=0)
    found = [tested for tested in found if tested.trial.general == least]
    return search.told_apart(found) if len(found) > 1 else found


def _alike(one: Trial, other: Trial) -> bool:
    """Whether two mistakes explain the same value of JAX, by changing the same call of torch."""
    return (one.value, one.changed, one.row) == (other.value, other.changed, other.row)


def _with_weights(draw: Draw, trial: Trial) -> Draw:
    """Return a draw in which weights take each other's place, or are multiplied by a number."""
    if not (trial.exchanged or trial.factors):
        return draw
    state = dict(draw.state)
    for a, b in trial.exchanged:
        state[a], state[b] = draw.state[b], draw.state[a]
    for name, factor in trial.factors:
        state[name] = draw.state[name] * factor
    return dataclasses.replace(draw, state=state)


def _guess(search: Search, found: Sequence[Tested]) -> Guess:
    trial, changes, result, complete, needed, *_ = found[0]
    key = trial.key if trial.row is None else search.spot(trial.row).key
    if trial.shapes:
        key = None  # the programs differ where the operands are first used, and not at the result
    value, spot = trial.value, None
    if trial.changed not in (-1, trial.value):
        # A call that only moves elements, so that JAX has all of them.
        spot = search.evidence.alignments[search.draw].spot(trial.changed)
    if key is None:
        value = value if spot is None else trial.changed
        key = search.result_of(trial, changes) if trial.general == INDEX else None
        key = spot.key if key is None and spot is not None else key
    evidence, differences = search.evidence, [tested.trial.difference for tested in found]
    texts = [x.says(evidence.reference) for x in differences]
    tried = tuple(x.says(evidence.reference) for x in search.tried if x not in differences)
    line = search.run.values[trial.called].line
    if trial.discrete is not None:
        line = trial.discrete.call.line
    if not complete and trial.unread >= 0 and not search.has(trial.unread):
        # JAX reads another value than torch, and does not compute torch's: it differs before.
        value, key, line = search.starts[0], None, search.run.values[search.starts[0]].line
        result = result.replace("here", "there")
    one = len(set(differences)) == 1
    alone = one and not search.cut
    tested = trial.tested if one else "rerunning torch with any of these changes"
    rest = UNTRIED if one and complete and search.cut else ""
    return Guess(
        value,
        key,
        either(texts),
        f"{tested} reproduces {result}{rest}",
        trial.fix if alone else ("", ""),
        tried,
        line,
        complete,
        needed,
        alone,
        changes,
        trial.partial,
        complete or trial.row is not None,
        trial.write if alone else InTorch(),
        trial.general == MULTIPLE,
        None if trial.discrete is None else trial.discrete.call,
    )


def _numbers(evidence: Evidence, draw: int) -> tuple[float, ...]:
    """Return the numbers in the JAX program, first those where the programs begin to differ.

    Those that torch's calls do not contain come before the others.
    """
    known = {abs(x) for x in evidence.port.program.numbers}
    near = {abs(float(x)) for eqn in _first_lost(evidence, draw) for x in numbers_of(eqn)}
    numbers = literals(evidence.port.program.jaxpr)
    return tuple(sorted(numbers, key=lambda x: (abs(x) not in near, abs(x) in known))[:_NUMBERS])


def _first_lost(evidence: Evidence, draw: int) -> list[Any]:
    """Return the equations of JAX whose results torch lacks, where it has all that they read."""
    flow, known = evidence.flow, evidence.alignments[draw].known_in_each_iteration
    found = []
    for (path, output), parents in flow.parents.items():
        equal = [p in known or leaf_of(p) is not None for p in parents]
        if (path, output) not in known and equal and all(equal):
            found.append(flow.program.equations[path])
    return found
