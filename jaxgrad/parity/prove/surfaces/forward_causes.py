"""Explain a wrong value: rerun torch with a common mistake in one call, and compare with JAX."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import is_constant, print_distance
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side import evaluation
from jaxgrad.parity.prove.jax_side.program import Key, Spot
from jaxgrad.parity.prove.judge import judge, max_difference
from jaxgrad.parity.prove.mistakes.call import TorchCall
from jaxgrad.parity.prove.mistakes.table import results, variants
from jaxgrad.parity.prove.mistakes.views import MOVES
from jaxgrad.parity.prove.surfaces.numbers import SAME, as_written, find, find_multiple
from jaxgrad.parity.prove.torch_side.values import Change, TorchRun, Value


_WORK = 2e8  # recorded numbers in all reruns of torch together
_REORDERED = ("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "sum")
_RERUNS = 200
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


class Trial(NamedTuple):
    """One mistake in the call that computed a torch value."""

    value: int
    number: int  # among the call's mistakes
    mistake: TorchCall
    row: int | None  # the JAX value that equals the call's wrong result
    factor: float = 1.0
    shown: int = -1  # the value at which the mistake shows, if this is not `value`


class Search:
    """The mistakes in some torch calls, tested on one draw of weights and inputs."""

    def __init__(self, evidence: Evidence, draw: int):
        self.evidence, self.draw = evidence, draw
        self.run: TorchRun = evidence.torch_side.run(
            evidence.draws[draw], keep=True, opened=evidence.opened
        )
        self.spots, prints = evaluation.spots(evidence.jax_runs[draw].prints)
        alignment = evidence.alignment
        known = {k for i in range(len(alignment.first)) for k in alignment.matches(i)}
        self.new = np.array([k for k in range(len(self.spots)) if k not in known], np.int64)
        self.prints = prints[self.new]  # of the JAX values that do not occur in torch
        size = sum(float(value.print[0]) for value in self.run.values)
        self.left = int(min(_RERUNS, max(8.0, _WORK / max(size, 1.0))))
        self.tried: dict[str, None] = {}
        self.merged: set[int] = set()  # values of which JAX has a part: a correct port may merge

    def spot(self, row: int) -> Spot:
        """Return the JAX value of a row of `prints`."""
        return self.spots[int(self.new[row])]

    def visible_trials(self, i: int) -> Iterator[Trial]:
        """Yield the mistakes whose result occurs in the JAX program, surest first."""
        value = self.run.values[i]
        if value.call is None or value.data is None or _in_place(value):
            return
        partial = []
        for n, wrong, x in results(TorchCall(*value.call, value.op)):
            row = None if np.array_equal(x, value.data) else find(x, self.prints)
            self.tried[wrong.mistake] = None
            if row is not None and not wrong.partial:
                yield Trial(i, n, wrong, row)
            elif row is not None:
                partial.append(Trial(i, n, wrong, row))
        yield from partial
        multiple = self.multiple(i)
        if multiple is not None and not self.confirmed(multiple):
            self.merged.add(i)

    def multiple(self, i: int) -> Trial | None:
        """Return the trial that scales a value, if JAX has a multiple of it."""
        value = self.run.values[i]
        if value.call is None or value.data is None:
            return None
        multiple = find_multiple(value.data, self.prints)
        if multiple is None:
            return None
        text = f"JAX's value is torch's times {as_written(multiple[1])}"
        return Trial(i, -1, TorchCall(*value.call, value.op, text), *multiple)

    def all_trials(self, starts: Sequence[int]) -> Iterator[Trial]:
        """Yield every mistake in the calls of some values, one of each call in turn."""
        streams = [self._trials(i) for i in starts]
        streams += [self._trials(k, i) for i in starts for k in self._moves(i)]
        for group in itertools.zip_longest(*streams):
            yield from (trial for trial in group if trial is not None and self.left > 0)

    def _trials(self, i: int, shown: int = -1) -> Iterator[Trial]:
        value = self.run.values[i]
        for n, wrong in enumerate(_safe_variants(value)) if value.call is not None else ():
            yield Trial(i, n, wrong, None, shown=shown)

    def _moves(self, i: int, depth: int = 4) -> list[int]:
        """Return the calls before a value that only move elements, the nearest first."""
        values, near = self.run.values, [i]
        for k in near:
            near += [j for j in values[k].inputs if values[j].op in MOVES and j not in near]
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
        value, ops = self.run.values[trial.value], [v.op for v in self.run.values]
        single = Change(value.call_number, _changed(trial, value))
        rerun = self._rerun([single])
        if rerun is None:
            return ""
        if self._outputs_agree(rerun):
            return "JAX's outputs"
        if len(rerun.values) == len(self.run.values) and self._advances(trial, rerun):
            return "JAX's value"
        if trial.number < 0 or trial.mistake.partial or not 1 < ops.count(value.op) <= _CALLS:
            return ""
        others = [v for v in self.run.values if v.op == value.op and v.call_number >= 0]
        rerun = self._rerun([Change(v.call_number, _changed_alike(trial, v)) for v in others])
        if rerun is not None and self._outputs_agree(rerun):
            return f"JAX's outputs if all {len(others)} calls of {value.op} are changed"
        return ""

    def _rerun(self, changes: Sequence[Change]) -> TorchRun | None:
        """Rerun torch with some calls changed, or return None if that is impossible."""
        if self.left <= 0:
            return None
        self.left -= 1
        draw, opened = self.evidence.draws[self.draw], self.evidence.opened
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
        changed, same = {trial.value}, {trial.value}
        for j, value in enumerate(rerun.values[trial.value + 1 :], trial.value + 1):
            if not changed & set(value.inputs):
                continue
            changed.add(j)
            equal = print_distance(value.print, rerun.values[trial.value].print) < SAME
            if same & set(value.inputs) and (equal or value.op in (*MOVES, "result", "contiguous")):
                same.add(j)  # a view or a part of the changed value
            elif trial.mistake.partial and value.op in _REORDERED:
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
    starts: list[int] = []
    while any(i not in starts for i in origins(search.merged)):
        fresh = [i for i in origins(search.merged) if i not in starts][:limit]
        starts += fresh
        for trial in (trial for i in fresh for trial in search.visible_trials(i)):
            agrees = search.confirmed(trial)
            if agrees:
                return _guess(search, trial, agrees)
            search.tried[trial.mistake.mistake] = None
            if trial.mistake.partial:
                search.merged.add(trial.value)
    starts = starts[:limit]
    for trial in itertools.chain(*map(search.all_trials, (starts, search.after(starts, limit)))):
        agrees = search.confirmed(trial)
        if agrees:
            return _guess(search, trial, agrees)
        search.tried[trial.mistake.mistake] = None
    for trial in filter(None, map(search.multiple, starts)):
        agrees = search.confirmed(trial)
        if agrees:
            return _guess(search, trial, agrees)
    rest = origins(search.merged) or starts
    if not rest:
        return None
    return Guess(rest[0], None, tried=tuple(search.tried), line=search.run.values[rest[0]].line)


def _guess(search: Search, trial: Trial, agrees: str) -> Guess:
    wrong = trial.mistake
    if wrong.setting == "skip":
        tested = f"skipping it in torch reproduces {agrees}"
    elif trial.number < 0:
        tested = f"scaling it in torch reproduces {agrees}"
    else:
        tested = f"rerunning torch with {wrong.setting} reproduces {agrees}"
    key = None if trial.row is None else search.spot(trial.row).key
    tried = tuple(text for text in search.tried if text != wrong.mistake)
    line = search.run.values[trial.value].line
    shown = trial.value if trial.shown < 0 else trial.shown
    return Guess(shown, key, f"{wrong.mistake} ({tested})", wrong.fix, tried, line)


def _in_place(value: Value) -> bool:
    """Whether the call changed its operand, which is then no longer what the call read."""
    func = value.call[0] if value.call is not None else None
    name = getattr(func, "__name__", "")
    return name.endswith("_") and not name.startswith("__")


def _safe_variants(value: Value) -> Iterator[TorchCall]:
    assert value.call is not None
    if _in_place(value):
        func, (x, *args), kwargs = value.call
        yield from variants(TorchCall(_out_of_place(func), (x, *args), kwargs, value.op))
    else:
        yield from variants(TorchCall(*value.call, value.op))


def _out_of_place(func: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: func(x.clone(), *args, **kwargs)


def _changed(trial: Trial, value: Value) -> Callable[..., Any]:
    """Return the function that replaces the call: it makes the same mistake with live operands."""
    in_place, op = _in_place(value), value.op

    def call(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        plain = _out_of_place(func) if in_place else func
        if trial.number < 0:
            out = plain(*args, **kwargs) * trial.factor
        else:
            live = TorchCall(plain, args, kwargs, op)
            out = next(itertools.islice(variants(live), trial.number, None)).result
        return args[0].copy_(out) if in_place else out

    return call


def _changed_alike(trial: Trial, value: Value) -> Callable[..., Any]:
    """Return the function that makes the same mistake in another call, if it applies there."""
    in_place, op = _in_place(value), value.op

    def call(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        live = TorchCall(_out_of_place(func) if in_place else func, args, kwargs, op)
        same = (wrong for wrong in variants(live) if wrong.mistake == trial.mistake.mistake)
        wrong = next(same, None)
        if wrong is None:
            return func(*args, **kwargs)
        return args[0].copy_(wrong.result) if in_place else wrong.result

    return call
