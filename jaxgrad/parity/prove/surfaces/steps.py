"""Compare the weights, their averages and the optimizer's moments after some steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import CONTROL_SIZE, Judged, judge
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.surfaces import moments, schedules, trajectories, update_causes
from jaxgrad.parity.prove.surfaces.trajectories import Trajectories
from jaxgrad.parity.prove.torch_side.side import State, Steps, compared_steps
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.ulp import scale_of


def surfaces(evidence: Evidence, training: Training, steps: int) -> list[Surface]:
    """Judge the weights after the first step and after the last, and then the moments."""
    zero = {j.name for j in evidence.judged_gradients[0] if j.verdict == "zero"}
    paths = trajectories.run(evidence, training, steps)
    reasons = evidence.port.weights.not_one_to_one
    apart = {name: reasons[name] for name in paths.torch[1] if name in reasons}
    if apart:  # in later steps these weights change the gradients of all others
        paths = trajectories.first_step(paths)
    trained = Trained(evidence, training, paths, zero | set(apart))
    if apart and not set(paths.torch[1]) - set(apart):
        return [Surface("updates", "not judged", _not_comparable(apart))]
    weights = _weights(trained)
    if weights.verdict == "fail":
        return [weights]
    explained = [Surface("updates", "pass", _not_comparable(apart))] if apart else []
    return [weights, *explained, *_moments(trained)]


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

    def moments(self, taken: Steps) -> list[moments.Moment]:
        """Compare torch's moments with the port's."""
        port, state = self.evidence.port, self.paths.opt_state
        return moments.compare(port, taken.moments, taken.moment_reruns, state, self.zero)


class Change(NamedTuple):
    """The comparison of one weight's change after some steps."""

    name: str
    step: int
    noun: str  # of the weight or of its average
    judged: Judged


def _weights(trained: Trained) -> Surface:
    """Judge the weights, and their averages if the user asks for them."""
    evidence, training, paths, zero = trained
    last = max(paths.torch)
    changes = [
        change
        for step in compared_steps(last)
        for change in (*_changes(paths, step, zero), *_averages(paths, step, zero))
    ]
    judged = evidence.waivers.apply("updates", [change.judged for change in changes])
    changes = [c._replace(judged=j) for c, j in zip(changes, judged, strict=True)]
    rows = tuple(j.row() for j in judged)
    wrong = [change for change in changes if change.judged.verdict == "fail"]
    if wrong:
        name, step, noun, judged = wrong[0]
        finding = Finding(
            "updates",
            name,
            evidence.jax_place(name),
            f"the {noun} after step {step} is off by {judged.share:.2g} (relative to the weight's "
            "change)",
            **judged.worst,
        )
        first = {change.name for change in wrong if change.step == step}
        text = f"{len(first)} of {len({c.name for c in changes})} weights differ after step {step}"
        return Surface("updates", "fail", text, rows, (_explained(trained, finding),))
    equal = [change for change in changes if change.judged.verdict == "pass"]
    if not equal and all(j.verdict != "accepted" for j in judged):
        return Surface("updates", "inconclusive", "no weight changes by more than rounding", rows)
    largest = max((change.judged.share for change in equal), default=0.0)
    what = "weights and their averages" if training.ema is not None else "weights"
    text = "1 step" if last == 1 else f"{last} steps"
    text += f", {what} agree within {largest:.1g} (relative to their change)"
    if zero := zero - set(evidence.port.weights.not_one_to_one):
        text += f"; {len(zero)} weights left out, whose gradients are zero up to rounding"
    return Surface("updates", "pass", text, rows, control=_control(paths, equal, zero))


