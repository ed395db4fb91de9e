"""The findings of the linter, as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any


@dataclasses.dataclass(frozen=True)
class Warned:
    """An equation of the program at which torch's gradient differs from JAX's."""

    line: str  # file:line
    name_stack: str
    primitive: str  # `abs`, or `clip()` for one of JAX's own functions
    where: str
    elements: int  # elements that differ, over all iterations of the enclosing loops
    of: int
    turns: int  # loop iterations in which an element differs
    torch: str  # torch's gradient at these elements
    jax: str
    remedy: str

    def __str__(self) -> str:
        return self.text()

    def text(self, version: str = "") -> str:
        """Return the finding as three lines, with the version of torch if it is given."""
        at = " ".join(filter(None, (self.line or "(no line)", self.name_stack)))
        loops = f", in {self.turns} iterations" if self.turns > 1 else ""
        torch = f"torch {version}".rstrip()
        return (
            f"{at}  {self.primitive}: {self.elements} of {self.of} {self.where}{loops}\n"
            f"    gradient in {torch}: {self.torch}; in JAX: {self.jax}\n"
            f"    remedy: {self.remedy}"
        )


@dataclasses.dataclass(frozen=True)
class LintReport:
    """The result of `lint`: print it, read `findings`, or call `check()` in a test."""

    findings: tuple[Warned, ...]
    equations: int  # checked equations, counted once per loop iteration
    torch: str  # the version of torch whose conventions are stated, as `2.13`
    newer: str = ""  # the installed torch, if it is newer than every version that jaxgrad knows
    differentiable: int = 1  # arguments that have a gradient: floating point and complex arrays

    def check(self) -> LintReport:
        """Return the report itself if it has no findings.

        Raises:
            AssertionError: There are findings; the message is the whole report.
        """
        __tracebackhide__ = True  # pytest shows the test's own line
        if self.findings:
            raise AssertionError(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain lists, dicts, strings and numbers."""
        return dataclasses.asdict(self)

    def to_json(self, path: str | pathlib.Path | None = None) -> str:
        """Return the report as JSON, and write it to `path` if one is given."""
        text = json.dumps(self.to_dict(), indent=1)
        if path is not None:
            pathlib.Path(path).write_text(text)
        return text

    def __str__(self) -> str:
        if not self.differentiable:
            return self._noted(
                "nothing was checked: no argument is a floating point array, and other arguments "
                "have no gradient"
            )
        if not self.findings and not self.equations:
            return self._noted(
                "nothing was compared: this function has no operation for which the conventions of "
                f"torch {self.torch} and JAX are known to differ"
            )
        if not self.findings:
            plural = "s" * (self.equations != 1)
            text = f"the conventions of torch {self.torch} hold at these values"
            return self._noted(f"{text} ({self.equations} equation{plural})")
        count = len(self.findings)
        head = f"{count} place{'s' * (count > 1)} where the gradient of torch {self.torch} differs"
        findings = (finding.text(self.torch) for finding in self.findings)
        return self._noted("\n".join([head, *findings]))

    def _noted(self, text: str) -> str:
        """Return the text with a line about an installed torch whose changes are not known."""
        if not self.newer:
            return text
        return f"{text}\nnote: torch {self.newer} is installed; what it changed is not known here"
