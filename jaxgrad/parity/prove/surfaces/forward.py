"""The forward surface: compare the outputs, and find the first value that differs."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxgrad.parity.prove.align.align import SAME
from jaxgrad.parity.prove.align.fingerprint import negated, print_distance
from jaxgrad.parity.prove.causes import collectives, extra_masks, numbers, swapped_weights
from jaxgrad.parity.prove.causes import constants as unequal_constants
from jaxgrad.parity.prove.causes.constants import Unequal
from jaxgrad.parity.prove.dtypes import dtype_branches
from jaxgrad.parity.prove.evidence import NO_CAUSE, Evidence
from jaxgrad.parity.prove.judge import CONTROL_SIZES, Judged
from jaxgrad.parity.prove.locate import forward as locate_forward
from jaxgrad.parity.prove.locate import shuffled
from jaxgrad.parity.prove.locate.forward import LostRegion
from jaxgrad.parity.prove.locate.quotes import lines_of_function, quoted
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.jax_side.flow import leaf_of, place
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.record.torch_side.side import STATE
from jaxgrad.parity.prove.record.torch_side.values import MOVES, Change, Mistakes, Value
from jaxgrad.parity.prove.report import Finding, Judgement, Surface


if TYPE_CHECKING:
    from jaxgrad.parity.prove.causes.forward import Guess, Origins


MOST_MISTAKES = 3  # that are looked for, one after the other
_NOT_FINITE = "; JAX's outputs are not finite, so that they confirm no cause"
_ELSEWHERE = 2  # the rank of a torch value that a port may compute elsewhere


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
        located, notes = evidence.locate(lambda: _locate(evidence, draw, wrong), None, NO_CAUSE)
        if located is None:  # the place is known, whatever the search for a cause raised
            plain = Located((_plain(wrong[0]),))
            located, more = evidence.locate(
                lambda: _locate(evidence.without_searches(), draw, wrong), plain
            )
            notes = more or notes
        text = f"{wrong[0].name} {wrong[0].off}"
        if draw:
            text += ", but only with redrawn weights and inputs"
        return Judgement(
            Surface("forward", "fail", text, rows, located.findings),
            notes,
            located.mistakes if located.confirmed else None,
        )
    every = [evidence.judge_outputs(k, run.outputs) for k, run in enumerate(evidence.jax_runs)]
    noisy = next(((k, j) for k, each in enumerate(every) for j in each
                  if j.verdict == "inconclusive"), None)  # fmt: skip
    if noisy is not None:
        number, j = noisy
        text = f"{j.name}: rounding alone changes it too much to compare"
        text += " with redrawn weights and inputs" if number else ""
        text += f" ({j.doubt}{evidence.amplified(number)})"
        return Judgement(Surface("forward", "inconclusive", text, rows))
    passed = [j for j in judged if j.verdict == "pass"]
    largest = max((j.share for j in passed), default=0.0)
    modules = {c.module for c in evidence.runs[0].calls if c.outputs}
    matched = len(modules) - len(evidence.not_visible)
    verdicts = [j.verdict for j in judged]
    text = (
        f"{numbers.agreements('outputs', largest, 'their scale', verdicts)}"
        f"{numbers.zeros(verdicts)}; {matched} of {len(modules)} torch modules have a matching JAX "
        "value"
    )
    return Judgement(Surface("forward", "pass", text, rows, control=_control(evidence)))


class Located(NamedTuple):
    """The first places where the forward passes differ, one for each mistake of the port."""

    findings: tuple[Finding, ...]
    mistakes: Mistakes | None = None  # with which torch has all outputs of JAX, if they are known
    confirmed: bool = False  # whether no others explain the outputs as well


def _locate(evidence: Evidence, draw: int, wrong: Sequence[Judged]) -> Located:
    """Locate the first torch value that wrong outputs depend on and JAX does not compute.

    If a mistake explains this value but not the outputs, the search goes on in a torch that makes
    it too, and the findings of the next mistakes follow. A value that is only a multiple of torch's
    may be one by chance, as a sum of 16 elements is of their mean: other mistakes are tried before.
    """
    finding = _in_port(evidence, draw, wrong) if not evidence.mistakes else None
    finding = finding or _at_end(evidence, draw, wrong)
    if finding is not None:
        return Located((finding,))
    first: Finding | None = None
    for guess, finding, used in _scales_last(_guesses(evidence, draw, wrong)):
        if guess is None:
            return Located((first or finding,))
        if guess.complete:
            return Located((finding,), guess.mistakes(used), guess.confirmed)
        rest = _next(used, guess.changes) if guess.changes else None
        if rest is not None and rest.mistakes is not None:
            if guess.changes not in rest.mistakes.changes:  # the later ones explain everything
                return rest
            them = "change" if len(rest.findings) == 1 else "changes"
            cause = guess.cause(f", and with the {them} below its {evidence.results}")
            confirmed = guess.alone and rest.confirmed
            edit = finding.edit if confirmed else None
            before = dataclasses.replace(finding, cause=cause, tested=guess.alone, edit=edit)
            return Located((before, *rest.findings), rest.mistakes, confirmed)
        if not guess.weak and first is None:
            cause = finding.cause if guess.seen else ""
            first = dataclasses.replace(finding, cause=cause, edit=None)
    return Located((first or _plain(wrong[0]),))


def _scales_last(
    guesses: Iterator[tuple[Guess | None, Finding, Evidence]],
) -> Iterator[tuple[Guess | None, Finding, Evidence]]:
    """Yield the multiples that do not explain all outputs after the other mistakes."""
    multiples = []
    for found in guesses:
        guess = found[0]
        if guess is None:
            yield from multiples
        if guess is not None and guess.scales and not guess.complete:
            multiples.append(found)
        else:
            yield found


def _next(evidence: Evidence, changes: Sequence[Change]) -> Located | None:
    """Locate the next difference from a torch that makes one more mistake."""
    if len(evidence.mistakes) >= MOST_MISTAKES - 1:
        return None
    from jaxgrad.parity.prove.causes import changed as opening  # imports torch

    changed = opening.changed(evidence, changes)
    return None if changed is None else located(changed)


def located(evidence: Evidence) -> Located | None:
    """Locate the outputs that differ on the first draw on which one does; None if all agree."""
    draw = evidence.failed_output_draw
    if draw is None:
        return None
    judged = evidence.judge_outputs(draw, evidence.jax_runs[draw].outputs)
    return _locate(evidence, draw, [j for j in judged if j.verdict == "fail"])


def _ends(evidence: Evidence, draw: int, wrong: Sequence[Judged]) -> tuple[list[int], list[Key]]:
    """Return the torch values and the JAX values that are wrong outputs."""
    run = evidence.runs[draw]
    positions = {name or "output": k for k, name in enumerate(run.outputs)}
    ends = [run.output_values[positions[j.name]] for j in wrong]
    outs = [key for j in wrong for key in evidence.flow.outputs[positions[j.name]]]
    return [i for i in ends if i is not None], outs


def _at_end(evidence: Evidence, draw: int, wrong: Sequence[Judged]) -> Finding | None:
    """Return the finding of an output that JAX computes and does not return, or that is no call."""
    run, program, bad = evidence.runs[draw], evidence.port.program, wrong[0]
    ends, outs = _ends(evidence, draw, wrong)
    if not ends:
        return _plain(bad, place(program, outs[0]) if outs else "the output")
    if not all(evidence.alignments[draw].candidates[i] for i in ends):
        return None
    at = run.values[ends[0]]
    text = f"the result of torch's {at.op} occurs in the JAX program, which does not return it"
    module = at.module or locate_forward.ROOT
    where, cause = place(program, outs[0]), _multiple(evidence, bad.name)
    return Finding("forward", module, where, text, op=at.op, cause=cause, **bad.worst)


def _guesses(
    evidence: Evidence, draw: int, wrong: Sequence[Judged]
) -> Iterator[tuple[Guess | None, Finding, Evidence]]:
    """Yield the mistakes that may explain where the forward passes first differ, with findings.

    The last one is None: its finding names the place alone. The evidence is that of a torch that
    runs some calls step by step, if the place is inside one of them.
    """
    run, alignment = evidence.runs[draw], evidence.alignments[draw]
    weights = evidence.port.weights
    ends, outs = _ends(evidence, draw, wrong)
    lost = locate_forward.lost_in_jax(evidence.flow, alignment, outs)
    mapped = set(weights.names)
    region = locate_forward.lost_in_torch(run, alignment, ends)
    rows = locate_forward.rows_of_scans(run, alignment, evidence.port.program)

    prints = evaluation.spots(evidence.jax_runs[draw].prints)[1]

    @functools.cache
    def rank(i: int) -> int:
        if np.any(print_distance(negated(run.values[i].print), prints) < SAME):
            return _ELSEWHERE  # a correct port may subtract the negative
        return locate_forward.rank(run, alignment, lost, weights, i)

    def starts_without(merged: Set[int]) -> list[int]:
        rest = [i for i in region if i not in merged]
        inner = [i for i in rest if i not in rows]
        return locate_forward.origins(run, alignment, inner or rest, mapped)

    def origins(merged: Set[int]) -> list[int]:
        first = every = found = starts_without(merged)
        while found and min(map(rank, every)) == _ELSEWHERE:  # a correct port may lack them all
            found = starts_without(merged | set(every))
            every = [*every, *found]
        return sorted(every, key=rank) if found else first

    starts = origins(frozenset()) or ends[:1]
    in_order = _without_shuffled(evidence, draw, starts)
    if in_order is not None:
        yield from _guesses(in_order, draw, wrong)
        return
    alike = [i for i in starts if rank(i) == rank(starts[0])]
    last: Guess | None = None
    for guess in _tried(evidence, draw, origins):
        if guess.text:
            yield guess, _finding(evidence, draw, wrong, lost, alike, guess), evidence
        last = guess
    start = starts[0] if last is None else last.value
    deeper = _opened(evidence, run.values[start].op) if last is not None else None
    if deeper is not None and not _at_end(deeper, draw, wrong):
        yield from _guesses(deeper, draw, wrong)
    else:
        yield None, _finding(evidence, draw, wrong, lost, alike, last), evidence


def _without_shuffled(evidence: Evidence, draw: int, starts: Sequence[int]) -> Evidence | None:
    """Return the evidence without the operands of `starts` that JAX has in another order.

    Returns None if there are none, or no time.
    """
    if not starts or not evidence.rerunnable or not evidence.may_search():
        return None
    return shuffled.without_shuffled(evidence, draw, evidence.run_with_values(draw), starts)


def _finding(
    evidence: Evidence,
    draw: int,
    wrong: Sequence[Judged],
    lost: LostRegion,
    starts: Sequence[int],
    guess: Guess | None,
) -> Finding:
    """Describe the place of a guess, or of the first origin."""
    run, bad = evidence.runs[draw], wrong[0]
    program, weights = evidence.port.program, evidence.port.weights
    start = starts[0] if guess is None else guess.value
    value = run.values[start]
    sure = guess is not None and (guess.text or start != starts[0])
    module = value.module if sure else locate_forward.module_of(run, starts)
    operands = locate_forward.operands(run, lost, weights, start)
    keys = (
        lost.first(operands)
        or _of_shape(lost, value.shape if guess is not None and guess.text and guess.seen else None)
        or _ends(evidence, draw, wrong)[1]
    )
    moved = _shuffled(evidence, draw, start)
    lacking = None if guess is None else _lacking_call(evidence, draw, guess)
    keys = keys if lacking is None else [lacking]
    key = None if guess is None or guess.key in moved else guess.key
    key = next(iter(moved or keys), None) if key is None else key
    partial = ""
    if guess is not None and not guess.complete:
        finite = all(np.isfinite(x).all() for x in evidence.jax_runs[draw].outputs)
        partial = f", but not its {evidence.results}" if finite else _NOT_FINITE
    cause = guess.cause(partial) if guess is not None else ""
    confirmed = guess is not None and guess.confirmed
    if not cause and not evidence.mistakes:
        swap = swapped_weights.find(evidence, draw, named=False)
        cause, confirmed = ("", False) if swap is None else (swap.text, True)
    reads = start if cause else starts[0]  # a step on the way to a constant may differ
    table = unequal_constants.find(evidence, draw, reads)
    other = None if cause else _transposed(evidence, draw, start)
    found = _found(evidence, draw, start, key)
    op = value.part or value.op
    called = None if guess is None else guess.discrete
    if called is not None:
        module, op = called.module, called.op
        at = evidence.run_with_values(draw).values[start].line
        found = (
            f"the result of torch's {op} is not floating. The first floating value that differs is "
            f"the {list(value.shape)} output of torch's {value.op} at {at}."
        )
    if other is not None:
        number, key = other
        found += f" JAX has the result of torch's {run.values[number].op} only transposed."
    if table is not None:
        found = _lacking(unequal_constants.read_by(evidence, draw, reads, table), table)
    if table is not None and not cause:
        module, op, key = table.value.module, table.value.op, table.key or key
    finding = Finding(
        "forward",
        module or locate_forward.ROOT,
        "the output, a constant" if key is None else place(program, key),
        f"{found} The {_noun(bad.name)} {bad.off}",
        **bad.worst,
        cause=cause or _unused(evidence, draw, start),
        tested=confirmed,
        op=op,
        torch_line=guess.line if guess is not None else "",
        ruled_out=guess.tried if guess is not None else (),
    )
    if guess is None:
        return quoted(evidence, finding, key)
    return quoted(evidence, finding, key, guess.fix, guess.write)


def _lacking_call(evidence: Evidence, draw: int, guess: Guess) -> Key | None:
    """Return the JAX value to which a call that is missing should have been applied.

    It is known if the call is the last one of a function of torch's code: whatever reads the
    result is in another function.
    """
    if not guess.write.removed:
        return None
    run, alignment = evidence.run_with_values(draw), evidence.alignments[draw]
    value = run.values[guess.value]
    own = [k for k in value.inputs if k != guess.value and run.values[k].shape == value.shape]
    readers = [v.line for v in run.values if guess.value in v.inputs and v is not value]
    if len(own) != 1 or not alignment.candidates[own[0]]:
        return None
    function = lines_of_function(evidence, value.line)
    if run.values[own[0]].line not in function or not readers or function & {*readers}:
        return None
    return alignment.spots[alignment.candidates[own[0]][-1]].key


def _of_shape(lost: LostRegion, shape: Sequence[int] | None) -> list[Key]:
    """Return all lost values, first those of a shape that the value of a known cause has."""
    equations = lost.flow.program.equations

    def is_other(key: Key) -> bool:
        aval = equations[key[0]].outvars[key[1]].aval
        return shape is not None and getattr(aval, "shape", ()) != tuple(shape)

    return sorted(lost.in_order(), key=is_other)


def _noun(name: str) -> str:
    """Return what a sentence calls an output, or a value of the state that counts as one."""
    if name in ("output", "loss"):
        return "final output" if name == "output" else "loss"
    kind, _, rest = name.partition("/")
    return f"new value of {rest}" if kind == STATE else f"output {name!r}"


def _shuffled(evidence: Evidence, draw: int, i: int) -> list[Key]:
    """Return the JAX values with a value's elements in another order, those of its shape first.

    A call that only moves elements is where the programs diverge only if JAX moves them otherwise.
    """
    alignment, run = evidence.alignments[draw], evidence.runs[draw]
    equations = evidence.port.program.equations
    moved = alignment.candidates[i] if run.values[i].op in MOVES else ()
    keys = [alignment.spots[k].key for k in alignment.shuffled.get(i, moved)]

    def has_other_shape(key: Key) -> bool:
        eqn = None if leaf_of(key) is not None else equations.get(key[0])
        return eqn is None or getattr(eqn.outvars[key[1]].aval, "shape", ()) != run.values[i].shape

    return sorted(keys, key=has_other_shape)


def _in_port(evidence: Evidence, draw: int, wrong: Sequence[Judged]) -> Finding | None:
    """Return a mistake without which the port itself has torch's outputs."""
    run, program, bad = evidence.runs[draw], evidence.port.program, wrong[0]
    ends, _ = _ends(evidence, draw, wrong)
    text = f"{bad.name} {bad.off}"
    swap = swapped_weights.find(evidence, draw, named=True)
    if swap is not None:
        return Finding("forward", swap.torch, swap.jax, text, cause=swap.text, tested=True,
                       **bad.worst)  # fmt: skip
    total = collectives.wrong_sum(evidence, draw)
    if total is not None:
        at = run.values[ends[0]] if ends else None
        module, op = (at.module, at.op) if at is not None else ("", "")
        return Finding("forward", module or locate_forward.ROOT, place(program, total[0]), text,
                       op=op, cause=total[1], tested=True, **bad.worst)  # fmt: skip
    extra = extra_masks.find(evidence, draw)
    if extra is None:
        return None
    at = run.values[extra.value]
    finding = Finding("forward", at.module or locate_forward.ROOT, place(program, extra.key), text,
                      op=at.op, cause=extra.text, tested=True, **bad.worst)  # fmt: skip
    return quoted(evidence, finding, extra.key)


