"""What a proof found: a verdict, five surfaces, and the first place where the sides part."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np


SURFACES = ("structure", "forward", "backward", "gradients", "updates")
_ORDER = ("error", "fail", "inconclusive", "pass")


@dataclasses.dataclass(frozen=True)
class Finding:
    """A place where the two sides differ."""

    surface: str
    torch: str  # the torch module or parameter
    jax: str  # file:line (module path), or the path of a leaf
    text: str
    index: tuple[int, ...] = ()  # of the worst element
    torch_value: Any = None
    jax_value: Any = None
    originates: bool = True  # false: what it was made of differs already
    cause: str = ""  # a guess, tried where it can be
    op: str = ""  # which of the module's calls

    @property
    def where(self) -> str:
        """The module or parameter, and the call in it."""
        return f"{self.torch} ({self.op})" if self.op else self.torch

    def __str__(self) -> str:
        how = "originates here" if self.originates else "inherited"
        lines = [
            f"first divergence: {self.surface}, {how}",
            f"  torch: {self.where} | jax: {self.jax}",
            f"  {self.text}",
        ]
        if self.torch_value is not None or self.jax_value is not None:
            where = list(self.index)
            lines.append(f"  at {where} torch has {self.torch_value}, JAX has {self.jax_value}")
        if self.cause:
            lines.append(f"  likely: {self.cause}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Surface:
    """One of the five questions and its answer."""

    name: str
    verdict: str  # pass | fail | inconclusive | error | not judged
    text: str
    rows: tuple[Mapping[str, Any], ...] = ()  # what was compared, one a leaf
    findings: tuple[Finding, ...] = ()
    control: str = ""  # what was planted to show that it can fail, and that it was found


@dataclasses.dataclass(frozen=True)
class Report:
    """The answer of `prove`: print it, `check()` it in a test, write it with `to_html`."""

    verdict: str  # pass | fail | inconclusive | error
    surfaces: Mapping[str, Surface]
    first: Finding | None = None
    text: str = ""  # of an error
    name: str = ""
    notes: tuple[str, ...] = ()
    not_visible: tuple[str, ...] = ()
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def check(self) -> Report:
        """Itself if the proof holds.

        Raises:
          AssertionError: It does not; the text is the whole report.
        """
        __tracebackhide__ = True  # pytest shows the test's own line
        if self.verdict != "pass":
            raise AssertionError(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, strings and numbers."""
        return _plain(dataclasses.asdict(self))

    @classmethod
    def from_dict(cls, made: Mapping[str, Any]) -> Report:
        """What `to_dict` gave, as a report again."""

        def finding(found: Mapping[str, Any]) -> Finding:
            return Finding(**{**found, "index": tuple(found["index"])})

        surfaces = {
            name: Surface(
                **{
                    **surface,
                    "rows": tuple(surface["rows"]),
                    "findings": tuple(finding(f) for f in surface["findings"]),
                }
            )
            for name, surface in made["surfaces"].items()
        }
        first = made["first"] and finding(made["first"])
        lists = {name: tuple(made[name]) for name in ("notes", "not_visible")}
        return cls(**{**made, **lists, "surfaces": surfaces, "first": first})

    def to_json(self, path: str | pathlib.Path | None = None) -> str:
        """The report as JSON; also written to `path` if one is given."""
        text = json.dumps(self.to_dict(), indent=1)
        if path is not None:
            pathlib.Path(path).write_text(text)
        return text

    def to_html(self, path: str | pathlib.Path) -> None:
        """Write the report as one offline page."""
        from jaxgrad.parity.prove.page import render

        pathlib.Path(path).write_text(render([self]), encoding="utf-8")

    def __str__(self) -> str:
        lines = [f"{self.verdict.upper()}  {self.name}".rstrip()]
        if self.text:
            lines.append(self.text)
        for surface in self.surfaces.values():
            lines.append(f"  {surface.name:<10} {surface.verdict:<12} {surface.text}".rstrip())
            if surface.control:
                lines.append(f"  {'':<10} {'':<12} can fail: {surface.control}")
        if self.first is not None:
            lines += ["", str(self.first)]
        if self.not_visible:
            shown = ", ".join(self.not_visible[:8])
            more = len(self.not_visible) - 8
            lines += ["", f"not visible in the JAX program (merged or skipped, no fault): {shown}"]
            if more > 0:
                lines[-1] += f" and {more} more"
        lines += [f"note: {note}" for note in self.notes]
        if self.seconds:
            total = sum(self.seconds.values())
            parts = ", ".join(f"{name} {s:.1f}" for name, s in self.seconds.items() if s >= 0.05)
            lines.append(f"{total:.1f} s: {parts}")
        return "\n".join(lines)


def worst(surfaces: Mapping[str, Surface]) -> str:
    """The verdict over all surfaces."""
    found = [s.verdict for s in surfaces.values() if s.verdict in _ORDER]
    return min(found, key=_ORDER.index, default="error")


def _plain(x: Any) -> Any:
    if isinstance(x, Mapping):
        return {str(k): _plain(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(v) for v in x]
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, complex):
        return str(x)
    if isinstance(x, float) and not math.isfinite(x):
        return str(x)
    return x if isinstance(x, str | int | float | bool | None) else str(x)
