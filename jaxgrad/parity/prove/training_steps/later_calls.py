"""Compare several calls, each of which starts with the state that the last one has left.

One call does not show how the state is used: the first call of a batch norm or of a moving average
may ignore its state. The models are called in the mode of the proof, and then once in eval mode if
the port has that mode for the same params.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import Judged, judge
from jaxgrad.parity.prove.record.adapters import ProofError, as_function, in_eval_mode
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, flat
from jaxgrad.parity.prove.record.lazy import LazyList
from jaxgrad.parity.prove.record.torch_side.side import Calls
from jaxgrad.parity.prove.record.tracing import traced
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.training_steps import buffer_updates


LEAST = 3  # calls: the third is the first that reads a state that was updated twice


class Difference(NamedTuple):
    """A value that differs after some calls, and the path of the state's leaf that holds it."""

    judged: Judged
    path: str  # empty for an output


def surface(evidence: Evidence, request: Request, accepted: bool = False) -> Surface | None:
    """Judge the outputs and the state of several calls; None if nothing is carried between them.

    If a difference in the state is `accepted`, the outputs may differ too and are not compared.
    """
    carried = leaves_of_state(evidence.port.program)
    if not evidence.rerunnable or not carried:
        return None
    params = evidence.port.weights.to_jax(evidence.draws[0].state)
    state = _after(evidence, params, evidence.jax_runs[0].outputs, carried)
    moves = any(not np.array_equal(x, y) for x, y in zip(params, state, strict=True))
    if not moves:
        return None
    count = max(LEAST, 1 if request.steps is None else int(request.steps))
    draws = [evidence.draws[number % len(evidence.draws)] for number in range(count)]
    mode = None if accepted else eval_mode(evidence, request)
    wanted = draws if mode is None else [*draws, draws[0]]
    try:
        taken = evidence.torch_side.calls(wanted, evaluates=mode is not None)
    except ProofError:  # the module can be called once
        return None
    for number, draw in enumerate(draws):
        leaves = [*params, *flat(draw.inputs)[1]]
        outputs = evidence.port.call(draw, leaves)
        wrong = list(_differences(evidence, taken, number, outputs))
        wrong = [x for x in wrong if x.path or not accepted]
        if wrong:
            return _fail(wrong, f"in call {number + 1} of {count}", number + 1)
        params = _after(evidence, params, outputs, carried)
    what = "the state agrees" if accepted else "outputs and state agree"
    text = f"{what} in {count} calls in a row"
    if mode is not None and not taken.runs[-1].noise:
        leaves = [*params, *flat(draws[0].inputs)[1]]
        values = evaluation.run_watched(mode, leaves).outputs
        outputs = [np.asarray(x) for x in values]
        kept = _after(evidence, params, outputs, carried)
        if all(np.array_equal(x, y) for x, y in zip(params, kept, strict=True)):
            judged = _judged(taken, count, outputs, len(mode.out_paths))
            wrong = [Difference(j, "") for j in judged if j.verdict == "fail"]
            if wrong:
                return _fail(wrong, f"in eval mode after {count} calls", count, _EVAL)
            text += ", and so do the outputs of a further call in eval mode"
    return Surface("updates", "pass", text)


def leaves_of_state(program: JaxProgram) -> dict[int, int]:
    """Return the leaf of params that each leaf of the new state replaces, by their positions.

    The paths of both have the same ends. If a path ends several leaves, as the numbers in an
    equinox state do, the leaf is in the same part of the tree as those of the other paths.
    """
    paths = program.param_paths
    starts = collections.Counter(
        path.removesuffix(end) for end in program.state_paths for path in paths if _ends(path, end)
    )
    found: dict[int, int] = {}
    for number, end in enumerate(program.state_paths):
        fits = [i for i, path in enumerate(paths) if _ends(path, end)]
        best = max(fits, key=lambda i: starts[paths[i].removesuffix(end)], default=None)
        if best is not None:
            found[number] = best
    return found


