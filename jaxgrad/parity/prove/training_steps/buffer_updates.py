"""Compare what a forward pass leaves behind: changed buffers, parameters and attributes."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat, paths
from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.align.alignments import aligned
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.causes import acceptance, running_statistics
from jaxgrad.parity.prove.evidence import Evidence, with_cause
from jaxgrad.parity.prove.judge import ROUNDING_FACTOR, Judged, judge
from jaxgrad.parity.prove.locate.quotes import quoted
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.jax_side.flow import Flow
from jaxgrad.parity.prove.record.torch_side.side import Drawn
from jaxgrad.parity.prove.record.torch_side.values import Left, TorchRun, changes
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.training_steps import state_pairs
from jaxgrad.parity.prove.weights.likeness import leaves_of, likeness
from jaxgrad.parity.prove.wording import Told
from jaxgrad.parity.ulp import scale_of


_ALIKE = 0.5  # the least likeness of a path to a name that the port need not return
_ASK = Told(
    "let fn return (outputs, new_state) and pass has_state=True",
    "torch's change is extra; or let fn return (outputs, new_state) and pass has_state=True",
)


class Compared(NamedTuple):
    """The comparison of one value that the forward pass of torch or of the port changes."""

    left: Left
    judged: Judged
    path: str  # of the leaf in the port's new state; empty if there is none
    actual: Any = None


class New(NamedTuple):
    """A value of the port's new state, with torch's name for it."""

    path: str
    value: np.ndarray


def surface(evidence: Evidence, asked: bool = True) -> Judgement | None:
    """Compare all that torch's forward pass changes in the module with the port's new state.

    A value that the port does not return fails, unless no further call of the module reads it and
    the port has no leaf for it: such values are listed in a note. Without being `asked`, return
    None if torch changes nothing and the port does not either.
    """
    draws = [_compared(evidence, k) for k in range(len(evidence.drawn))]
    wrong = [c for compared in draws for c in compared if _is_wrong(c)]
    unread = _unread(evidence, wrong)
    kept = [[c for c in each if not _is_idle(evidence, c, unread)] for each in draws]
    idle = [c for each in draws for c in each if _is_idle(evidence, c, unread)]
    names = dict.fromkeys(c.judged.name for c in idle)
    notes = _not_compared(names, wording.jax_program(evidence.reference))
    kept = [_accepted(evidence, each) for each in kept]
    draw = next((k for k, each in enumerate(kept) if any(map(_is_wrong, each))), 0)
    shown = [c for c in kept[draw] if c.left.before is not c.left.after or _is_wrong(c)]
    rows = tuple(c.judged.row() for c in shown)
    if draw or any(map(_is_wrong, shown)):
        at = ", but only with redrawn weights and inputs" if draw else ""
        bad = [c for c in shown if _is_wrong(c)]
        verb = "differs" if len(bad) == 1 else "differ"
        text = f"{len(bad)} of {counted(len(shown), 'update')} by the forward pass {verb}{at}"
        finding = _finding(evidence, draw, bad[0])
        return Judgement(Surface("updates", "fail", text, rows, (finding,)), notes)
    noisy = [c for each in kept for c in each if c.judged.verdict == "inconclusive"]
    if noisy:
        text = f"{noisy[0].judged.name}: rounding alone changes its update too much to compare"
        return Judgement(Surface("updates", "inconclusive", text, rows), notes)
    agreeing = [c for c in shown if c.judged.verdict != "accepted"]
    if agreeing or shown:
        return Judgement(Surface("updates", "pass", _agree(agreeing), rows), notes)
    if not asked:
        return Judgement(Surface("updates", "not judged", ""), notes) if notes else None
    if kept[0]:
        program = wording.jax_program(evidence.reference)
        text = f"neither torch's forward pass nor {program} changes any state"
        return Judgement(Surface("updates", "pass", text), notes)
    text = (
        "no leaf of the new state belongs to a torch buffer or parameter, and torch's forward pass "
        "changes nothing"
    )
    return Judgement(Surface("updates", "not judged", text), notes)


def as_outputs(evidence: Evidence) -> Evidence | None:
    """Return the evidence in which the new state follows the outputs, so that it can be located.

    Torch's names of the new outputs begin with `STATE`. A loss is no longer an output. Returns None
    if torch cannot run again, or if no leaf of the state is a tensor of torch.
    """
    if not evidence.rerunnable:
        return None
    program, state = evidence.port.program, _state(evidence, 0)
    compared = (c for c in _compared(evidence, 0) if c.left.before is not c.left.after)
    rows = [c for c in compared if c.path and c.left.kind != "attribute"]
    rows = [c for c in rows if np.array_equal(np.ravel(c.actual), np.ravel(state[c.path]))]
    names = {c.path: c.judged.name for c in rows}
    if not names:
        return None
    outs = [k for k, path in enumerate(program.out_paths) if path != "loss"]
    outs += [len(program.out_paths) + program.state_paths.index(path) for path in names]
    opened, consts = compat.open_jaxpr(program.jaxpr)
    jaxpr = opened.replace(outvars=[opened.outvars[k] for k in outs])
    out_paths = [*program.out_paths, *program.state_paths]
    program = dataclasses.replace(
        program,
        jaxpr=jex_core.ClosedJaxpr(jaxpr, consts),
        out_paths=[out_paths[k] for k in outs],
        state_paths=[],
    )
    port = evidence.port.of(program, evidence.port.injection)
    side = evidence.torch_side.returning([*names.values()])
    drawn = []
    for each in evidence.drawn:
        run = _with_ends(side.run(each.draw, forward=True))
        reruns = side.reruns(each.draw, run, forward=True)
        drawn.append(Drawn(each.draw, run, reruns, rough=each.rough))
    jax_runs = [Watched([run.outputs[k] for k in outs], run.prints) for run in evidence.jax_runs]
    return dataclasses.replace(
        evidence,
        torch_side=side,
        port=dataclasses.replace(port, has_loss=False, has_state=False),
        flow=Flow(program),
        drawn=drawn,
        jax_runs=jax_runs,
        alignments=aligned(drawn, jax_runs),
    )


def _with_ends(run: TorchRun) -> TorchRun:
    """Return a run in which an output that is no result of a call is the last value equal to it.

    A tensor whose `.data` is updated in place is not the result of the update.
    """

    def last(x: np.ndarray) -> int | None:
        own = fingerprint(x) if _is_number(x) else None
        equal = (
            i
            for i, value in reversed([*enumerate(run.values)])
            if own is not None and value.shape == x.shape and np.array_equal(value.print, own)
        )
        return next(equal, None)

    pairs = zip(run.output_values, run.outputs.values(), strict=True)
    ends = [last(x) if i is None else i for i, x in pairs]
    return dataclasses.replace(run, output_values=ends)


def _is_wrong(compared: Compared) -> bool:
    return compared.judged.verdict == "fail"


def _agree(compared: Sequence[Compared]) -> str:
    """Count the comparisons that agree, as in "2 buffer updates agree"."""
    if not compared:
        return "all differences in what the forward pass changes are accepted"
    kinds = collections.Counter(c.left.kind for c in compared)
    texts = [counted(n, f"{kind} update") for kind, n in kinds.items()]
    return f"{' and '.join(texts)} {'agrees' if len(compared) == 1 else 'agree'}"


def _accepted(evidence: Evidence, compared: Sequence[Compared]) -> list[Compared]:
    judged = evidence.waivers.apply("updates", [c.judged for c in compared])
    return [c._replace(judged=j) for c, j in zip(compared, judged, strict=True)]


def _compared(evidence: Evidence, draw: int) -> list[Compared]:
    """Compare all that one forward pass changes in either framework, on one draw."""
    drawn = evidence.drawn[draw]
    return compared_after(
        evidence, drawn.draw.state, drawn.run, drawn.reruns, _state(evidence, draw)
    )


def compared_after(
    evidence: Evidence,
    before: Mapping[str, np.ndarray],
    run: TorchRun,
    reruns: Sequence[TorchRun],
    state: Mapping[str, np.ndarray],
    unchanged: TorchRun | None = None,
) -> list[Compared]:
    """Compare all that one or several forward passes change in either framework.

    Args:
        evidence: All runs.
        before: The weights before the first pass.
        run: torch's last pass.
        reruns: The same pass with all numbers perturbed by an ULP.
        state: The port's new state by path.
        unchanged: The pass of which `reruns` are reruns, if torch was changed for `run`.
    """
    left = changes(run, before)
    new = _new(evidence, before, state, left)
    compared = []
    for name, x in left.items():
        if name in new:
            judged = _judge(name, x, new[name].value, reruns, unchanged or run)
            compared.append(Compared(x, judged, *new[name]))
        elif x.after is None and state:
            compared.append(Compared(x, Judged(name, "pass", 0.0, 0.0, 1.0), ""))
        else:
            compared.append(Compared(x, _missing(name, x), ""))
    for name, (path, value) in new.items():
        if name not in left:
            old = np.asarray(before[name])
            kind = "parameter" if name in evidence.torch_side.flags else "buffer"
            x = Left(kind, old, old)
            compared.append(Compared(x, _judge(name, x, value, (), run), path, value))
    return compared


def _state(evidence: Evidence, draw: int) -> dict[str, np.ndarray]:
    """Return the port's new state on one draw, by path."""
    return state_in(evidence, evidence.jax_runs[draw].outputs)


