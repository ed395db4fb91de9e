"""Quote the line of the port that a finding names, and suggest a change of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jaxgrad._core import source
from jaxgrad.parity.prove.edits import Edit, source_line, stop, stop_whole, suggest
from jaxgrad.parity.prove.record.jax_side.flow import Origin, place
from jaxgrad.parity.prove.record.jax_side.gates import Gate
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key
from jaxgrad.parity.prove.report import Finding


def quoted(
    finding: Finding,
    program: JaxProgram,
    key: Key | None,
    fix: tuple[str, str] = ("", ""),
    closed: Sequence[Gate] = (),
) -> Finding:
    """Add the source line of a JAX value to a finding.

    Args:
        finding: The finding.
        program: The traced port.
        key: The JAX value, None if it is unknown.
        fix: What the code contains and what it should contain, if the cause was tested.
        closed: The uses of values whose gradients have to be stopped, if that was tested.
    """
    at = "" if key is None else place(program, key).partition(" (")[0]
    line, _, caller = at.partition(", called from ")
    path = source.file_of(program.equations.values(), line)
    if not path:
        return finding
    number = int(line.rpartition(":")[2])
    text = _quote(program, line)
    if text and (call := _quote(program, caller)):
        text = f"{text}; called from {call}"
    edit = suggest(path, number, *fix, _column(program, key, line))
    if edit is None and closed:
        edit = _stopped(program, closed)
    return dataclasses.replace(finding, source=text, edit=edit)


def _quote(program: JaxProgram, line: str) -> str:
    """Return a line of the port with its text, or "" if it cannot be read."""
    path = source.file_of(program.equations.values(), line)
    text = source_line(path, int(line.rpartition(":")[2])).strip() if path else ""
    return f"{line}: {text}" if text else ""


def of_rule(finding: Finding, rule: source.Rule, *, quote: bool = True) -> Finding:
    """Name the line of a derivative rule as the place in JAX, and quote it."""
    line = f"{source.short_name(rule.path)}:{rule.line}"
    finding = dataclasses.replace(finding, jax=f"{line} ({rule.name})")
    text = source_line(rule.path, rule.line).strip() if quote else ""
    return dataclasses.replace(finding, source=f"{line}: {text}") if text else finding


def of_origin(finding: Finding, program: JaxProgram, origin: Origin, confirmed: bool) -> Finding:
    """Quote the line that makes a value, and suggest to stop its gradient there."""
    text, span = _quote(program, origin.line), origin.span
    edit = stop_whole(span.path, span[1:]) if confirmed and span is not None else None
    return dataclasses.replace(finding, source=text or finding.source, edit=edit)


def _stopped(program: JaxProgram, uses: Sequence[Gate]) -> Edit | None:
    """Suggest a stop_gradient around each operand that uses a value, all in one line."""
    equations = [program.equations[use.path] for use in uses]
    spans = [source.user_span(eqn) for eqn in equations]
    known = [span for span in spans if span is not None]
    converts = {"broadcast_in_dim", "convert_element_type"} & {e.primitive.name for e in equations}
    if converts or len(known) < len(uses) or len({span.path for span in known}) > 1:
        return None
    operands = [(span[1:], use.operand) for span, use in zip(known, uses, strict=True)]
    return stop(known[0].path, operands)


def _column(program: JaxProgram, key: Key | None, line: str) -> int | None:
    """Return where in its line a JAX value is computed, if the line computes several like it."""
    if key is None or key[0] not in program.equations:
        return None
    own = program.equations[key[0]]
    columns = {
        source.column(eqn)
        for eqn in program.equations.values()
        if eqn.primitive.name == own.primitive.name and source.short_line(eqn) == line
    }
    return source.column(own) if len(columns) > 1 and source.short_line(own) == line else None
