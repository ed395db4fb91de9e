"""The precision surface: compare which values each program rounds below float32."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from jaxgrad.parity.prove.dtypes import rounded_outputs
from jaxgrad.parity.prove.dtypes.roundings import Comparison, Rounding, representative
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate.forward import ROOT
from jaxgrad.parity.prove.record.jax_side import native as jax_native
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.record.jax_side.inject import retraced
from jaxgrad.parity.prove.record.jax_side.native import LOW
from jaxgrad.parity.prove.record.jax_side.program import Key, Spot
from jaxgrad.parity.prove.record.torch_side.values import Native, Stored
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.training import Training, as_training
from jaxgrad.parity.prove.training_steps import state_dtypes
from jaxgrad.parity.prove.wording import jax_program


def surface(evidence: Evidence, request: Request) -> Judgement:
    """Judge whether the same values and optimizer states are stored below float32."""
    program, side = evidence.port.program, evidence.torch_side
    torch, own = evidence.native, evidence.native_program
    notes = _notes(evidence, torch)
    if isinstance(own, Exception):
        called = jax_program(evidence.reference)
        text = f"{called} cannot be traced in the dtypes of its params: {type(own).__name__}: {own}"
        return Judgement(Surface("precision", "not judged", text.split("\n", maxsplit=1)[0]), notes)
    low = jax_native.is_low(own)
    if low and not torch.low:
        torch = side.native(evidence.draws, always=True)
    states: tuple[Finding, ...] = ()
    if request.optimizer is not None:
        states = _states(evidence, as_training(request.optimizer))
    if not torch.low and not low:
        wide = torch.working == jax_native.working_dtype(program) == "float64" and not program.casts
        text = f"neither program rounds a value below {'float64' if wide else 'float32'}"
        return Judgement(_surface(text, findings=states), notes)
    if torch.error:
        return Judgement(Surface("precision", "not judged", torch.error), notes)
    port = retraced(evidence.port, own, evidence.draws[0])
    comparison = Comparison(torch, jax_native.values(port, torch, evidence.draws))
    wrong, more_precise = _judged(comparison, evidence)
    sizes = _sizes(evidence)
    findings = [_finding(comparison, rounding, sizes) for rounding in wrong]
    alone = [] if wrong else _alone(comparison, evidence)
    if alone and not torch.low:
        findings.append(_not_in_torch(comparison, alone[0]))
    if more_precise and not findings:
        notes = (*notes, _more_precise(comparison, more_precise, sizes))
    if wrong:
        first = _finding(comparison, representative(wrong, comparison), sizes)
        findings = [first, *(f for f in findings if f != first)]
    rows, control = _rows(comparison, wrong), _control(comparison)
    if findings or states:
        every = [*findings, *states]
        text = _wrong(wrong) if wrong else every[0].text
        return Judgement(_surface(text, rows, every, control), notes)
    verdict, text = _backed(comparison, evidence, alone, more_precise)
    return Judgement(Surface("precision", verdict, text, rows, control=control), notes)


def _surface(
    text: str, rows: Any = (), findings: Sequence[Finding] = (), control: str = ""
) -> Surface:
    verdict = "fail" if findings else "pass"
    if findings and not rows:
        text = findings[0].text
    return Surface("precision", verdict, text, rows, tuple(findings), control)


def _judged(comparison: Comparison, evidence: Evidence) -> tuple[list[Rounding], list[Rounding]]:
    """Return the roundings that are errors, and those with which JAX is more precise than torch."""
    working = comparison.torch.working
    wider = working in LOW and jax_native.working_dtype(evidence.port.program) not in LOW
    wrong, more_precise = [], []
    for rounding in comparison.differences():
        if rounding.in_jax:
            if rounding.inside or not comparison.rounds_later(rounding):
                wrong.append(rounding)
        elif comparison.kept_within(rounding) or (wider and rounding.dtype == working):
            more_precise.append(rounding)
        else:
            wrong.append(rounding)
    return wrong, more_precise


Sizes = Mapping[tuple[str, str], Set[int]]  # of the results of torch's calls, by module and name


def _sizes(evidence: Evidence) -> Sizes:
    sizes: dict[tuple[str, str], set[int]] = {}
    for value in evidence.runs[0].values:
        sizes.setdefault((value.module, value.op), set()).add(math.prod(value.shape))
    return sizes


def _finding(comparison: Comparison, rounding: Rounding, sizes: Sizes) -> Finding:
    """Describe a value that one program alone rounds."""
    value, dtype = rounding.value, rounding.dtype
    what, kept = _described(comparison, rounding, sizes), _widest(comparison, rounding)
    who, other = ("JAX", "torch") if rounding.in_jax else ("torch", "JAX")
    text = f"{who} rounds {what} to {dtype}, and {other} keeps it in {kept}"
    if rounding.inside:
        text = (
            f"JAX computes {what} from numbers that it rounds to {dtype}, and torch computes it "
            f"in {kept}"
        )
    given = comparison.name(rounding.first) == "input"
    return Finding(
        "precision",
        "input" if given else value.module or ROOT,
        place(comparison.flow.program, rounding.key),
        text,
        op="" if given else value.op,
    )


def _widest(comparison: Comparison, rounding: Rounding) -> str:
    """Return the widest dtype in which the program that does not round keeps a value."""
    if rounding.in_jax:
        dtypes = [comparison.values[i].dtype for i in comparison.groups[rounding.first]]
    else:
        dtypes = [comparison.jax.dtype(key) for key in comparison.keys(rounding.first)]
    return max(dtypes, key=lambda name: name not in LOW)


def _described(comparison: Comparison, rounding: Rounding, sizes: Sizes) -> str:
    name, value = comparison.name(rounding.first), rounding.value
    if name:
        return "an input" if name == "input" else f"the weight {name}"
    results = sizes.get((value.module, value.op))
    # The log-softmax inside a cross-entropy has more elements than the loss.
    inside = results is not None and round(float(value.print[0])) not in results
    return f"{'a value inside' if inside else 'the result of'} torch's {value.op}"


_MOST = 30  # values whose numbers are read; further ones count as rounded


def _alone(comparison: Comparison, evidence: Evidence) -> list[Key]:
    """Return the values that JAX rounds and torch does not compute, in program order.

    A value that its dtype represents exactly, as a mask, is not rounded.
    """
    port, draw = comparison.jax.port, evidence.draws[-1]
    stored = jax_native.as_stored(draw, comparison.torch)

    def changes(key: Key) -> bool:
        x = port.value(stored, Spot(*key, (0,) * len(port.program.lengths[key[0]])))
        low = x.astype(np.dtype(comparison.jax.dtype(key))).astype(x.dtype)
        return not np.array_equal(x, low, equal_nan=True)

    keys = comparison.rounded_alone()
    return [key for n, key in enumerate(keys) if n >= _MOST or changes(key)]


def _not_in_torch(comparison: Comparison, key: Key) -> Finding:
    """Describe a value that JAX rounds and that torch, which rounds nothing, does not compute."""
    value, dtype = comparison.next_value(key), comparison.jax.dtype(key)
    return Finding(
        "precision",
        (value.module or ROOT) if value is not None else ROOT,
        place(comparison.flow.program, key),
        f"JAX rounds a value to {dtype}, and torch rounds none below float32",
        op=value.op if value is not None else "",
    )


def _wrong(wrong: Sequence[Rounding]) -> str:
    of_jax = sum(rounding.in_jax for rounding in wrong)
    parts = [(of_jax, "only JAX"), (len(wrong) - of_jax, "only torch")]
    return "; ".join(f"{who} rounds {counted(n, 'value')} below float32" for n, who in parts if n)


def _backed(
    comparison: Comparison,
    evidence: Evidence,
    alone: Sequence[Key],
    more_precise: Sequence[Rounding],
) -> tuple[str, str]:
    """Return the verdict and its text if no value is rounded wrongly, as far as values match.

    The surface passes only if every rounded JAX value matches, and a run of both programs in their
    own dtypes confirms that nothing else is rounded.
    """
    wider = len({rounding.first for rounding in more_precise})
    same = len(comparison.compared) - wider
    text = (
        f"both programs round the same {'value' if same == 1 else f'{same} values'} below float32"
    )
    if not comparison.compared:
        text = "no value that torch computes is rounded below float32"
    if wider:
        text += f", and torch rounds {counted(wider, 'value')} that JAX keeps in a wider dtype"
    difference = rounded_outputs.largest(
        comparison.torch, comparison.jax, evidence.draws, jax_program(evidence.reference)
    )
    if alone:
        value, where = comparison.next_value(alone[0]), place(comparison.flow.program, alone[0])
        before = "" if value is None else f", before torch's {_called(value)}"
        text += (
            f"; JAX also rounds {counted(len(alone), 'value')} without a match in torch, "
            f"{'' if len(alone) == 1 else 'first '}at {where}{before}"
        )
        return "not judged", f"{text}; {difference}"
    if isinstance(difference, str):
        return "not judged", f"{text}, but this was not confirmed by a run: {difference}"
    if difference.agrees:
        return "pass", f"{text}; in their own dtypes, their outputs agree"
    if wider:
        return "pass", f"{text}; {difference}"
    return "not judged", f"{text}, but another rounding was not found: {difference}"


def _called(value: Stored) -> str:
    return f"{value.op} in {value.module}" if value.module else value.op


def _rows(comparison: Comparison, wrong: Sequence[Rounding]) -> tuple[dict[str, Any], ...]:
    """Return a row for each value that a program rounds."""
    bad = {rounding.first for rounding in wrong}
    rows = []
    for first in comparison.compared:
        value = comparison.values[first]
        fails = first in bad
        torch = {comparison.values[i].dtype for i in comparison.groups[first]}
        jax = {comparison.jax.dtype(key) for key in comparison.keys(first)}
        rows.append(
            {
                "name": f"{value.module or ROOT} ({value.name or value.op})",
                "verdict": "fail" if fails else "pass",
                "difference": float(fails),
                "allowed": 0.0,
                "index": [],
                "torch": ", ".join(sorted(torch)),
                "jax": ", ".join(sorted(jax)),
            }
        )
    return tuple(rows)


def _more_precise(comparison: Comparison, roundings: Sequence[Rounding], sizes: Sizes) -> str:
    first = roundings[0]
    what, module = _described(comparison, first, sizes), first.value.module or ROOT
    values = "a value" if len(roundings) == 1 else f"{len(roundings)} values"
    return (
        f"JAX is more precise than torch: it keeps {values} in float32 that torch rounds to "
        f"{first.dtype}, {'' if len(roundings) == 1 else 'first '}{what} in {module} (at "
        f"{place(comparison.flow.program, first.key)})"
    )


def _control(comparison: Comparison) -> str:
    """Suppose that JAX rounds one more value, and check that the comparison then fails."""
    before = len(comparison.differences())
    for first in comparison.groups:
        keys, value = comparison.keys(first), comparison.values[first]
        dtypes = {comparison.jax.dtype(key) for key in keys} | comparison.in_torch(first)
        for dtype in LOW:
            if keys and not value.constant and dtype not in {*dtypes, *value.fits}:
                if len(comparison.differences(cast=(first, dtype))) > before:
                    where = place(comparison.flow.program, keys[0])
                    return f"a cast to {dtype} injected at {where} was detected"
    return ""


def _states(evidence: Evidence, training: Training) -> tuple[Finding, ...]:
    """Compare the dtypes of the optimizers' states."""
    expected = evidence.torch_side.state_dtypes(training)
    actual = state_dtypes.of_optax(evidence.port.program, training.optax)
    return state_dtypes.findings(expected, actual)


def _notes(evidence: Evidence, torch: Native) -> tuple[str, ...]:
    """Describe float32 inside a float64 program, and params of different dtypes."""
    program, called = evidence.port.program, jax_program(evidence.reference)
    notes = []
    if torch.working == "float64" and program.casts:
        lines = "; ".join(program.casts[:4])
        notes.append(f"the module computes in float64, and {called} in float32 at {lines}")
    elif program.rejects_float64:
        notes.append(f"{called} rejects float64, so it was traced in float32")
    working = jax_native.working_dtype(program)
    if torch.working != working and working == "float32":
        notes.append(
            f"torch's parameters are stored in {torch.working}, {called}'s params in {working}"
        )
    return tuple(notes)
