"""Compare the weights, their averages and the optimizer's moments after every step."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity.prove.beside import conjugates
from jaxgrad.parity.prove.causes import acceptance, numbers, schedules
from jaxgrad.parity.prove.causes import updates as update_causes
from jaxgrad.parity.prove.causes.acceptance import UNKNOWN, Compared, Range
from jaxgrad.parity.prove.evidence import Evidence, explained
from jaxgrad.parity.prove.judge import CONTROL_SIZE, Judged, judge, max_difference
from jaxgrad.parity.prove.record.lazy import LazyList
from jaxgrad.parity.prove.record.torch_side.side import State
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.text import counted, differing
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.training_steps import moments, trajectories
from jaxgrad.parity.prove.training_steps.trajectories import Trajectories
from jaxgrad.parity.prove.wording import Told
from jaxgrad.parity.ulp import scale_of


_AFTER = Told(
    "the forward passes leave the same buffers behind; so the port's function in after= differs",
    "the forward passes leave the same buffers behind; so torch's function in after= differs",
)
_ROUNDOFF = float(np.finfo(np.float32).eps) / 2  # the rounding of a number to float32


def surfaces(
    evidence: Evidence, training: Training, steps: int, *, buffers: bool = True
) -> list[Surface]:
    """Judge the weights after every step, and then the moments after the last one.

    The `buffers` are judged too, unless the forward passes already change them otherwise.
    """
    zero = {j.name for j in evidence.judged_gradients[0] if j.verdict == "zero"}
    paths = trajectories.run(evidence, training, steps)
    reasons = evidence.port.weights.not_one_to_one
    apart = {name: reasons[name] for name in paths.torch[1] if name in reasons}
    if apart:  # in later steps these weights change the gradients of all others
        paths = trajectories.first_steps(paths)
    trained = Trained(evidence, training, paths, zero | set(apart))
    if apart and not set(paths.torch[1]) - set(apart):
        return [Surface("updates", "not judged", _not_comparable(apart))]
    weights, after = _weights(trained), _buffers(trained) if buffers else Buffers()
    if weights.verdict == "fail":
        changes = _all_changes(trained, paths)
        first = min(change.step for change in changes if change.judged.verdict == "fail")
        if after.failed is not None and after.failed < first:  # the weights follow from the buffers
            return [*after.surfaces, weights]
        return _with_schedules(trained, [weights], first)
    explained = [Surface("updates", "pass", _not_comparable(apart))] if apart else []
    judged = [weights, *explained, *after.surfaces, *_moments(trained)]
    failed = any(s.verdict == "fail" for s in judged)
    return _with_schedules(trained, judged, max(paths.torch)) if failed else judged


def _with_schedules(trained: Trained, failed: list[Surface], step: int) -> list[Surface]:
    """Add the schedules that the user gives, if they differ.

    They come first, unless the weights differ in an earlier `step`, or in the same one with a
    confirmed cause.
    """
    evidence, training, paths, _ = trained
    first = schedules.failing(evidence, training, max(paths.torch))
    if first is None:
        return failed
    confirmed = any(f.tested for s in failed for f in s.findings)
    is_first = first.step < step or (first.step == step and not confirmed)
    if is_first:
        return [first.surface, *failed]
    place = first.surface.findings[0]
    return [*(_at_schedule(surface, place) for surface in failed), _without(first.surface, failed)]


def _at_schedule(surface: Surface, schedule: Finding) -> Surface:
    """Add the place of the user's schedule to the findings whose cause is the schedule."""

    def placed(finding: Finding) -> Finding:
        is_cause = finding.tested and finding.cause.startswith(
            (schedules.DIFFER, _told(schedule) or schedules.DIFFER)
        )
        jax = f"{finding.jax}, {schedule.jax}" if is_cause else finding.jax
        return dataclasses.replace(finding, jax=jax)

    return dataclasses.replace(surface, findings=tuple(map(placed, surface.findings)))


def _without(schedule: Surface, others: Sequence[Surface]) -> Surface:
    """Leave out the findings on a schedule whose cause another finding has."""
    known = {_told(finding) for surface in others for finding in surface.findings}
    left = tuple(f for f in schedule.findings if not f.cause or _told(f) not in known)
    return dataclasses.replace(schedule, findings=left)


def _told(finding: Finding) -> str:
    """Return a confirmed cause without the sentence on how it was tested."""
    return finding.cause.partition(" (")[0] if finding.tested else ""


def _not_comparable(reasons: Mapping[str, str]) -> str:
    """Say how many weights are not comparable, and why the first is not."""
    name, reason = next(iter(reasons.items()))
    if len(reasons) == 1:
        return f"{name} is not comparable, because {reason}"
    return f"{len(reasons)} weights are not comparable: {name} is not, because {reason}"