def _transposed(evidence: Evidence, draw: int, start: int) -> tuple[int, Key] | None:
    """Return the operand of a torch call that JAX has only transposed, with JAX's value."""
    values = evidence.runs[draw].values
    shapes = [[n for n in values[i].shape if n != 1] for i in values[start].inputs]
    if not evidence.rerunnable or all(len(set(shape)) == len(shape) for shape in shapes):
        return None
    return shuffled.transposed(evidence, draw, evidence.run_with_values(draw), start)


def _found(evidence: Evidence, draw: int, start: int, key: Key | None = None) -> str:
    """Say what of a torch call occurs in the JAX program; `key` is the JAX value of the finding."""
    run, alignment = evidence.runs[draw], evidence.alignments[draw]
    value = run.values[start]
    given = {i for i in value.inputs if run.values[i].op in ("input", *locate_forward.REPEATS)}
    if alignment.matches(start) and key is not None and key not in alignment.known:
        output = f"the output of torch's {value.op}"
        copies = {alignment.spots[k].key for k in alignment.matches(start)}
        if copies & evidence.flow.back([key], set()):
            return f"{output} also occurs in JAX, which then changes it."
        return f"{output} also occurs in JAX, but JAX has another value at this place."
    if alignment.matches(start) or start in alignment.shuffled:
        return f"the elements of torch's {value.op} output occur in JAX in another order or place."
    output = f"{list(value.shape)} output"
    if not all(alignment.visible(i) for i in value.inputs if i not in given):
        return f"the {output} of torch's {value.op} does not occur in the JAX program."
    every = "every floating input" if value.unchecked or value.integers else "every input"
    return (
        f"{every} of torch's {value.op} also occurs in the JAX program, but its {output} does not."
    )


