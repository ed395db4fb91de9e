"""Explain a wrong value: rerun torch with a common mistake in one call, and compare with JAX."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import is_constant, print_distance
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side import evaluation
from jaxgrad.parity.prove.jax_side.program import Key, Spot, literals
from jaxgrad.parity.prove.judge import judge, max_difference
from jaxgrad.parity.prove.mistakes.cells import GATES
from jaxgrad.parity.prove.mistakes.views import MOVES
from jaxgrad.parity.prove.surfaces import exchanges, trials
from jaxgrad.parity.prove.surfaces.numbers import SAME, find, find_multiple
from jaxgrad.parity.prove.surfaces.trials import Trial
from jaxgrad.parity.prove.torch_side.values import Change, TorchRun, Value


_WORK = 2e8  # recorded numbers in all reruns of torch together
_REORDERED = ("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "sum")
_RERUNS = 200
_NUMBERS = 24
_LOST = 64
_MOVES = MOVES | set(GATES)  # calls whose result has the same elements in another order
_CALLS = 64  # of one function, which are changed together


Origins = Callable[[Set[int]], list[int]]


class Guess(NamedTuple):
    """A mistake that makes torch compute what JAX computes."""

    value: int  # index of the torch value
    key: Key | None  # the JAX value
    text: str = ""  # empty if no mistake explains the difference
    fix: tuple[str, str] = ("", "")  # what the JAX code contains, and what it should contain
    tried: tuple[str, ...] = ()  # the mistakes that do not explain the difference
    line: str = ""  # file:line of the call in torch's code


class Search:
    """The mistakes in some torch calls, tested on one draw of weights and inputs."""

    def __init__(self, evidence: Evidence, draw: int):
        self.evidence, self.draw = evidence, draw
        self.run: TorchRun = evidence.torch_side.run(
            evidence.draws[draw], keep=True, opened=evidence.opened
        )
        self.spots, prints = evaluation.spots(evidence.jax_runs[draw].prints)
        alignment = evidence.alignments[draw]
        self.visible = alignment.visible
        known = {k for i in range(len(alignment.first)) for k in alignment.matches(i)}
        self.new = np.array([k for k in range(len(self.spots)) if k not in known], np.int64)
        self.prints = prints[self.new]  # of the JAX values that do not occur in torch
        self.numbers = _only_in_jax(evidence)
        size = sum(float(value.print[0]) for value in self.run.values)
        self.left = int(min(_RERUNS, max(8.0, _WORK / max(size, 1.0))))
        self.tried: dict[str, None] = {}
        self.starts: list[int] = []  # values at which the difference may begin
        self.merged: set[int] = set()  # values of which JAX has a part: a correct port may merge

    def spot(self, row: int) -> Spot:
        """Return the JAX value of a row of `prints`."""
        return self.spots[int(self.new[row])]

    def visible_trials(self, i: int) -> Iterator[Trial]:
        """Yield the mistakes whose result occurs in the JAX program, surest first."""
        value = self.run.values[i]
        if value.call is None or value.data is None or trials.in_place(value):
            return
        partial = []
        for trial, x in trials.with_results(self.run, i, self.numbers):
            row = None if np.array_equal(x, value.data) else find(x, self.prints)
            self.tried[trial.text] = None
            if row is not None and not trial.partial:
                yield trial._replace(row=row)
            elif row is not None:
                partial.append(trial._replace(row=row))
        yield from self.rewired([i])
        yield from trials.reordered(self.run, i) if partial else ()
        yield from partial
        multiple = self.multiple(i)
        if multiple is not None and not self.confirmed(multiple):
            self.merged.add(i)

    def rewired(self, numbers: Iterable[int]) -> Iterator[Trial]:
        """Yield the calls whose result occurs in JAX if they read another value."""
        for i in numbers:
            for trial, x in trials.rewired(self.run, i, self.visible):
                row = find(x, self.prints)
                if row is not None:
                    yield trial._replace(row=row)

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

    def multiple(self, i: int) -> Trial | None:
        """Return the trial that scales a value, if JAX has a multiple of it."""
        value = self.run.values[i]
        if value.call is None or value.data is None:
            return None
        multiple = find_multiple(value.data, self.prints)
        return None if multiple is None else trials.scaled(self.run, i, *multiple)

    def operands(self, starts: Iterable[int]) -> list[int]:
        """Return the values that `starts` read, of which JAX may read a multiple."""
        return [k for i in starts for k in self.run.values[i].inputs]

    def all_trials(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield every mistake in the calls of some values, one of each call in turn."""
        streams = [trials.in_call(self.run, i, self.numbers) for i in starts]
        streams += [
            trials.in_call(self.run, k, self.numbers, i) for i in starts for k in self._moves(i)
        ]
        for group in itertools.zip_longest(*streams):
            yield from (trial for trial in group if trial is not None and self.left > 0)

    def exchanged(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield the exchanges of weights that calls around `starts` read."""
        near = {*starts, *self.after(starts, len(self.run.values))}
        for _ in range(2):
            near |= {k for i in near for k in self.run.values[i].inputs}
        yield from exchanges.exchanged(self.run, self.evidence.port.weights.shapes, starts, near)

    def scaled_weights(self, starts: Iterable[int]) -> Iterator[Trial]:
        """Yield the weights of which JAX has a multiple, at the calls that read them."""
        state = self.evidence.draws[self.draw].state
        for i in starts:
            for name in self.run.values[i].weights:
                multiple = find_multiple(np.asarray(state[name]), self.prints)
                if multiple is not None:
                    yield trials.scaled_weight(i, name, *multiple)

    def _moves(self, i: int, depth: int = 4) -> list[int]:
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

    def confirmed(self, trial: Trial) -> str:
        """Rerun torch with a mistake, and describe what it then has in common with JAX, or "".

        A later value or the outputs must agree too: a correct port may well compute what a
        mistake computes (a product without its bias) on the way to the right result.
        """
        rerun = self._rerun(trial.changes, trial.exchanged, trial.factors)
        if rerun is None:
            return ""
        if self._outputs_agree(rerun):
            return "JAX's outputs"
        if len(rerun.values) == len(self.run.values) and self._advances(trial, rerun):
            return "JAX's value"
        ops = [v.op for v in self.run.values]
        op = self.run.values[trial.value if trial.changed < 0 else trial.changed].op
        changes = trial.everywhere() if 1 < ops.count(op) <= _CALLS else ()
        rerun = self._rerun(changes) if changes else None
        if rerun is not None and self._outputs_agree(rerun):
            return f"JAX's outputs if all {ops.count(op)} calls of {op} are changed"
        first = {self.run.values[i].call_number for i in self.starts}
        some = [change for change in changes if change.number in first]
        rerun = self._rerun(some) if 1 < len(some) < len(changes) else None
        if rerun is not None and self._outputs_agree(rerun):
            return f"JAX's outputs if {len(some)} of {ops.count(op)} calls of {op} are changed"
        return ""

    def _rerun(
        self,
        changes: Sequence[Change],
        exchanged: Sequence[tuple[str, str]] = (),
        factors: Sequence[tuple[str, float]] = (),
    ) -> TorchRun | None:
        """Rerun torch with some calls or weights changed, or return None if that is impossible."""
        if self.left <= 0:
            return None
        self.left -= 1
        draw, opened = self.evidence.draws[self.draw], self.evidence.opened
        if exchanged or factors:
            state = dict(draw.state)
            for a, b in exchanged:
                state[a], state[b] = draw.state[b], draw.state[a]
            for name, factor in factors:
                state[name] = draw.state[name] * factor
            draw = dataclasses.replace(draw, state=state)
        try:
            return self.evidence.torch_side.run(draw, changes=changes, forward=True, opened=opened)
        except Exception:  # the mistake makes a later call impossible
            return None

    def _outputs_agree(self, rerun: TorchRun) -> bool:
        drawn = self.evidence.drawn[self.draw]
        outputs = self.evidence.jax_runs[self.draw].outputs
        for (name, x), y in zip(rerun.outputs.items(), outputs, strict=False):
            if np.size(x) != np.size(y):
                return False
            expected = drawn.run.outputs[name]
            noise = [max_difference(expected, near.outputs[name]) for near in drawn.reruns]
            if judge(name, x, np.reshape(y, np.shape(x)), noise).verdict == "fail":
                return False
        return True

    def _advances(self, trial: Trial, rerun: TorchRun) -> bool:
        """Whether a value that depends on the changed one now occurs in the JAX program."""
        start = trial.value if trial.changed < 0 else trial.changed
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
            elif not is_constant(value.print) and self._visible(value):
                return True
        return False

    def _visible(self, value: Value) -> bool:
        off = print_distance(value.print, self.prints)
        return bool(np.min(off, initial=np.inf) < SAME)


def guess(evidence: Evidence, draw: int, origins: Origins, limit: int = 12) -> Guess | None:
    """Rerun the first unmatched torch calls with mistakes until the result agrees with JAX's.

    Args:
        evidence: All runs.
        draw: The draw of weights and inputs on which torch is rerun.
        origins: Function from torch values that the port merges into others (a bias into a sum)
            to the remaining values at which the difference may begin.
        limit: The largest number of origins that are tested.

    Returns:
        The mistake, or where the difference begins if no mistake explains it; None if torch has
        no candidate.
    """
    search = Search(evidence, draw)
    starts = search.starts
    while any(i not in starts for i in origins(search.merged)):
        fresh = [i for i in origins(search.merged) if i not in starts][:limit]
        starts += fresh
        visible = (trial for i in fresh for trial in search.visible_trials(i))
        for trial in _in_time(evidence, visible):
            agrees = search.confirmed(trial)
            if agrees:
                return _guess(search, trial, agrees)
            search.tried[trial.text] = None
            if trial.partial:
                search.merged.add(trial.value)
    del starts[limit:]
    for trial in _in_time(evidence, search.scaled_weights(starts)):
        agrees = search.confirmed(trial)
        if agrees:
            return _guess(search, trial, agrees)
        search.tried[trial.text] = None
    later = search.after(starts, limit)
    orders = (trial for i in starts for trial in trials.reordered(search.run, i))
    operands = search.rewired(search.lost(starts))
    tables = (trial for i in search.constants(starts) for trial in search.visible_trials(i))
    calls = itertools.chain(*map(search.all_trials, (starts, later)))
    rest = itertools.chain(orders, tables, search.exchanged(starts), calls, operands)
    for trial in _in_time(evidence, rest):
        agrees = search.confirmed(trial)
        if agrees:
            return _guess(search, trial, agrees)
        search.tried[trial.text] = None
    scaled = dict.fromkeys([*starts, *search.operands(starts)])
    for trial in _in_time(evidence, filter(None, map(search.multiple, scaled))):
        agrees = search.confirmed(trial)
        if agrees:
            return _guess(search, trial, agrees)
    left = origins(search.merged) or starts
    if not left:
        return None
    return Guess(left[0], None, tried=tuple(search.tried), line=search.run.values[left[0]].line)


def _in_time(evidence: Evidence, trials: Iterable[Trial]) -> Iterator[Trial]:
    """Yield trials as long as the proof has time for a search."""
    return itertools.takewhile(lambda trial: evidence.may_search(trial.text), trials)


def _guess(search: Search, trial: Trial, agrees: str) -> Guess:
    key = None if trial.row is None else search.spot(trial.row).key
    value, spot = trial.value, None
    if trial.changed not in (
        -1,
        trial.value,
    ):  # a call that only moves elements, so that JAX has all of them
        spot = search.evidence.alignments[search.draw].spot(trial.changed)
    if spot is not None and key is None:
        value, key = trial.changed, spot.key
    tried = tuple(text for text in search.tried if text != trial.text)
    line = search.run.values[trial.value if trial.changed < 0 else trial.changed].line
    return Guess(
        value,
        key,
        f"{trial.text} ({trial.tested} reproduces {agrees})",
        trial.fix,
        tried,
        line,
    )


def _only_in_jax(evidence: Evidence) -> tuple[float, ...]:
    """Return the numbers in the JAX program that torch's calls do not contain."""
    known = {abs(x) for x in evidence.port.program.numbers}
    numbers = [x for x in literals(evidence.port.program.jaxpr) if abs(x) not in known]
    return tuple(numbers[:_NUMBERS])