def state_in(evidence: Evidence, outputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the port's new state, by path, from all that its program returns."""
    program = evidence.port.program
    values = map(np.asarray, outputs[len(program.out_paths) :])
    return dict(zip(program.state_paths, values, strict=True))


def _new(
    evidence: Evidence,
    before: Mapping[str, np.ndarray],
    state: Mapping[str, np.ndarray],
    left: Mapping[str, Left],
) -> dict[str, New]:
    """Return the port's new state by torch's names.

    A leaf is matched by its path in params, or by torch's name, or else by its likeness to a name.
    """
    if not state:
        return {}
    new, used = _mapped(evidence, before, state)
    flags = evidence.torch_side.flags
    floating = evidence.port.weights.tensors
    whole = [name for name in before if name not in floating and name not in flags]
    names = [name for name in dict.fromkeys((*left, *whole)) if name not in new]
    as_paths = [name.replace(".", "/") for name in names]
    for path, x in state.items():
        fits = leaves_of(path, as_paths) if path not in used else []
        if len(fits) == 1 and names[fits[0]] not in new:
            new[names[fits[0]]] = New(path, x)
            used.add(path)
    missing = [name for name in left if name not in new]
    for name, path in _by_value(evidence, missing, [p for p in state if p not in used]).items():
        new[name] = New(path, state[path])
    return new


def _by_value(evidence: Evidence, names: Sequence[str], paths: Sequence[str]) -> dict[str, str]:
    """Pair what torch changes with leaves of the state by values and names, on all draws alike.

    A value that no further call reads is paired only with a leaf that is like it in name.
    """
    if not names or not paths:
        return {}
    draws = range(len(evidence.drawn))
    changed = [changes(evidence.runs[k], evidence.draws[k].state) for k in draws]
    states = [_state(evidence, k) for k in draws]
    unread = evidence.unread(names)
    pairs: dict[str, str] = {}
    for numbers in (True, False):
        torch = {
            name: [each[name].after for each in changed]
            for name in names
            if all(_is_array(each.get(name), numbers) for each in changed)
        }
        jax = {
            path: [each[path] for each in states]
            for path in paths
            if all(_is_number(each[path]) == numbers for each in states)
        }
        found = state_pairs.paired(torch, jax).paths
        pairs |= {
            name: path
            for name, path in found.items()
            if name not in unread or (_has_words(path) and likeness(name, path) >= _ALIKE)
        }
    return pairs


def _has_words(path: str) -> bool:
    return re.search("[a-zA-Z]", path) is not None


def _is_array(left: Left | None, numbers: bool) -> bool:
    """Return whether a value is an array, of floating numbers or of others."""
    after = None if left is None else left.after
    return isinstance(after, np.ndarray) and _is_number(after) == numbers


def _mapped(
    evidence: Evidence, before: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
) -> tuple[dict[str, New], set[str]]:
    """Return the values of the leaves that hold torch's tensors in params, and their paths."""
    program, weights = evidence.port.program, evidence.port.weights
    places: dict[int, str] = {}
    for path, x in state.items():
        like = leaves_of(path, program.param_paths)
        fits = [i for i in like if weights.leaves[i].shape == x.shape]
        if len(fits) == 1 and fits[0] not in places and weights.names_of(fits[0]):
            places[fits[0]] = path
    names = {name for i in places for name in weights.names_of(i) if name not in weights.merged}
    own = dataclasses.replace(
        weights,
        pieces=tuple(piece for piece in weights.pieces if piece.name in names),
        tensors={name: np.asarray(before[name]) for name in names},
        rule=None,
    )
    leaves = own.to_jax(own.tensors)
    values = own.values_of([state[places[i]] if i in places else x for i, x in enumerate(leaves)])
    new = {
        name: New(", ".join(places[i] for i in weights.leaves_of(name) if i in places), x)
        for name, x in values.items()
    }
    return new, set(places.values())


def _is_number(x: np.ndarray) -> bool:
    return x.dtype.kind in "fc"


def _judge(
    name: str, left: Left, actual: np.ndarray, reruns: Sequence[TorchRun], unchanged: TorchRun
) -> Judged:
    """Compare a new value, relative to its change if it had a value of the same shape before.

    Each of `reruns` differs from `unchanged` by rounding.
    """
    before, after = left.before, left.after
    if not isinstance(after, np.ndarray) or after.size != actual.size:
        shown = f"{after.dtype}{list(after.shape)}" if isinstance(after, np.ndarray) else str(after)
        return _unlike(name, shown, f"{actual.dtype}{list(actual.shape)}")
    actual = actual.reshape(after.shape)
    if not _is_number(after):
        return judge(name, after, actual)
    own = _after(unchanged, name)
    alike = isinstance(own, np.ndarray) and own.shape == after.shape
    moved = after - own if alike else 0.0  # a parameter that the pass leaves as it is has no `own`
    near = (x for rerun in reruns if np.shape(x := _after(rerun, name)) == after.shape)
    others = (x + moved for x in near)
    if left.kind == "attribute" or np.shape(before) != after.shape:
        return judge(name, after, actual, others)
    change = after - before
    # The difference of two numbers of size 1 has an absolute error of an ULP of 1.
    floor = 4 * float(np.finfo(np.float64).eps) * scale_of(before) / ROUNDING_FACTOR
    scale = scale_of(np.asarray(change)) or scale_of(before) or None
    updates = (np.asarray(x - before) for x in others)
    return judge(name, change, actual - before, itertools.chain([floor], updates), scale=scale)


def _after(run: TorchRun, name: str) -> Any:
    """Return the value of a buffer, a parameter or an attribute after a run."""
    if name in run.parameters or name in run.buffers:
        return run.parameters.get(name, run.buffers.get(name))
    return run.attributes.get(name, (None, None))[1]


def _missing(name: str, left: Left) -> Judged:
    """Return the failure of a value that torch changes and that the port does not return."""
    before, after = left.before, left.after
    pair = isinstance(before, np.ndarray) and isinstance(after, np.ndarray)
    if not pair or np.shape(before) != np.shape(after):
        return _unlike(name, _shown(after), _shown(before))
    change = scale_of(np.asarray(after - before)) if _is_number(after) else 0.0
    return judge(name, after, before, scale=change or None)


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray) and x.size > 1:
        return f"{x.dtype}{list(x.shape)}"
    return str(x.item() if isinstance(x, np.ndarray) and x.size else x)