def _lacking(value: Value, table: Unequal) -> str:
    """Say which constant that a torch call depends on does not occur in the JAX program."""
    return (
        f"{table.what} does not occur in the JAX program, and neither does the "
        f"{list(value.shape)} output of torch's {value.op}, which depends on it."
    )


def _unused(evidence: Evidence, draw: int, start: int) -> str:
    """Name an input of a torch call that JAX computes in vain, as a lone `x.at[i].set(y)` does."""
    flow, alignment = evidence.flow, evidence.alignments[draw]
    if any(eqn.primitive.name == "while" for eqn in flow.program.equations.values()):
        return ""  # its condition uses values on which no output depends
    value = evidence.runs[draw].values[start]
    if value.op == locate_forward.INNER_GRADIENT:
        return ""  # a port needs no value of what it differentiates
    for i in value.inputs:
        keys = [alignment.spots[k].key for k in alignment.candidates[i]]
        if keys and not flow.used & set(keys):
            base = flow.computed(keys)
            if base is None or base in flow.used or flow.only_rearranges(base):
                continue  # it is a copy of a value or a leaf, which the port may well use
            where = place(flow.program, keys[0])
            return f"torch's {value.op} reads the value that JAX computes at {where} and never uses"
    return ""


def _opened(evidence: Evidence, op: str) -> Evidence | None:
    from jaxgrad.parity.prove.causes import changed as opening  # imports torch

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