def _ends(path: str, end: str) -> bool:
    return path == end or path.endswith("/" + end)


def _after(
    evidence: Evidence,
    params: Sequence[np.ndarray],
    outputs: Sequence[Any],
    carried: Mapping[int, int],
) -> list[np.ndarray]:
    """Return the params with the new state that a call returns."""
    new = [np.asarray(x) for x in params]
    for number, x in enumerate(outputs[len(evidence.port.program.out_paths) :]):
        leaf = carried.get(number)
        if leaf is not None and new[leaf].shape == np.shape(x):
            new[leaf] = np.asarray(x, new[leaf].dtype)
    return new


def eval_mode(evidence: Evidence, request: Request) -> JaxProgram | None:
    """Trace the port in eval mode; None if it has no such mode for the same params.

    A port that draws random numbers in eval mode has not been switched as a whole.
    """
    module = evidence.torch_side.module
    if callable(request.weights) or module is None or not module.training:
        return None
    switched = in_eval_mode(request.fn, request.params)
    if switched is None:
        return None
    try:
        program, _ = traced(as_function(*switched), evidence.torch_side, request)
    except ProofError:
        return None
    own = evidence.port.program
    draws = (eqn.primitive.name.startswith("random") for eqn in program.equations.values())
    if program.param_paths != own.param_paths or program.state_paths != own.state_paths:
        return None
    if len(program.out_paths) != len(own.out_paths) or any(draws):
        return None
    return dataclasses.replace(program, numbers=own.numbers, tables=own.tables)


def _differences(
    evidence: Evidence, taken: Calls, number: int, outputs: Sequence[np.ndarray]
) -> Iterator[Difference]:
    """Yield the outputs and the state that differ in a call; the state is that of torch's names."""
    run = taken.runs[number]
    near = LazyList(len(taken.reruns), lambda k: taken.reruns[k][number])
    for judged in _judged(taken, number, outputs, len(evidence.port.program.out_paths)):
        if judged.verdict == "fail":
            yield Difference(judged, "")
    before, state = evidence.draws[0].state, buffer_updates.state_in(evidence, outputs)
    compared = buffer_updates.compared_after(evidence, before, run, near, state)
    compared = buffer_updates.needed(evidence, [c for c in compared if c.path])
    judged_state = evidence.waivers.apply("updates", [c.judged for c in compared])
    for c, judged in zip(compared, judged_state, strict=True):
        if judged.verdict == "fail":
            yield Difference(judged, c.path)


def _judged(taken: Calls, number: int, outputs: Sequence[np.ndarray], count: int) -> list[Judged]:
    """Compare the outputs of a call."""
    judged = []
    pairs = zip(taken.runs[number].outputs.items(), outputs[:count], strict=False)
    for (name, x), y in pairs:
        actual = np.reshape(y, x.shape) if np.size(y) == x.size else y
        near = (runs[number].outputs[name] for runs in taken.reruns)
        judged.append(judge(name or "output", x, actual, near))
    return judged


_LATER = (
    "although the first call agrees: it depends on the state that the calls before it have left"
)
_EVAL = (
    "although these calls agree in train mode: in eval mode the port computes something else, or "
    "it reads state that the calls have left otherwise than torch"
)


def _fail(wrong: Sequence[Difference], when: str, calls: int, why: str = _LATER) -> Surface:
    judged, path = wrong[0]
    if path:
        text = f"the update in {calls} forward passes is off by {judged.share:.2g} (relative to it)"
    else:
        text = f"the output {when} is off by {judged.share:.2g} (relative to its scale), {why}"
    finding = Finding("updates", judged.name, path or judged.name, text, **judged.worst)
    names = ", ".join(dict.fromkeys(x.judged.name for x in wrong[:3]))
    summary = f"{names} {'differs' if len(wrong) == 1 else 'differ'} {when}"
    return Surface("updates", "fail", summary, (judged.row(),), (finding,))
