"""Explain wrong gradients: rerun JAX or torch with one part of the backward pass changed.

A hypothesis is a stop_gradient that JAX has and torch does not, a use of a value through which
torch stops the gradient and JAX does not, a `detach` of torch, or a convention at ties. It is
reported only if the gradients agree after the change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgrad._core import source
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side import gates
from jaxgrad.parity.prove.jax_side.flow import leaf_key, place
from jaxgrad.parity.prove.jax_side.gates import Gate, Gated
from jaxgrad.parity.prove.jax_side.program import Key
from jaxgrad.parity.prove.judge import judge
from jaxgrad.parity.prove.surfaces.locate_backward import stopped
from jaxgrad.parity.prove.torch_side.values import Change, TorchRun
from jaxgrad.parity.ulp import scale_of


_MOST = 48  # gates of one kind
_DETACHES = 16
_RERUNS = 150
_WORK = 2e8  # numbers in all reruns together


class Explanation(NamedTuple):
    """A change of one program's backward pass after which gradients agree."""

    text: str
    fixed: frozenset[str]  # the gradients that agree only after the change
    complete: bool  # whether all gradients agree after it
    key: Key | None = None  # the equation in the JAX program
    through: str = ""  # the call in the user's JAX code
    fix: tuple[str, str] = ("", "")  # what the JAX code contains, and what it should contain
    settings: Mapping[Gate, float] = {}  # the change of the JAX program
    cotangents: Mapping[Key, np.ndarray] = {}  # of the compared values, if all gradients agree


def explain(evidence: Evidence) -> Explanation | None:
    """Return the change that explains most of the wrong gradients of a draw, or None."""
    case = _Case(evidence, evidence.failed_gradient_draw or 0)
    if not case.wrong:
        return None
    chosen = _chosen(case)
    if chosen is None or not (chosen.complete and chosen.settings):
        return chosen
    fixed = case.gated.gradients(chosen.settings, evidence.slots)
    return chosen._replace(cotangents=fixed.cotangents)


def _chosen(case: _Case) -> Explanation | None:
    stop = _superfluous_stops(case)
    if stop is not None and stop.complete:
        return stop
    use, tie = _missing_stops(case), _ties(case)
    detach = _in_torch(case) if case.evidence.rerunnable else None
    if detach is not None and use is not None and len(detach.fixed) >= len(use.fixed):
        text = f"{detach.text} at {use.through}" if use.through else detach.text
        use = detach._replace(key=use.key, text=text, settings=use.settings)
    found = [x for x in (stop, use or detach, tie) if x is not None]
    return max(found, key=lambda x: (x.complete, len(x.fixed)), default=None)