def _tried(evidence: Evidence, draw: int, origins: Origins) -> Iterator[Guess]:
    """Try common porting mistakes in torch, on the last draw that fails.

    The user's weights may contain equal constants (a bias of zeros), but redrawn weights do not.
    """
    if not (evidence.rerunnable and evidence.searches):
        return
    from jaxgrad.parity.prove.causes import forward as forward_causes

    for last in reversed(range(len(evidence.runs))):
        judged = evidence.judge_outputs(last, evidence.jax_runs[last].outputs)
        if any(j.verdict == "fail" for j in judged):
            same = evidence.alignments[last] is evidence.alignments[draw]
            yield from forward_causes.guesses(evidence, last if same else draw, origins)
            return


def _control(evidence: Evidence) -> str:
    """Change one value inside the JAX program, and check that the outputs then differ."""
    spots = [evidence.alignments[0].spot(i) for i in evidence.control_values]
    keys = [spot.key for spot in spots if spot is not None and not spot.iteration]
    unchanged = dict.fromkeys([k for k in keys if k != evidence.control_key], np.float64(1))
    for size, key in itertools.product(CONTROL_SIZES, keys):
        if key == evidence.control_key:
            outputs = evidence.gradients(evidence.draws[0], value=1 + size).outputs
        else:  # one program with a factor for each key, which is compiled once
            scales = unchanged | {key: np.float64(1 + size)}
            outputs = evidence.port.outputs(evidence.draws[0], scales)
        if any(j.verdict == "fail" for j in evidence.judge_outputs(0, outputs, control=True)):
            where = place(evidence.port.program, key)
            return f"an error of {size:g} injected at {where} was detected"
    return ""
