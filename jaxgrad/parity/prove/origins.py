"""Mark the findings that follow from the first divergence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.report import Finding, Surface


def first_divergence(surfaces: Mapping[str, Surface]) -> Finding | None:
    """Return the first finding of the first surface that fails, or None."""
    return next((f for s in surfaces.values() for f in s.findings if s.verdict == "fail"), None)


def marked(evidence: Evidence, surfaces: Mapping[str, Surface]) -> dict[str, Surface]:
    """Set `originates` to false in each finding that an earlier surface explains.

    Args:
        evidence: The runs on which the backward surface was judged.
        surfaces: The judged surfaces by name, in the order of a report.
    """
    first = first_divergence(surfaces)
    if first is None:
        return dict(surfaces)

    def follows(finding: Finding) -> bool:
        if finding.surface == first.surface:
            return False
        if finding.tested:
            return first.tested and finding.cause == first.cause
        if finding.surface == "gradients":
            return _inherits(evidence, surfaces["backward"], finding.torch)
        rows = surfaces["gradients"].rows if finding.surface == "updates" else ()
        return any(row["name"] == finding.torch and row["verdict"] == "fail" for row in rows)

    return {
        name: dataclasses.replace(
            surface,
            findings=tuple(
                dataclasses.replace(f, originates=not follows(f)) for f in surface.findings
            ),
        )
        for name, surface in surfaces.items()
    }


def _inherits(evidence: Evidence, backward: Surface, name: str) -> bool:
    """Whether the gradient of a parameter or an input is computed from a wrong cotangent.

    The search starts at the calls that read it and ends at each cotangent that was compared.
    """
    draw = evidence.failed_gradient_draw
    compared = [] if draw is None else sorted(evidence.spots(draw), reverse=True)
    if draw is None or len(compared) != len(backward.rows):  # judged on further inputs
        return backward.verdict == "fail"
    values = evidence.runs[draw].values
    verdicts = {i: r["verdict"] for i, r in zip(compared, backward.rows, strict=True)}
    consumers: dict[int, list[int]] = {}
    for i, value in enumerate(values):
        for k in value.inputs:
            consumers.setdefault(k, []).append(i)
    if name.startswith("input "):
        todo = [i for k, v in enumerate(values) if v.op == "input" for i in consumers.get(k, [])]
    else:
        todo = [i for i, value in enumerate(values) if name in value.weights]
    visited: set[int] = set()
    while todo:
        i = todo.pop()
        if verdicts.get(i) == "fail":
            return True
        if i not in visited and i not in verdicts:
            todo += consumers.get(i, [])
        visited.add(i)
    return False