class Trained(NamedTuple):
    """Some training steps in both frameworks."""

    evidence: Evidence
    training: Training
    paths: Trajectories
    zero: set[str]  # weights whose gradients are zero up to rounding, which are left out

    def moments(self, paths: Trajectories | None = None) -> list[moments.Moment]:
        """Compare torch's moments with the port's."""
        port, paths = self.evidence.port, paths or self.paths
        reruns, state = paths.moment_reruns, self.paths.opt_state
        most = paths.most_rounding
        return moments.compare(port, paths.moments, reruns, state, self.zero, most)


class Change(NamedTuple):
    """The comparison of one weight's change after some steps."""

    name: str
    step: int
    noun: str  # of the weight or of its average
    judged: Judged
    values: Range = UNKNOWN  # of the change in JAX


class Limits(NamedTuple):
    """How far each weight has moved at most up to a step, and how far rounding has moved it."""

    sizes: Mapping[str, float]
    rounding: Sequence[Mapping[str, float]]  # in each rerun


def _weights(trained: Trained) -> Surface:
    """Judge the weights, and their averages if the user asks for them."""
    evidence, training, paths, zero = trained
    last = max(paths.torch)
    changes = _all_changes(trained, paths)
    wrong = [change for change in changes if change.judged.verdict == "fail"]
    shown = {1, last, *(change.step for change in wrong[:1])}
    rows = tuple(
        c.judged.row()
        for c in changes
        if c.step in shown or c.judged.verdict not in ("pass", "zero")
    )
    if wrong:
        name, step, noun, judged, _ = wrong[0]
        finding = Finding(
            "updates",
            name,
            evidence.jax_place(name),
            f"the {noun} after step {step} is off by {judged.share:.2g} (relative to the weight's "
            f"change){_not_compared(paths, step)}{_in_float32(judged.share)}",
            **judged.worst,
        )
        first = {change.name for change in wrong if change.step == step}
        total = {c.name for c in changes if c.judged.verdict != "zero"}
        text = f"{differing(len(first), len(total), 'weight')} after step {step}"
        return Surface("updates", "fail", text, rows, (_explained(trained, finding, step),))
    equal = [change for change in changes if change.judged.verdict == "pass"]
    if not equal and all(change.judged.verdict != "accepted" for change in changes):
        return Surface("updates", "inconclusive", "no weight changes by more than rounding", rows)
    noisy = [c.judged for c in changes if c.judged.verdict == "inconclusive"]
    if noisy:
        name, doubt = noisy[0].name, noisy[0].doubt
        text = f"{name}: rounding alone changes its update too much to compare ({doubt})"
        return Surface("updates", "inconclusive", text, rows)
    largest = max((change.judged.share for change in equal), default=0.0)
    what = "weights and their averages" if training.ema is not None else "weights"
    text = counted(last, "step")
    if len(paths.torch) < last:
        text += f", of which {len(paths.torch)} are compared to save memory"
    verdicts = [change.judged.verdict for change in changes]
    text += f", {numbers.agreements(what, largest, 'their change', verdicts)}"
    if zero := zero - set(evidence.port.weights.not_one_to_one):
        left = counted(len(zero), "weight")
        text += f"; {left} left out, with gradients that are zero up to rounding"
    return Surface("updates", "pass", text, rows, control=_control(paths, equal, zero))


class Buffers(NamedTuple):
    """The judged buffers after training steps, and the first step after which one differs."""

    surfaces: tuple[Surface, ...] = ()
    failed: int | None = None


def _buffers(trained: Trained) -> Buffers:
    """Judge the buffers after every step, which the functions of `after=` may change."""
    evidence, paths = trained.evidence, trained.paths.of_buffers()
    limits = _limits(paths, paths.torch)
    noun = "change of the buffer"
    changes = [
        change
        for step, expected in sorted(paths.torch.items())
        for change in _compared(paths, step, set(), expected, paths.jax[step], limits[step], noun)
    ]
    judged = evidence.waivers.apply("updates", [change.judged for change in changes])
    changes = [c._replace(judged=j) for c, j in zip(changes, judged, strict=True)]
    wrong = [change for change in changes if change.judged.verdict == "fail"]
    rows = tuple(c.judged.row() for c in changes if c.judged.verdict not in ("pass", "zero"))
    if not wrong:
        return Buffers(_agreeing(changes, rows))
    name, step, _, off, _ = wrong[0]
    finding = Finding(
        "updates",
        name,
        evidence.jax_place(name),
        f"the {noun} after step {step} is off by {off.share:.2g} (relative to this change)",
        cause=_AFTER.says(evidence.reference),
        **off.worst,
    )
    first = {change.name for change in wrong if change.step == step}
    total = {change.name for change in changes}
    text = f"{differing(len(first), len(total), 'buffer')} after step {step}"
    return Buffers((Surface("updates", "fail", text, rows, (finding,)),), step)


