"""The gradients of one draw, and the gates of the JAX program that are set to repair them."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jaxgrad._core.torch_versions import convention
from jaxgrad.parity.prove.causes import numbers, straight_through
from jaxgrad.parity.prove.causes.acceptance import Compared, compared, range_of, refusal
from jaxgrad.parity.prove.causes.straight_through import STOPS
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import Judged, judge
from jaxgrad.parity.prove.locate.compared import stopped
from jaxgrad.parity.prove.record.jax_side import gates
from jaxgrad.parity.prove.record.jax_side.flow import Origin, leaf_key, place
from jaxgrad.parity.prove.record.jax_side.gates import Gate, Gated
from jaxgrad.parity.prove.record.jax_side.port import Gradients
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.record.torch_side.values import Change, TorchRun
from jaxgrad.parity.prove.users import ProofError
from jaxgrad.parity.prove.wording import MADE
from jaxgrad.parity.ulp import scale_of


T = TypeVar("T")
_MOST_KEPT = 5e8  # bytes of the gradients that a search keeps
MOST = 48  # gates of one kind


class Explanation(NamedTuple):
    """A change of one program's backward pass after which gradients agree."""

    text: str
    fixed: frozenset[str]  # the gradients that agree only after the change
    complete: bool  # whether all gradients agree after it
    key: Key | None = None  # the equation in the JAX program
    through: tuple[str, ...] = ()  # the calls in the user's code, of the program that is changed
    fix: tuple[str, str] = ("", "")  # what the JAX code contains, and what it should contain
    settings: Mapping[Gate, float] = {}  # the change of the JAX program
    cotangents: Mapping[Key, np.ndarray] = {}  # of the compared values, if all gradients agree
    closed: tuple[Gate, ...] = ()  # the uses that stop_gradients in one line would close
    origin: Origin | None = None  # of the value whose gradient has to be stopped
    changes: tuple[Change, ...] = ()  # the change of torch, if it is not of the JAX program
    stops: bool = False  # whether a stop_gradient in JAX is the remedy
    confirmed: bool = False  # by the rule of `acceptance`, together with `rest`
    tested: str = ""  # how torch's stops were tested
    lines: tuple[str, ...] = ()  # torch's, where the gradient is stopped in one program alone
    stops_torch: bool = False  # whether torch has the stop
    places: int = 1  # of the port that this change and those confirmed with it are at
    repaired: frozenset[int] = frozenset()  # the values whose cotangents agree by it alone
    rest: tuple[Explanation, ...] = ()  # of further mistakes, which explain what this one does not

    @property
    def edit(self) -> tuple[tuple[str, str], tuple[Gate, ...]]:
        """The arguments of `quoted` that suggest an edit, which only a confirmed cause does."""
        return (self.fix, self.closed) if self.confirmed else (("", ""), ())


class Kept:
    """Results that a search may need again; those that need too much memory are not kept."""

    def __init__(self, most: float = _MOST_KEPT):
        self.left = most
        self.values: dict[Hashable, Any] = {}

    def value(
        self,
        key: Hashable,
        make: Callable[[], T],
        arrays: Callable[[T], Iterable[np.ndarray | None]],
    ) -> T:
        """Return a result that was kept, or compute it; `arrays` are those of its arrays."""
        if key in self.values:
            return self.values[key]
        made = make()
        size = sum(x.nbytes for x in arrays(made) if x is not None)
        if size <= self.left:
            self.left -= size
            self.values[key] = made
        return made


