"""The updates surface: compare the updates by an optimizer and by the forward pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import CONTROL_SIZE, Judged, judge
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.surfaces import buffer_updates, trajectories, update_causes
from jaxgrad.parity.prove.surfaces.trajectories import Trajectories
from jaxgrad.parity.prove.torch_side.side import State, compared_steps
from jaxgrad.parity.prove.training import Training, as_training
from jaxgrad.parity.ulp import scale_of


NO_OPTIMIZER = "no optimizer= was given"


def surface(evidence: Evidence, request: Request) -> Judgement:
    """Judge the updates of buffers and of an optimizer, if the request contains either."""
    surfaces: list[Surface] = []
    if request.has_state:
        surfaces.append(buffer_updates.surface(evidence))
    if request.optimizer is not None:
        training = as_training(request.optimizer)
        surfaces.append(_steps(evidence, training, max(1, request.steps)))
    if not surfaces:
        return Judgement(Surface("updates", "not judged", NO_OPTIMIZER))
    verdicts = [s.verdict for s in surfaces]
    verdict = "fail" if "fail" in verdicts else min(verdicts, key=lambda v: v != "inconclusive")
    return Judgement(
        Surface(
            "updates",
            verdict,
            "; ".join(s.text for s in surfaces),
            tuple(row for s in surfaces for row in s.rows),
            tuple(f for s in surfaces for f in s.findings),
            "; ".join(s.control for s in surfaces if s.control),
        )
    )


class Change(NamedTuple):
    """The comparison of one weight's change after some steps."""

    name: str
    step: int
    judged: Judged


def _steps(evidence: Evidence, training: Training, steps: int) -> Surface:
    """Judge the weights after the first step and after the last."""
    paths = trajectories.run(evidence, training, steps)
    zero = {j.name for j in evidence.judged_gradients[0] if j.verdict == "zero"}
    changes = [
        change
        for step in compared_steps(steps)
        for change in (*_changes(paths, step, zero), *_averages(paths, step, zero))
    ]
    rows = tuple(change.judged.row() for change in changes)
    wrong = [change for change in changes if change.judged.verdict == "fail"]
    if wrong:
        names = list(dict.fromkeys(change.name for change in wrong))
        name, step, judged = wrong[0]
        finding = Finding(
            "updates",
            name,
            evidence.jax_place(name),
            f"the weight's change after step {step} is off by {judged.share:.2g} (relative to the "
            "change)",
            **judged.worst,
            cause=update_causes.guess(evidence, training, paths, names),
        )
        text = f"{len(names)} weights change differently"
        return Surface("updates", "fail", text, rows, (finding,))
    equal = [change for change in changes if change.judged.verdict == "pass"]
    if not equal:
        return Surface("updates", "inconclusive", "no weight changes by more than rounding", rows)
    largest = max(equal, key=lambda change: change.judged.share).judged
    text = f"{steps} steps, weights agree within {largest.share:.1g} (relative to their change)"
    if zero:
        text += f"; {len(zero)} weights left out, whose gradients are zero up to rounding"
    moments = _moments(evidence, paths, zero)
    if moments:
        text += f"; {moments}"
    return Surface("updates", "pass", text, rows, control=_control(paths, equal, zero))


def _changes(paths: Trajectories, step: int, zero: set[str]) -> list[Change]:
    """Compare the changes of all weights except those in `zero`."""
    return _compared(paths, step, zero, paths.torch[step], paths.jax[step], "{} after step {}")


def _averages(paths: Trajectories, step: int, zero: set[str]) -> list[Change]:
    """Compare the averages of all weights except those in `zero`, relative to the first weights."""
    expected, actual = (averages.get(step, {}) for averages in paths.averages)
    return _compared(paths, step, zero, expected, actual, "the average of {} after step {}")


def _compared(
    paths: Trajectories, step: int, zero: set[str], expected: State, actual: State, label: str
) -> list[Change]:
    before, weights = paths.before, paths.torch[step]
    changes = {name: x - before[name] for name, x in expected.items()}
    tree_scale = max((scale_of(x) for x in changes.values()), default=0.0)
    compared = []
    for name, change in changes.items():
        if name in zero or name not in actual:
            continue
        reruns = [change + (rerun[step][name] - weights[name]) for rerun in paths.reruns]
        judged = judge(
            label.format(name, step),
            change,
            actual[name] - before[name],
            reruns,
            scale=scale_of(change) or tree_scale,
        )
        # The difference of two weights of size 1 has an absolute error of an ULP of 1.
        floor = 4 * float(np.finfo(np.float64).eps) * scale_of(np.asarray(before[name]))
        if judged.verdict != "fail" or judged.difference > floor:
            compared.append(Change(name, step, judged))
    return compared


def _control(paths: Trajectories, equal: Sequence[Change], zero: set[str]) -> str:
    """Change the first update of one weight, and check that the comparison then fails."""
    for name, _, judged in equal:
        if judged.scale and judged.allowed / judged.scale < CONTROL_SIZE and judged.torch:
            before, after = np.asarray(paths.before[name]), paths.jax[1][name]
            changed = before + (after - before) * (1 + 2 * CONTROL_SIZE)
            injected = paths._replace(jax={1: {**paths.jax[1], name: changed}})
            changes = [c for c in _changes(injected, 1, zero) if c.name == name]
            if any(change.judged.verdict == "fail" for change in changes):
                return (
                    f"an error of {CONTROL_SIZE:g} injected into the update of {name} was detected"
                )
    return ""


_MOMENTS = {"mu": "exp_avg", "nu": "exp_avg_sq", "trace": "momentum_buffer"}  # optax's -> torch's
_MOMENTS |= {name: name for name in _MOMENTS.values()}


def _moments(evidence: Evidence, paths: Trajectories, zero: set[str]) -> str:
    """Describe the difference between the optimizers' moments that can be matched by name."""
    largest, count = 0.0, 0
    program, weights = evidence.port.program, evidence.port.weights
    for path, x in jax.tree_util.tree_leaves_with_path(paths.opt_state):
        text = jax.tree_util.keystr(path, simple=True, separator="/")
        match = re.search(rf"(?:^|/)({'|'.join(_MOMENTS)})/(.*)$", text)
        if match is None or match[2] not in program.param_paths:
            continue
        leaf = program.param_paths.index(match[2])
        for piece in weights.pieces:
            if piece.leaf != leaf or piece.name in zero:
                continue
            moment = paths.moments.get(piece.name, {}).get(_MOMENTS[match[1]])
            if moment is not None:
                expected = moment.ravel()[piece.index]
                off = np.max(np.abs(np.asarray(x)[piece.region] - expected), initial=0.0)
                largest = max(largest, float(off) / (scale_of(expected) or 1.0))
                count += 1
    return f"{count} optimizer moments agree within {largest:.1g}" if count else ""