def _unlike(name: str, torch: str, jax: str) -> Judged:
    return Judged(name, "fail", 1.0, 0.0, 1.0, (), torch, jax)


def _unread(evidence: Evidence, wrong: Sequence[Compared]) -> Mapping[str, bool]:
    """Return the wrong values that no further call of torch's module reads."""
    names = tuple(dict.fromkeys(c.judged.name for c in wrong if c.left.before is not c.left.after))
    return evidence.unread(names) if names else {}


def needed(evidence: Evidence, compared: Sequence[Compared]) -> list[Compared]:
    """Leave out the values that differ and that nothing depends on."""
    unread = _unread(evidence, [c for c in compared if _is_wrong(c)])
    return [c for c in compared if not _is_idle(evidence, c, unread)]


def _is_idle(evidence: Evidence, compared: Compared, unread: Mapping[str, bool]) -> bool:
    """Return whether a value need not be compared, because nothing depends on it.

    The port must return a buffer that its params hold, unless the buffer is the counter of a layer
    of torch.nn. An attribute may be a cache; a port's params hold its value after the first call.
    """
    name = compared.judged.name
    if not _is_wrong(compared) or name not in unread or evidence.waivers.names("updates", name):
        return False
    after = compared.left.after
    if unread[name] and isinstance(after, np.ndarray) and not _is_number(after):
        return True
    if compared.path or compared.left.kind == "attribute":
        return not compared.path
    held = leaves_of(name.replace(".", "/"), evidence.port.program.param_paths)
    return not (held or evidence.port.weights.leaves_of(name))