def _moments(trained: Trained) -> list[Surface]:
    """Judge the moments after the last step, which later updates depend on."""
    paths = trained.paths
    taken = Steps({}, dict(paths.moments), [], moment_reruns=paths.moment_reruns)
    compared = trained.moments(taken)
    judged = trained.evidence.waivers.apply("updates", [m.judged for m in compared])
    compared = [m._replace(judged=j) for m, j in zip(compared, judged, strict=True)]
    rows = tuple(m.judged.row() for m in compared)
    wrong = [m for m in compared if m.judged.verdict == "fail"]
    if wrong:
        name, moment, judged = wrong[0]
        finding = Finding(
            "updates",
            name,
            trained.evidence.jax_place(name),
            f"the optimizer's {moment} after step {max(paths.torch)} is off by {judged.share:.2g} "
            "(relative to its scale), which changes later steps",
            **judged.worst,
        )
        text = f"{len(wrong)} of {len(compared)} optimizer moments differ"
        finding = _explained(trained, finding, with_moments=True)
        return [Surface("updates", "fail", text, rows, (finding,))]
    if compared:
        shares = [m.judged.share for m in compared if m.judged.verdict != "accepted"]
        text = f"{len(shares)} optimizer moments agree within {max(shares, default=0.0):.1g}"
        return [Surface("updates", "pass", text, rows)]
    text = "the optimizer moments are not compared, because their names differ"
    return [Surface("updates", "pass", text)] if moments.count(paths.moments) else []


def _explained(trained: Trained, finding: Finding, with_moments: bool = False) -> Finding:
    """Add the change to torch's training step with which torch gives JAX's numbers."""
    evidence, training, paths, zero = trained
    before = paths.before

    def agrees(taken: Steps) -> bool:
        states = {step: _without(taken.states[step], zero) for step in paths.torch}
        averages = {step: _without(taken.averages.get(step, {}), zero) for step in paths.torch}
        compared = trained.moments(taken) if with_moments else ()
        return (
            update_causes.near_states(states, paths.jax, before)
            and update_causes.near_states(averages, paths.averages[1], before)
            and all(m.judged.share <= 1e-9 for m in compared)
        )

    def find() -> Finding:
        cause = schedules.cause(evidence, training, max(paths.torch))
        if cause:
            return dataclasses.replace(finding, cause=cause, tested=True)
        cause = update_causes.guess(evidence, training, paths, agrees, finding.torch)
        tested = cause.endswith(update_causes.CONFIRMED)
        return dataclasses.replace(finding, cause=cause, tested=tested)

    return evidence.locate(find, finding)[0]


def _without(weights: State, names: set[str]) -> State:
    return {name: x for name, x in weights.items() if name not in names}


def _changes(paths: Trajectories, step: int, zero: set[str]) -> list[Change]:
    """Compare the changes of all weights except those in `zero`."""
    expected, actual = paths.torch[step], paths.jax[step]
    return _compared(paths, step, zero, expected, actual, "weight's change")


def _averages(paths: Trajectories, step: int, zero: set[str]) -> list[Change]:
    """Compare the averages of all weights except those in `zero`, relative to the first weights."""
    expected, actual = (averages.get(step, {}) for averages in paths.averages)
    return _compared(paths, step, zero, expected, actual, "weight's average")


def _compared(
    paths: Trajectories, step: int, zero: set[str], expected: State, actual: State, noun: str
) -> list[Change]:
    before, weights = paths.before, paths.torch[step]
    prefix = "average of " if noun.endswith("average") else ""
    changes = {name: x - before[name] for name, x in expected.items()}
    compared = []
    for name, change in changes.items():
        if name in zero or name not in actual:
            continue
        reruns = [change + (rerun[step][name] - weights[name]) for rerun in paths.reruns]
        judged = judge(
            f"{prefix}{name} after step {step}",
            change,
            actual[name] - before[name],
            reruns,
            scale=scale_of(change) or max(map(scale_of, changes.values())),
        )
        # The difference of two weights of size 1 has an absolute error of an ULP of 1.
        floor = 4 * float(np.finfo(np.float64).eps) * scale_of(np.asarray(before[name]))
        if judged.verdict != "fail" or judged.difference > floor:
            compared.append(Change(name, step, noun, judged))
    return compared


def _control(paths: Trajectories, equal: Sequence[Change], zero: set[str]) -> str:
    """Change the first update of one weight, and check that the comparison then fails."""
    for name in (change.name for change in equal if change.noun == "weight's change"):
        before, after = np.asarray(paths.before[name]), paths.jax[1][name]
        changed = before + (after - before) * (1 + CONTROL_SIZE)
        alone = paths._replace(torch={1: {name: paths.torch[1][name]}}, jax={1: {name: changed}})
        if any(change.judged.verdict == "fail" for change in _changes(alone, 1, zero)):
            return f"an error of {CONTROL_SIZE:g} injected into the update of {name} was detected"
    return ""