def _agreeing(changes: Sequence[Change], rows: Sequence[Any]) -> tuple[Surface, ...]:
    """Judge buffers of which none differs; those that `accept=` names are not counted."""
    noisy = [change.judged for change in changes if change.judged.verdict == "inconclusive"]
    if noisy:
        text = f"{noisy[0].name}: rounding alone changes it too much to compare ({noisy[0].doubt})"
        return (Surface("updates", "inconclusive", text, tuple(rows)),)
    accepted = {change.name for change in changes if change.judged.verdict == "accepted"}
    names = {change.name for change in changes} - accepted
    if not names:
        return ()
    verb = "agrees" if len(names) == 1 else "agree"
    text = f"{counted(len(names), 'buffer')} {verb} after each step"
    return (Surface("updates", "pass", text, tuple(rows)),)


def _moments(trained: Trained) -> list[Surface]:
    """Judge the moments after the last step, which later updates depend on."""
    paths = trained.paths
    compared = trained.moments()
    judged = trained.evidence.waivers.apply("updates", [m.judged for m in compared])
    compared = [m._replace(judged=j) for m, j in zip(compared, judged, strict=True)]
    rows = tuple(m.judged.row() for m in compared)
    wrong = [m for m in compared if m.judged.verdict == "fail"]
    if wrong:
        name, moment, judged, _ = wrong[0]
        finding = Finding(
            "updates",
            name,
            trained.evidence.jax_place(name),
            f"the optimizer's {moment} after step {max(paths.torch)} is off by {judged.share:.2g} "
            "(relative to its scale), which changes later steps",
            **judged.worst,
        )
        text = differing(len(wrong), len(compared), "optimizer moment")
        finding = _explained(trained, finding, max(paths.torch), with_moments=True)
        return [Surface("updates", "fail", text, rows, (finding,))]
    noisy = [m.judged for m in compared if m.judged.verdict == "inconclusive"]
    if noisy:
        name, doubt = noisy[0].name, noisy[0].doubt
        text = f"{name}: rounding alone changes it too much to compare ({doubt})"
        return [Surface("updates", "inconclusive", text, rows)]
    if compared:
        shares = [m.judged.share for m in compared if m.judged.verdict != "accepted"]
        off = max(shares, default=0.0)
        agree = numbers.agreement(off, count=len(shares))
        what = counted(len(shares), "optimizer moment") if shares else "the optimizer moments"
        text = f"{what} {agree}"
        return [Surface("updates", "pass", text, rows)]
    text = "the optimizer moments are not compared, because their names differ"
    return [Surface("updates", "pass", text)] if moments.count(paths.moments) else []


def _in_float32(share: float) -> str:
    """Say that a difference is smaller than the rounding of float32."""
    return "" if share >= _ROUNDOFF else "; float32's rounding is larger (6e-08)"


def _not_compared(paths: Trajectories, step: int) -> str:
    """Say which steps before a step are not compared."""
    before = max((k for k in paths.torch if k < step), default=0)
    if step - before < 2:
        return ""
    if step - before == 2:
        return f"; step {step - 1} is not compared"
    return f"; the steps {before + 1} to {step - 1} are not compared"


def _explained(
    trained: Trained, finding: Finding, step: int, with_moments: bool = False
) -> Finding:
    """Add the change to torch's training step with which torch gives JAX's numbers.

    The finding is that of the first `step` that differs.
    """
    evidence, training, paths, _ = trained
    last = max(paths.torch)

    def compare(changed: Trajectories) -> list[Compared]:
        changes = _all_changes(trained, changed)
        found = [acceptance.compared(c.judged, c.values, c.step) for c in changes]
        if with_moments and max(changed.torch) == last:
            compared = trained.moments(changed)
            judged = evidence.waivers.apply("updates", [m.judged for m in compared])
            pairs = zip(judged, compared, strict=True)
            found += [acceptance.compared(j, m.values, last) for j, m in pairs]
        return found

    def agrees(changed: Trajectories) -> bool:
        return acceptance.confirms(compare(paths), compare(changed))

    def find() -> Finding:
        if not with_moments:
            cause = conjugates.cause(evidence, training, paths, agrees)
            if cause:
                return dataclasses.replace(finding, cause=cause, tested=True)
        search = update_causes.Search(evidence, training, paths, compare, step)
        cause, confirmed = search.guess(finding.torch)
        return dataclasses.replace(finding, cause=cause, tested=confirmed)

    return explained(evidence, find, finding)


