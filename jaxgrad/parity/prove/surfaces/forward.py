"""The forward surface: compare the outputs, and find the first value that differs."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

import numpy as np

from jaxgrad.parity.prove.align.align import Alignment
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side.flow import place
from jaxgrad.parity.prove.jax_side.lines import quoted
from jaxgrad.parity.prove.jax_side.program import Key
from jaxgrad.parity.prove.judge import CONTROL_SIZE, Judged
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.surfaces import (
    collectives,
    dtype_branches,
    extra_masks,
    locate_forward,
    numbers,
    swapped_weights,
)
from jaxgrad.parity.prove.torch_side.values import TorchRun


if TYPE_CHECKING:
    from jaxgrad.parity.prove.surfaces.forward_causes import Guess, Origins


def surface(evidence: Evidence) -> Judgement:
    """Judge every output, and note that torch takes another branch in float32."""
    return dtype_branches.noted(evidence, _judged(evidence))


def _judged(evidence: Evidence) -> Judgement:
    """Judge every output on the first draw on which one differs, or else on the first draw."""
    draw = evidence.failed_output_draw
    judged = evidence.judge_outputs(draw or 0, evidence.jax_runs[draw or 0].outputs)
    rows = tuple(j.row() for j in judged)
    if draw is not None:
        wrong = [j for j in judged if j.verdict == "fail"]
        finding, notes = evidence.locate(lambda: _locate(evidence, draw, wrong), _plain(wrong[0]))
        text = f"{wrong[0].name} is off by {wrong[0].share:.2g} (relative to its scale)"
        if draw:
            text += " with redrawn weights and inputs, but not with the given ones"
        return Judgement(Surface("forward", "fail", text, rows, (finding,)), notes)
    every = [evidence.judge_outputs(k, run.outputs) for k, run in enumerate(evidence.jax_runs)]
    noisy = next(((k, j) for k, each in enumerate(every) for j in each
                  if j.verdict == "inconclusive"), None)  # fmt: skip
    if noisy is not None:
        number, j = noisy
        size = j.allowed / j.scale
        text = f"{j.name}: rounding alone changes it by {size:.1g} (relative to its scale)"
        text += " with redrawn weights and inputs" if number else ""
        return Judgement(Surface("forward", "inconclusive", text, rows))
    passed = [j for j in judged if j.verdict == "pass"]
    largest = max((j.share for j in passed), default=0.0)
    modules = {c.module for c in evidence.runs[0].calls if c.outputs}
    matched = len(modules) - len(evidence.not_visible)
    text = (
        f"outputs {numbers.agreement(largest, 'their scale')}; {matched} of "
        f"{len(modules)} torch modules have a matching JAX value"
    )
    return Judgement(Surface("forward", "pass", text, rows, control=_control(evidence)))


def _locate(evidence: Evidence, draw: int, wrong: Sequence[Judged]) -> Finding:
    """Locate the first torch value that wrong outputs depend on and JAX does not compute."""
    run, alignment, bad = evidence.runs[draw], evidence.alignments[draw], wrong[0]
    program, weights = evidence.port.program, evidence.port.weights
    positions = {name or "output": k for k, name in enumerate(run.outputs)}
    ends = [run.output_values[positions[j.name]] for j in wrong]
    ends = [i for i in ends if i is not None]
    outs = [key for j in wrong for key in evidence.flow.outputs[positions[j.name]]]
    swap = swapped_weights.find(evidence, named=True)
    if swap is not None:
        text = f"{bad.name} is off by {bad.share:.2g} (relative to its scale)"
        return Finding("forward", swap.torch, swap.jax, text, cause=swap.text, tested=True,
                       **bad.worst)  # fmt: skip
    total = collectives.wrong_sum(evidence, draw)
    if total is not None:
        at = run.values[ends[0]] if ends else None
        text = f"{bad.name} is off by {bad.share:.2g} (relative to its scale)"
        module, op = (at.module, at.op) if at is not None else ("", "")
        return Finding("forward", module or locate_forward.ROOT, place(program, total[0]), text,
                       op=op, cause=total[1], tested=True, **bad.worst)  # fmt: skip
    extra = extra_masks.find(evidence, draw)
    if extra is not None:
        at = run.values[extra.value]
        text = f"{bad.name} is off by {bad.share:.2g} (relative to its scale)"
        finding = Finding("forward", at.module or locate_forward.ROOT, place(program, extra.key),
                          text, op=at.op, cause=extra.text, tested=True,
                          **bad.worst)  # fmt: skip
        return quoted(finding, program, extra.key)
    if ends and all(alignment.candidates[i] for i in ends):
        at = run.values[ends[0]]
        text = f"the result of torch's {at.op} occurs in the JAX program, which does not return it"
        module = at.module or locate_forward.ROOT
        where, cause = place(program, outs[0]), _multiple(evidence, bad.name)
        return Finding("forward", module, where, text, op=at.op, cause=cause, **bad.worst)
    if not ends:
        where = place(program, outs[0]) if outs else "the output"
        return _plain(bad, where)
    lost = locate_forward.lost_in_jax(evidence.flow, alignment, outs)
    mapped = set(weights.names)
    region = locate_forward.lost_in_torch(run, alignment, ends)
    rows = locate_forward.rows_of_scans(run, alignment, program)

    def origins(merged: Set[int]) -> list[int]:
        rest = [i for i in region if i not in merged]
        inner = [i for i in rest if i not in rows]
        starts = locate_forward.origins(run, alignment, inner or rest, mapped)
        return locate_forward.likely(run, lost, weights, starts)

    starts = origins(frozenset()) or ends[:1]
    guess = _guess(evidence, draw, origins)
    start = starts[0] if guess is None else guess.value
    value = run.values[start]
    deeper = _opened(evidence, value.op) if guess is not None and not guess.text else None
    if deeper is not None:
        return _locate(deeper, draw, wrong)
    sure = guess is not None and (guess.text or start != starts[0])
    module = value.module if sure else locate_forward.module_of(run, starts)
    operands = locate_forward.operands(run, lost, weights, start)
    keys = lost.first(operands) or lost.in_order() or outs
    key = guess.key if guess is not None and guess.key is not None else next(iter(keys), None)
    cause = guess.text if guess is not None else ""
    if not cause:
        swap = swapped_weights.find(evidence, named=False)
        cause = "" if swap is None else swap.text
    names = {"output": "final output", "loss": "loss"}
    finding = Finding(
        "forward",
        module or locate_forward.ROOT,
        "the output, a constant" if key is None else place(program, key),
        f"{_found(run, alignment, start, key)} The {names.get(bad.name, f'output {bad.name!r}')} "
        f"is off by {bad.share:.2g} (relative to its scale)",
        **bad.worst,
        cause=cause or _unused(evidence, draw, start),
        tested=bool(cause),
        op=value.part or value.op,
        torch_line=guess.line if guess is not None else "",
        ruled_out=guess.tried if guess is not None else (),
    )
    return quoted(finding, program, key, guess.fix if guess is not None else ("", ""))


def _found(run: TorchRun, alignment: Alignment, start: int, key: Key | None = None) -> str:
    """Say what of a torch call occurs in the JAX program; `key` is the JAX value of the finding."""
    value = run.values[start]
    given = {i for i in value.inputs if run.values[i].op in ("input", *locate_forward.REPEATS)}
    if alignment.matches(start) and key is not None and key not in alignment.known:
        return f"the output of torch's {value.op} also occurs in JAX, which then changes it."
    if alignment.matches(start):
        return f"the elements of torch's {value.op} output occur in JAX in another order or place."
    output = f"{list(value.shape)} output"
    if not all(alignment.visible(i) for i in value.inputs if i not in given):
        return f"the {output} of torch's {value.op} does not occur in the JAX program."
    return (
        f"every input of torch's {value.op} also occurs in the JAX program, but its {output} does "
        "not."
    )


def _unused(evidence: Evidence, draw: int, start: int) -> str:
    """Name an input of a torch call that JAX computes in vain, as a lone `x.at[i].set(y)` does."""
    flow, alignment = evidence.flow, evidence.alignments[draw]
    if any(eqn.primitive.name == "while" for eqn in flow.program.equations.values()):
        return ""  # its condition uses values on which no output depends
    used = flow.back((key for keys in flow.outputs for key in keys), set())
    value = evidence.runs[draw].values[start]
    for i in value.inputs:
        keys = [alignment.spots[k].key for k in alignment.candidates[i]]
        if keys and not used & set(keys):
            where = place(flow.program, keys[0])
            return f"torch's {value.op} reads the value that JAX computes at {where} and never uses"
    return ""


def _opened(evidence: Evidence, op: str) -> Evidence | None:
    from jaxgrad.parity.prove.surfaces import opening  # imports torch

    return opening.opened(evidence, op)


def _plain(bad: Judged, where: str = "the output") -> Finding:
    return Finding("forward", "(the outputs)", where, f"{bad.name} differs", **bad.worst)


def _multiple(evidence: Evidence, name: str) -> str:
    """Describe the factor between an output in torch and in JAX if it is the same on every draw."""
    factors = []
    for drawn, watched in zip(evidence.drawn, evidence.jax_runs, strict=True):
        names = [output or "output" for output in drawn.run.outputs]
        x = list(drawn.run.outputs.values())[names.index(name)].ravel()
        y = np.ravel(watched.outputs[names.index(name)])
        factor = float(np.vdot(x, y).real / (np.vdot(x, x).real or 1.0)) if x.size == y.size else 0
        if not factor or np.linalg.norm(y - factor * x) > 1e-9 * np.linalg.norm(y):
            return ""
        factors.append(factor)
    if np.ptp(factors) > 1e-9 * abs(factors[0]):
        return ""
    what = {"loss": "loss", "output": "output"}.get(name, f"output {name!r}")
    return f"JAX's {what} is torch's times {numbers.as_written(factors[0])}, on both draws"


def _guess(evidence: Evidence, draw: int, origins: Origins) -> Guess | None:
    """Try common porting mistakes in torch, on the last draw that fails.

    The user's weights may contain equal constants (a bias of zeros), but redrawn weights do not.
    """
    if not evidence.rerunnable:
        return None
    from jaxgrad.parity.prove.surfaces import forward_causes

    for last in reversed(range(len(evidence.runs))):
        judged = evidence.judge_outputs(last, evidence.jax_runs[last].outputs)
        if any(j.verdict == "fail" for j in judged):
            same = evidence.alignments[last] is evidence.alignments[draw]
            return forward_causes.guess(evidence, last if same else draw, origins)
    return None


def _control(evidence: Evidence) -> str:
    """Change one value inside the JAX program, and check that the outputs then differ."""
    spots = [evidence.alignments[0].spot(i) for i in evidence.control_values]
    keys = [spot.key for spot in spots if spot is not None and not spot.iteration]
    unchanged = dict.fromkeys([k for k in keys if k != evidence.control_key], np.float64(1))
    for key in keys:
        if key == evidence.control_key:
            outputs = evidence.gradients(evidence.draws[0], value=1 + CONTROL_SIZE).outputs
        else:  # one program with a factor for each key, which is compiled once
            scales = unchanged | {key: np.float64(1 + CONTROL_SIZE)}
            outputs = evidence.port.outputs(evidence.draws[0], scales)
        if any(j.verdict == "fail" for j in evidence.judge_outputs(0, outputs)):
            where = place(evidence.port.program, key)
            return f"an error of {CONTROL_SIZE:g} injected at {where} was detected"
    return ""
