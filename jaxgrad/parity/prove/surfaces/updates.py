"""The updates surface: compare the updates by an optimizer and by the forward pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jaxgrad.parity.prove.causes import schedules
from jaxgrad.parity.prove.dtypes import single_precision
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.report import NO_OPTIMIZER, NO_STEP, Finding, Judgement, Surface
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.surfaces import forward
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.training import Training, as_training
from jaxgrad.parity.prove.training_steps import (
    buffer_updates,
    clipping,
    later_calls,
    steps,
    update_precision,
)
from jaxgrad.parity.prove.wording import CLIPS_AS_OPTAX, jax_program


def surface(evidence: Evidence, request: Request) -> Judgement:
    """Judge the updates by the forward pass, and by an optimizer if the request contains one."""
    surfaces: list[Surface] = []
    left = buffer_updates.surface(evidence, request.has_state)
    notes: tuple[str, ...] = () if left is None else left.notes
    if left is not None and left.surface.text:
        surfaces.append(_located(evidence, left.surface))
        if left.surface.verdict == "pass":
            accepted = any(row["verdict"] == "accepted" for row in left.surface.rows)
            later = later_calls.surface(evidence, request, accepted)
            surfaces += [] if later is None else [later]
    if request.optimizer is not None:
        training = as_training(request.optimizer)
        count = 1 if request.steps is None else int(request.steps)
        alike = all(s.verdict == "pass" for s in surfaces)
        surfaces += steps.surfaces(evidence, training, count, buffers=alike)
        notes += _none_grads(evidence, training)
        notes += _small_clipping(evidence, surfaces)
        if all(s.verdict in ("pass", "inconclusive") for s in surfaces):
            surfaces.append(schedules.surface(evidence, training, count))
        if all(s.verdict in ("pass", "inconclusive") for s in surfaces):
            clipped = clipping.surface(evidence, training)
            surfaces += [] if clipped is None else [clipped]
        if all(s.verdict == "pass" for s in surfaces):
            with evidence.clock("float32"):
                error = update_precision.largest_error(evidence, training)
            surfaces.append(Surface("updates", "pass", single_precision.clause(error)))
            notes += single_precision.notes(error)
    if not surfaces:
        return Judgement(Surface("updates", "not judged", NO_OPTIMIZER), notes)
    if request.optimizer is None and all(s.verdict == "pass" for s in surfaces):
        surfaces.append(Surface("updates", "not judged", NO_STEP))
    compared = ("state",) if left is not None and left.surface.verdict == "pass" else ()
    if request.optimizer is not None:
        compared += _trained(request)
    verdicts = [s.verdict for s in surfaces]
    verdict = min(verdicts, key=("fail", "inconclusive", "pass", "not judged").index)
    return Judgement(
        Surface(
            "updates",
            verdict,
            "; ".join(s.text for s in surfaces),
            tuple(row for s in surfaces for row in s.rows),
            tuple(f for s in surfaces for f in s.findings),
            "; ".join(s.control for s in surfaces if s.control),
            compared,
        ),
        notes,
    )


def _trained(request: Request) -> tuple[str, ...]:
    """Return nouns for what the training steps of a request compare."""
    training = as_training(request.optimizer)
    steps = counted(1 if request.steps is None else int(request.steps), "training step")
    parts = (
        (training.schedule is not None, "learning rates"),
        (training.ema is not None, "averaged weights"),
        (True, f"weights after {steps}"),
    )
    return tuple(noun for is_compared, noun in parts if is_compared)


def _located(evidence: Evidence, surface: Surface) -> Surface:
    """Return the surface of the forward pass's updates with the calls that differ first.

    A wrong buffer is located as a wrong output is. The finding of the buffer stays if its cause is
    known, or if torch computes the buffer inside another call, such as a batch norm.
    """
    if not surface.findings or surface.findings[0].cause:
        return surface

    def find() -> tuple[Finding, ...]:
        state = buffer_updates.as_outputs(evidence)
        located = None if state is None else forward.located(state)
        if located is None or not located.findings[0].op:
            return surface.findings
        return tuple(dataclasses.replace(f, surface="updates") for f in located.findings)

    findings, _ = evidence.locate(find, surface.findings)
    return dataclasses.replace(surface, findings=findings)


def _small_clipping(evidence: Evidence, surfaces: Sequence[Surface]) -> tuple[str, ...]:
    """Return the note that optax's clipping differs from torch's by little, if it is the cause."""
    cause = CLIPS_AS_OPTAX.says(evidence.reference)
    findings = (f for surface in surfaces for f in surface.findings)
    if not any(f.tested and f.cause.startswith(cause) for f in findings):
        return ()
    return (
        "the 1e-6 changes a clipped gradient by a share of 1e-6 divided by its norm; to accept "
        'that, pass accept={"updates": {"*": ("optax\'s clipping lacks torch\'s 1e-6", 1e-5)}}',
    )


def _none_grads(evidence: Evidence, training: Training) -> tuple[str, ...]:
    """Return the note that the port's optimizer gets None for some weights by default."""
    port, trained = evidence.port, evidence.trained
    paths = port.program.param_paths
    mask = trained or [True] * len(paths)
    leaves = zip(paths, mask, port.reachable, strict=False)
    names = [path for path, trains, reached in leaves if trains and not reached]
    if training.none_grads is not None or not training.gives_none or not names:
        return ()
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        f"the optimizer of {jax_program(evidence.reference)} was given None as the gradient of "
        f"{', '.join(names[:3])}{more}, as from jaxgrad.grad; jax.grad gives zeros, which "
        "Training(none_grads=False) compares",
    )