class _Case:
    """The gradients of one draw, which of them differ, and the gates of the JAX program."""

    def __init__(self, evidence: Evidence, draw: int):
        self.evidence, self.draw = evidence, draw
        port, flow = evidence.port, evidence.flow
        judged = evidence.judged_gradients[draw]
        names = {j.name for j in judged if j.verdict == "fail"} | {
            name for name, g in evidence.runs[draw].grads.items() if g is None
        }
        leaves = [leaf_key(i) for name in names for i in port.weights.leaves_of(name)]
        alignment = evidence.alignments[draw]
        values = [
            alignment.spots[k].key
            for i in _detached_operands(evidence.runs[draw])
            for k in alignment.candidates[i][:4]
        ]
        self.stops = gates.stops(flow)[:_MOST]
        self.uses = gates.uses(flow, [*leaves, *values])[: 2 * _MOST]
        self.ties = gates.ties(flow)[:_MOST]
        chosen = [*self.stops, *self.uses, *self.ties]
        self.gated = Gated(port, evidence.draws[draw], chosen)
        size = sum(np.size(x) for x in port.program.leaves) + sum(
            float(value.print[0]) for value in evidence.runs[draw].values
        )
        self.left = int(min(_RERUNS, max(8.0, _WORK / max(size, 1.0))))
        self.actual = self.rerun({})
        self.wrong = self.differing(self.actual, evidence.runs[draw])

    def rerun(self, settings: Mapping[Gate, float]) -> Mapping[str, Any]:
        """Return the port's gradients by torch's names, zeros included."""
        self.left -= 1
        return self.evidence.by_torch_name(self.gated.gradients(settings))

    def differing(self, actual: Mapping[str, Any], run: TorchRun) -> frozenset[str]:
        """Return the names of the gradients that differ; no gradient counts as zero."""
        expected = self.evidence.torch_gradients(run)
        scale = max((scale_of(g) for g in expected.values() if g is not None), default=0.0)
        near = self.evidence.drawn[self.draw].gradient_reruns
        reruns = [self.evidence.torch_gradients(rerun) for rerun in near]
        names = set()
        for name, x in expected.items():
            y = actual.get(name)
            if y is None:
                continue
            torchs = np.zeros_like(y) if x is None else x
            noise = [r[name] for r in reruns if r.get(name) is not None]
            if judge(name, torchs, y, noise, tree_scale=scale).verdict == "fail":
                names.add(name)
        names -= self.evidence.masks
        return frozenset(names)

    def best(
        self, groups: Sequence[Sequence[Gate]], number: float
    ) -> tuple[list[Sequence[Gate]], frozenset[str]]:
        """Return the fewest groups of gates that repair most gradients, and what they repair.

        A group is kept only if it repairs a gradient and breaks none.
        """
        run = self.evidence.runs[self.draw]
        kept: list[Sequence[Gate]] = []
        left = self.wrong
        trials = []
        for group in groups:
            if self.left > 0:
                after = self.differing(self.rerun(dict.fromkeys(group, number)), run)
                trials += [(group, after)] if after < self.wrong else []
        for group, after in sorted(trials, key=lambda trial: (len(trial[1]), len(trial[0]))):
            if not kept:
                kept, left = [group], after
            elif left - after:
                joint = dict.fromkeys((g for other in (*kept, group) for g in other), number)
                rest = self.differing(self.rerun(joint), run)
                kept, left = ([*kept, group], rest) if rest < left else (kept, left)
        return kept, self.wrong - left

    def names(self, fixed: frozenset[str]) -> str:
        """Describe the gradients that agree after a change."""
        if fixed == self.wrong:
            return "all gradients agree"
        listed = ", ".join(sorted(fixed)[:4]) + (" and others" if len(fixed) > 4 else "")
        return f"the gradients of {listed} agree, others still differ"

    def place(self, key: Key) -> str:
        """Return the place of a JAX value, and the line that called the function it is in."""
        return place(self.evidence.port.program, key)


def _superfluous_stops(case: _Case) -> Explanation | None:
    """Open stop_gradients of the JAX program."""
    groups: list[Sequence[Gate]] = [(gate,) for gate in case.stops]
    if len(case.stops) > 1:
        groups.append(case.stops)
    kept, fixed = case.best(groups, 1.0)
    if not kept:
        return None
    opened = [gate for group in kept for gate in group]
    places = list(dict.fromkeys(case.place((gate.path, 0)) for gate in opened))
    them = "it" if len(opened) == 1 else "them"
    text = (
        f"an extra stop_gradient at {' and at '.join(places[:3])} (rerunning JAX without {them}, "
        f"{case.names(fixed)})"
    )
    fix = ("stop_gradient", "")
    settings = dict.fromkeys(opened, 1.0)
    return Explanation(
        text, fixed, fixed == case.wrong, (opened[0].path, 0), fix=fix, settings=settings
    )


def _missing_stops(case: _Case) -> Explanation | None:
    """Close uses of the wrong leaves, and of values that torch detaches."""
    callers = _by_caller(case)
    singles = [(gate,) for gate in case.uses]
    kept, fixed = case.best([*(group for _, group in callers), *singles], 0.0)
    if not kept:
        return None
    closed = [gate for group in kept for gate in group]
    where = case.place((closed[0].path, 0))
    through = next((line for line, group in callers if group == kept[0]), where)
    text = (
        f"JAX's gradient also flows through {through}, torch's does not (rerunning JAX without "
        f"this path, {case.names(fixed)}); a stop_gradient is missing there"
    )
    settings = dict.fromkeys(closed, 0.0)
    return Explanation(
        text, fixed, fixed == case.wrong, (closed[0].path, 0), through=through, settings=settings
    )