def _not_compared(names: Iterable[str], program: str = "the port") -> tuple[str, ...]:
    """Return the note on values that torch changes and that nothing depends on."""
    listed = list(names)
    if not listed:
        return ()
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    return (
        f"not compared: {', '.join(listed[:4])}{more}. {program[0].upper()}{program[1:]} does not "
        "return this state, which torch's forward pass changes; this is not an error, because no "
        "further call of the module depends on it",
    )


def _finding(evidence: Evidence, draw: int, compared: Compared) -> Finding:
    """Describe a value that differs after one forward pass, or that the port does not return."""
    left, j, path, _ = compared
    kind, state = left.kind, evidence.port.program.state_paths
    if not path:
        free = _free(evidence, draw, left)
        returned = f"the new state has no leaf for it. {paths.nearest(state, [j.name])}"
        if free:
            returned = (
                "no leaf of the new state has its new value. Neither names nor values tell which "
                f"of {', '.join(free)} should have it: return the new state as a dict with torch's "
                "names"
            )
        text = (
            f"torch's forward pass changes the {kind}, and "
            f"{returned if state else 'fn returns no new state'}"
        )
        cause = "" if state else _ASK.says(evidence.reference)
        return Finding("updates", j.name, "no leaf", text, **j.worst, cause=cause)
    if left.before is left.after:
        program = wording.jax_program(evidence.reference)
        text = f"torch's forward pass leaves the {kind} unchanged, and {program} changes it"
        return Finding("updates", j.name, path, text, **j.worst)
    changed = isinstance(left.after, np.ndarray) and np.shape(left.before) == left.after.shape
    if not changed or not _is_number(left.after) or kind == "attribute":
        text = f"the {kind} differs after one forward pass"
        return Finding("updates", j.name, path, text, **j.worst)
    text = (
        f"the {kind}'s update in one forward pass is off by {j.share:.2g} (relative to the update)"
    )
    finding = Finding("updates", j.name, path, text, **j.worst)
    program = evidence.port.program
    keys = evidence.flow.outputs[len(program.out_paths) + program.state_paths.index(path)]
    finding = quoted(evidence, finding, evidence.flow.computed(keys))
    if kind != "buffer":
        return finding
    return with_cause(
        evidence,
        finding,
        lambda: running_statistics.explain(
            evidence, j.name, lambda runs: _of_buffers(evidence, runs)
        ),
    )


def _of_buffers(evidence: Evidence, runs: Sequence[TorchRun]) -> list[acceptance.Compared]:
    """Compare the buffers that the port returns too, on every draw.

    Args:
        evidence: All runs.
        runs: torch's forward pass on each draw, as it is or with another rule of update.
    """
    rows = []
    for k, (run, drawn) in enumerate(zip(runs, evidence.drawn, strict=True)):
        state = _state(evidence, k)
        start = drawn.draw.state
        found = compared_after(evidence, start, run, drawn.reruns, state, unchanged=drawn.run)
        for c in needed(evidence, found):
            if c.left.kind == "buffer" and c.path:
                values = acceptance.range_of(np.asarray(c.actual))
                rows.append(acceptance.compared(c.judged, values, draw=k))
    return rows


def _free(evidence: Evidence, draw: int, left: Left) -> list[str]:
    """Return the unpaired leaves of the new state that have the size of a value."""
    if not isinstance(left.after, np.ndarray):
        return []
    used = {path for c in _compared(evidence, draw) for path in c.path.split(", ")}
    state = _state(evidence, draw).items()
    return [path for path, x in state if x.size == left.after.size and path not in used]