def _all_changes(trained: Trained, paths: Trajectories) -> list[Change]:
    """Compare the weights and their averages after every step that was recorded."""
    limits = _limits(paths, paths.torch), _limits(paths, paths.averages[0])
    changes = [
        change
        for step in sorted(paths.torch)
        for change in (
            *_changes(paths, step, trained.zero, limits[0]),
            *_averages(paths, step, trained.zero, limits[1]),
        )
    ]
    judged = trained.evidence.waivers.apply("updates", [change.judged for change in changes])
    return [c._replace(judged=j) for c, j in zip(changes, judged, strict=True)]


def _limits(paths: Trajectories, expected: Mapping[int, State]) -> dict[int, Limits]:
    """Return the limits after every step: each is the largest so far, as errors add up."""
    perturbed = paths.torch if paths.perturbed is None else paths.perturbed

    def measure(number: int) -> dict[int, dict[str, float]]:
        rerun, largest, measured = paths.reruns[number], {}, {}
        for step in sorted(expected):
            for name in expected[step]:
                off = max_difference(perturbed[step][name], rerun[step][name])
                largest[name] = max(largest.get(name, 0.0), off)
            measured[step] = dict(largest)
        return measured

    count = len(paths.reruns)
    rounding = LazyList(count, measure)
    limits: dict[int, Limits] = {}
    sizes: dict[str, float] = {}
    for step in sorted(expected):
        for name, x in expected[step].items():
            sizes[name] = max(sizes.get(name, 0.0), scale_of(x - paths.before[name]))
        until = LazyList(count, functools.partial(lambda step, k: rounding[k][step], step))
        limits[step] = Limits(dict(sizes), until)
    return limits


def _changes(
    paths: Trajectories,
    step: int,
    zero: set[str],
    limits: Mapping[int, Limits] | None = None,
) -> Iterator[Change]:
    """Compare the changes of all weights except those in `zero`."""
    expected, actual = paths.torch[step], paths.jax[step]
    limit = (limits or _limits(paths, paths.torch))[step]
    return _compared(paths, step, zero, expected, actual, limit, "weight's change")


def _averages(
    paths: Trajectories,
    step: int,
    zero: set[str],
    limits: Mapping[int, Limits] | None = None,
) -> Iterator[Change]:
    """Compare the averages of all weights except those in `zero`, relative to the first weights."""
    expected, actual = (averages.get(step, {}) for averages in paths.averages)
    limit = (limits or _limits(paths, paths.averages[0])).get(step, Limits({}, ()))
    return _compared(paths, step, zero, expected, actual, limit, "weight's average")


def _compared(
    paths: Trajectories,
    step: int,
    zero: set[str],
    expected: State,
    actual: State,
    limits: Limits,
    noun: str,
) -> Iterator[Change]:
    prefix = "average of " if noun.endswith("average") else ""
    largest = max(limits.sizes.values(), default=0.0)
    for name, x in expected.items():
        if name in zero or name not in actual:
            continue
        before = np.asarray(paths.before[name])
        value = actual[name] - before
        judged = judge(
            f"{prefix}{name} after step {step}",
            x - before,
            value,
            (rounding.get(name, 0.0) for rounding in limits.rounding),
            scale=limits.sizes[name] or largest,
            most=paths.most_rounding,
        )
        # The difference of two weights of size 1 has an absolute error of an ULP of 1.
        floor = 4 * float(np.finfo(np.float64).eps) * scale_of(before)
        if judged.verdict == "fail" and judged.difference <= floor:
            judged = dataclasses.replace(judged, verdict="zero")
        yield Change(name, step, noun, judged, acceptance.range_of(value))


def _control(paths: Trajectories, equal: Sequence[Change], zero: set[str]) -> str:
    """Change the first update of one weight, and check that the comparison then fails."""
    first = [c.name for c in equal if c.noun == "weight's change" and c.step == 1]
    for name in first:
        before, after = np.asarray(paths.before[name]), paths.jax[1][name]
        changed = before + (after - before) * (1 + CONTROL_SIZE)
        alone = paths._replace(
            torch={1: {name: paths.torch[1][name]}}, jax={1: {name: changed}},
            reruns=paths.reruns[:1],
        )  # fmt: skip
        if any(change.judged.verdict == "fail" for change in _changes(alone, 1, zero)):
            return f"an error of {CONTROL_SIZE:g} injected into the update of {name} was detected"
    return ""