def _by_caller(case: _Case) -> list[tuple[str, tuple[Gate, ...]]]:
    """Group the uses by each of the user's lines on their call stacks."""
    lines: dict[str, list[Gate]] = {}
    for gate in case.uses:
        for line in source.user_lines(case.evidence.port.program.equations[gate.path]):
            lines.setdefault(line, []).append(gate)
    groups = {tuple(dict.fromkeys(found)): line for line, found in lines.items()}
    return [
        (f"the call at {line}", group)
        for group, line in groups.items()
        if 1 < len(group) < len(case.uses)
    ]


def _detached_operands(run: TorchRun) -> list[int]:
    """Return the values that torch detaches, and the results of `no_grad` that it reads."""
    stops = [value for value in run.values if value.op in ("detach", "data")]
    results = stopped(run)
    read = [i for v in run.values if v.requires_grad for i in v.inputs if i in results]
    return list(dict.fromkeys([*(i for value in stops for i in value.inputs), *read]))


def _in_torch(case: _Case) -> Explanation | None:
    """Rerun torch without its detaches and its padding: its gradients should then be JAX's."""
    evidence, run = case.evidence, case.evidence.runs[case.draw]
    numbers = [i for i, v in enumerate(run.values) if v.op in _CHANGES and v.call_number >= 0]
    stops = [i for i in numbers if run.values[i].op != "embedding"]
    groups = [*([i] for i in numbers[:_DETACHES]), *([stops] if len(stops) > 1 else [])]
    best: tuple[list[int], frozenset[str]] = [], case.wrong
    for group in groups if case.left > 0 else ():
        case.left -= 1
        values = [run.values[i] for i in group]
        changes = [Change(value.call_number, _CHANGES[value.op]) for value in values]
        left = case.differing(
            case.actual, evidence.torch_side.run(evidence.draws[case.draw], changes=changes)
        )
        if left < best[1]:
            best = group, left
    if not best[0]:
        return None
    value, fixed = run.values[best[0][0]], case.wrong - best[1]
    if value.op == "embedding":
        text = (
            "torch gives the embedding's padding_idx no gradient, JAX gives it one (rerunning "
            f"torch without padding_idx, {case.names(fixed)})"
        )
    else:
        text = (
            f"torch stops the gradient at {value.name}, JAX does not (rerunning torch without it, "
            f"{case.names(fixed)}); add a stop_gradient"
        )
    return Explanation(text, fixed, fixed == case.wrong)


def _identity(func: Any, args: Any, kwargs: Any) -> Any:
    del func, kwargs
    return args[0].view_as(args[0])


def _without_padding(func: Any, args: Any, kwargs: Any) -> Any:
    return func(*args[:2], **{key: x for key, x in kwargs.items() if key in ("input", "weight")})


_CHANGES = {"detach": _identity, "data": _identity, "embedding": _without_padding}


def _ties(case: _Case) -> Explanation | None:
    """Give ties in `max` and `min` none of the gradient, or the whole gradient."""
    for number, torchs in ((0.0, "none"), (2.0, "all")):
        kept, fixed = case.best([(gate,) for gate in case.ties], number)
        if kept:
            key = kept[0][0].path, 0
            name = case.evidence.port.program.equations[key[0]].primitive.name
            text = (
                f"the operands of {name}imum are equal in some elements: JAX passes half of the "
                f"gradient to each, torch passes {torchs} of it here (rerunning JAX so, "
                f"{case.names(fixed)}); `jaxgrad.parity.lint` names the remedy"
            )
            gates_ = [gate for group in kept for gate in group]
            settings = dict.fromkeys(gates_, number)
            return Explanation(text, fixed, fixed == case.wrong, key, settings=settings)
    return None
