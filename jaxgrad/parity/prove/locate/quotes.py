"""Quote the line of the port that a finding names, and suggest a change of it.

The port is the JAX program, or torch's if JAX has the original.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from jaxgrad._core import source
from jaxgrad._core.source import Rule
from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.edits import (
    Edit,
    InTorch,
    argument,
    attached,
    detached,
    function_lines,
    source_line,
    suggest,
)
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side import lines
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.report import Finding
from jaxgrad.parity.prove.wording import TORCH


# What JAX and torch call the same argument.
_IN_TORCH = {
    "axis=": "dim=", "ddof=": "correction=", "approximate=True": 'approximate="tanh"',
    "approximate=False": 'approximate="none"',
}  # fmt: skip


NO_FIX = ("", "")


def quoted(
    evidence: Evidence,
    finding: Finding,
    key: Key | None,
    fix: tuple[str, str] = NO_FIX,
    write: InTorch | None = None,
    rule: Rule | None = None,
) -> Finding:
    """Add the port's line to a finding.

    Args:
        evidence: All runs.
        finding: The finding.
        key: Its JAX value, None if it is unknown.
        fix: What the JAX code contains and what it should contain, if the cause was tested.
        write: What torch's code needs in order to do what the JAX code does, if it was tested.
        rule: The derivative rule that has the JAX value's gradient, if the user's code defines it.
    """
    in_jax = evidence.reference == TORCH
    if rule is not None:
        finding = lines.of_rule(finding, rule, quote=in_jax)
    if in_jax:
        program = evidence.port.program
        return finding if rule is not None else lines.quoted(finding, program, key, fix)
    finding, line = _at(evidence, finding, finding.torch_line)
    if line is None:
        return finding
    edit = _suggested(line, *fix)
    if edit is None and write is not None and write.removed:
        edit = suggest(*line, write.removed, "")
    if edit is None and write is not None and write.argument:
        edit = argument(*line, finding.op, write.argument)
    return dataclasses.replace(finding, edit=edit)


def explained(evidence: Evidence, finding: Finding, why: Explanation) -> Finding:
    """Add the port's line to a finding whose wrong gradients have a tested cause."""
    if evidence.reference == TORCH:
        finding = lines.quoted(finding, evidence.port.program, why.key, *why.edit)
        if why.origin is not None:
            finding = lines.of_origin(finding, evidence.port.program, why.origin, why.confirmed)
        edit = finding.edit and dataclasses.replace(finding.edit, complete=why.places == 1)
        return dataclasses.replace(finding, edit=edit)
    finding, line = _at(evidence, finding, next(iter(why.lines), finding.torch_line))
    if line is None or not why.confirmed or len(why.lines) != 1:
        return finding
    only_in_jax = why.fix[0] == "stop_gradient"
    edit = attached(*line) if why.stops_torch else detached(*line) if only_in_jax else None
    return dataclasses.replace(finding, edit=edit)


def _at(evidence: Evidence, finding: Finding, at: str) -> tuple[Finding, tuple[str, int] | None]:
    """Return a finding that quotes torch's `file:line`, and the path and the number of the line."""
    if not finding.torch_line:
        finding = dataclasses.replace(finding, torch_line=at)
    line = _located(evidence.torch_side.module, at)
    text = source_line(*line).strip() if line is not None else ""
    return dataclasses.replace(finding, source=f"{at}: {text}" if text else ""), line


def lines_of_function(evidence: Evidence, line: str) -> set[str]:
    """Return the lines of torch's function that contains a `file:line`, each as `file:line`."""
    found = _located(evidence.torch_side.module, line)
    file = line.rpartition(":")[0]
    return {f"{file}:{number}" for number in function_lines(*found)} if found else set()


def _suggested(line: tuple[str, int], theirs: str, own: str) -> Edit | None:
    """Suggest to replace, in torch's code, what a change of the JAX code would replace it by."""
    if not (theirs and own):
        return None
    for names in ({}, _IN_TORCH):
        wrong, right = own, theirs
        for jax, torch in names.items():
            wrong, right = wrong.replace(jax, torch), right.replace(jax, torch)
        edit = suggest(*line, wrong, right)
        if edit is not None:
            return edit
    return None


def _located(module: Any, line: str) -> tuple[str, int] | None:
    """Return the path and the number of torch's `file:line`, if a class of the module is there."""
    name, _, number = line.rpartition(":")
    if module is None or not number.isdigit():
        return None
    from jaxgrad.parity.prove.record.torch_side.frames import is_users_file  # imports torch

    for kind in dict.fromkeys(map(type, module.modules())):
        try:
            path = inspect.getsourcefile(kind.forward) or ""
        except TypeError:
            continue
        if source.short_name(path) == name and is_users_file(path):
            return path, int(number)
    return None