class Case:
    """The gradients of one draw, which of them differ, and the gates of the JAX program.

    Args:
        evidence: All runs.
        draw: The number of a draw on which a gradient differs.
    """

    def __init__(self, evidence: Evidence, draw: int):
        self.evidence, self.draw, self.run = evidence, draw, evidence.runs[draw]
        self.settings: Mapping[Gate, float] = {}  # of the JAX program, in every rerun
        self.changes: tuple[Change, ...] = ()  # of torch, in every rerun
        self.earlier = 0  # explanations that gave these settings and changes
        port, flow = evidence.port, evidence.flow
        torchs = evidence.torch_gradients(evidence.runs[draw])
        actual = evidence.by_torch_name(evidence.jax_gradients[draw])
        both = ((torchs[name], g) for name, g in actual.items() if name in torchs)
        self.not_finite = any(g is not None and numbers.not_finite(x, g)[0] for x, g in both)
        judged = evidence.judged_gradients[draw]
        names = {j.name for j in judged if j.verdict == "fail"} | {
            name for name, g in evidence.runs[draw].grads.items() if g is None
        }
        leaves = [leaf_key(i) for name in names for i in port.weights.leaves_of(name)]
        alignment = evidence.alignments[draw]
        values = [
            alignment.spots[k].key
            for i in detached_operands(evidence.runs[draw])
            for k in alignment.candidates[i][:4]
        ]
        self.stops = gates.stops(flow)[:MOST]
        self.uses = gates.uses(flow, [*leaves, *values])[: 2 * MOST]
        self.ties = gates.ties(flow)[:MOST]
        self.version = convention(evidence.torch_side.versions["torch"])
        self.versions = gates.versions(flow, self.version)[:MOST]
        self.repeated = gates.repeated(flow)[:MOST]
        self.straight = self._straight()
        self.unbounded = gates.unbounded(flow)[: 2 * MOST] if self.not_finite else []
        merged = [gate for group in self.repeated for gate in group]
        passing = [gate for group in self.straight.values() for gate in group]
        chosen = [*self.stops, *self.uses, *self.ties, *self.versions, *merged, *passing]
        chosen += self.unbounded
        slots = evidence.slots
        self.gated = Gated(port, chosen, slots).differentiable(evidence.draws[draw])
        self.stops = [gate for gate in self.stops if gate in self.gated.gates]
        self.kept = Kept()
        before = evidence.clock.searched()
        self.actual = self.rerun({})
        self.compiling = evidence.clock.searched() - before  # CPU time in seconds
        self.wrong = self.differing(self.actual, self.run)

    def _straight(self) -> dict[int, list[Gate]]:
        """Return the gates that pass a gradient straight through where a `detach` of torch does."""
        flow, weights = self.evidence.flow, self.evidence.port.weights
        alignment = self.evidence.alignments[self.draw]

        def keys(x: int | str) -> list[Key]:
            if isinstance(x, str):
                return [leaf_key(i) for i in weights.leaves_of(x)]
            return [alignment.spots[k].key for k in alignment.candidates[x][:4]]

        found = {}
        for i, value in enumerate(self.run.values):
            known = straight_through.estimator(self.run, i) if value.op in STOPS else None
            if known is not None:
                found[i] = gates.straight(flow, keys(known.x), keys(known.y))
        return dict(itertools.islice(found.items(), MOST))

    def after(self, known: Explanation) -> Case:
        """Return the case in which one program is changed as an explanation says."""
        other = copy.copy(self)
        other.earlier += 1
        if known.changes:
            other.changes = (*self.changes, *known.changes)
            other.run = self.torch(self.draw, other.changes)
        else:
            other.settings = {**self.settings, **known.settings}
        other.actual = other.rerun({})
        other.wrong = other.differing(other.actual, other.run)
        return other

    def refusal(self, last: Case) -> str:
        """Return why the changes of a later case do not explain all gradients, on every draw."""
        without: list[Compared] = []
        changed: list[Compared] = []
        for draw in range(len(self.evidence.draws)):
            torchs = self.torch(draw, ()), self.torch(draw, last.changes)
            jaxs, near = (self.rerun({}, draw), last.rerun({}, draw)), self.near(draw)
            for case, rows, actual, run in zip((self, last), (without, changed), jaxs, torchs,
                                               strict=True):  # fmt: skip
                expected = self.evidence.torch_gradients(run)
                for j in case.judged(actual, run, near):
                    stopped = expected[j.name] is None
                    # Where torch has no gradient, agreement is zero, which is no coincidence here.
                    value = (jaxs[0] if stopped else actual)[j.name]
                    rows.append(compared(j, range_of(np.asarray(value)), draw=draw))
        return refusal(without, changed)

    def torch(self, draw: int, changes: Sequence[Change]) -> TorchRun:
        """Return torch's run on a draw with some changes; with its gradients, even if dropped."""
        evidence = self.evidence
        run = evidence.runs[draw]
        if not changes and run.has_gradients:
            return run
        return self.kept.value(
            ("torch", draw, tuple(changes)),
            lambda: evidence.torch_side.run(evidence.draws[draw], changes=tuple(changes)),
            lambda run: [*run.grads.values(), *run.input_grads],
        )

    def near(self, draw: int) -> Sequence[TorchRun]:
        """Return the runs on a draw that differ from torch's by rounding."""
        evidence = self.evidence
        run = evidence.runs[draw]
        if not run.has_gradients:
            exact = self.torch(draw, ())
            return self.kept.value(
                ("near", draw),
                lambda: evidence.torch_side.reruns(evidence.draws[draw], exact),
                lambda reruns: [*exact.grads.values()] * len(reruns),
            )
        return evidence.drawn[draw].gradient_reruns

    def rerun(self, settings: Mapping[Gate, float], draw: int | None = None) -> Mapping[str, Any]:
        """Return the port's gradients by torch's names, zeros included."""
        return self.evidence.by_torch_name(self.gradients(settings, draw))

    def gradients(self, settings: Mapping[Gate, float], draw: int | None = None) -> Gradients:
        """Return the port's gradients and the cotangents of the compared values."""
        number = self.draw if draw is None else draw
        joint = {**self.settings, **settings}

        return self.kept.value(
            ("jax", number, frozenset(joint.items())),
            lambda: self.gated.gradients(self.evidence.draws[number], joint),
            lambda x: [*x.leaves, *x.cotangents.values()],
        )

    def differing(
        self, actual: Mapping[str, Any], run: TorchRun, near: Sequence[TorchRun] | None = None
    ) -> frozenset[str]:
        """Return the names of the gradients that differ; no gradient counts as zero.

        Args:
            actual: The port's gradients.
            run: torch's run.
            near: Runs that differ from torch's by rounding; by default those of this draw.
        """
        near = self.near(self.draw) if near is None else near
        return frozenset(j.name for j in self.judged(actual, run, near) if j.verdict == "fail")

    def judged(
        self, actual: Mapping[str, Any], run: TorchRun, near: Sequence[TorchRun]
    ) -> list[Judged]:
        """Compare the port's gradients with those of a run; no gradient counts as zero."""
        expected = self.evidence.torch_gradients(run)
        scale = max((scale_of(g) for g in expected.values() if g is not None), default=0.0)
        reruns = [self.evidence.torch_gradients(rerun) for rerun in near]
        found = []
        for name, x in expected.items():
            y = actual.get(name)
            if y is None or name in self.evidence.masks or name in self.evidence.untrained:
                continue
            noise = [r[name] for r in reruns if r.get(name) is not None]
            judged = judge(
                name, np.zeros_like(y) if x is None else x, y, noise, tree_scale=scale,
                most=self.evidence.drawn[self.draw].most_rounding,
            )  # fmt: skip
            if x is None and judged.verdict == "zero":
                judged = dataclasses.replace(judged, verdict="pass")
            found.append(judged)
        return self.evidence.waivers.apply("gradients", found)

    def best_in_torch(
        self, trials: Iterable[tuple[T, Sequence[Change]]]
    ) -> tuple[T, frozenset[str]] | None:
        """Return the trial whose changes of torch repair most gradients, and what they repair.

        They break none, on every draw.
        """
        side, draw = self.evidence.torch_side, self.evidence.draws[self.draw]
        best: tuple[T, frozenset[str]] | None = None
        left = self.wrong
        for trial, changes in trials:
            if not self.evidence.may_search():
                break
            try:
                run = side.run(draw, changes=(*self.changes, *changes))
            except ProofError:  # the change makes a later call impossible
                continue
            after = self.differing(self.actual, run)
            if after < left and self.holds(self.wrong - after, changes=changes):
                best, left = (trial, self.wrong - after), after
        return best

    def best(
        self, groups: Sequence[Sequence[Gate]], number: float, *, enough: bool = False
    ) -> tuple[list[Sequence[Gate]], frozenset[str]]:
        """Return the fewest groups of gates that repair most gradients, and what they repair.

        A group is kept only if it repairs a gradient and breaks none, on every draw. If the first
        one that repairs all is `enough`, no other is tried.
        """
        kept: list[Sequence[Gate]] = []
        left = self.wrong
        trials = []
        for group in groups:
            settings = dict.fromkeys(group, number)
            seconds = self.compiling if self.gated.compiles(settings) else 0.0
            if self.evidence.may_search(seconds=seconds):
                after = self.differing(self.rerun(settings), self.run)
                trials += [(group, after)] if after < self.wrong else []
                if enough and not after and self.holds(self.wrong, settings):
                    return [group], self.wrong
        for group, after in sorted(trials, key=lambda trial: (len(trial[1]), len(trial[0]))):
            settings = dict.fromkeys(group, number)
            if left - after and not self.holds(self.wrong - after, settings):
                continue
            if not kept:
                kept, left = [group], after
            elif left - after:
                joint = dict.fromkeys((g for other in (*kept, group) for g in other), number)
                rest = self.differing(self.rerun(joint), self.run)
                if rest < left and self.holds(self.wrong - rest, joint):
                    kept, left = [*kept, group], rest
        return kept, self.wrong - left

    def needed(self, settings: Mapping[Gate, float], fixed: frozenset[str]) -> list[Gate]:
        """Leave out the places without whose gates the others repair the same gradients."""
        left = dict(settings)
        places = {gate: self.place((gate.path, 0)) for gate in settings}
        for name in dict.fromkeys(places.values()):
            fewer = {gate: x for gate, x in left.items() if places[gate] != name}
            seconds = self.compiling if self.gated.compiles(fewer) else 0.0
            if not fewer or not self.evidence.may_search(seconds=seconds):
                break
            if not self.differing(self.rerun(fewer), self.run) & fixed:
                left = fewer
        return list(left)

    def holds(
        self,
        fixed: frozenset[str],
        settings: Mapping[Gate, float] = {},
        changes: Sequence[Change] = (),
    ) -> bool:
        """Whether gradients that agree after a change of JAX or torch do so on the other draws.

        On one draw a change can repair gradients by coincidence: a clipped gradient stays the same
        when a part of it is dropped.
        """
        for draw in range(len(self.evidence.draws)):
            dropped = not self.evidence.runs[draw].has_gradients
            if draw == self.draw or (dropped and not self.evidence.rerunnable):
                continue
            run = self.torch(draw, (*self.changes, *changes))
            if self.differing(self.rerun(settings, draw), run, self.near(draw)) & fixed:
                return False
        return True

    def names(self, fixed: frozenset[str]) -> str:
        """Describe the gradients that agree after a change."""
        others = "changes" if self.earlier > 1 else "change"
        earlier = f"with the other {others} too, " if self.earlier else ""
        if fixed == self.wrong:
            made = f" {MADE.says(self.evidence.reference)}" if self.evidence.made else ""
            return f"{earlier}all gradients agree{made}"
        listed = ", ".join(sorted(fixed)[:4]) + (" and others" if len(fixed) > 4 else "")
        return f"{earlier}the gradients of {listed} agree, others still differ"

    def place(self, key: Key) -> str:
        """Return the place of a JAX value, and the line that called the function it is in."""
        return place(self.evidence.port.program, key)


def detached_operands(run: TorchRun) -> list[int]:
    """Return the values that torch detaches, and the results of `no_grad` that it reads."""
    stops = [value for value in run.values if value.op in STOPS]
    results = stopped(run)
    read = [i for v in run.values if v.requires_grad for i in v.inputs if i in results]
    return list(dict.fromkeys([*(i for value in stops for i in value.inputs), *read]))
