"""What a linter found, for a person and for a machine."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any


@dataclasses.dataclass(frozen=True)
class Warned:
    """One place in a program whose gradient torch would answer differently."""

    line: str  # file:line
    name_stack: str
    primitive: str  # `abs`, or `clip()` for a function of JAX's own
    where: str
    elements: int  # over all turns of the loops around it
    of: int
    turns: int  # in how many of them
    torch: str  # its gradient there
    jax: str
    remedy: str

    def __str__(self) -> str:
        at = " ".join(filter(None, (self.line or "(no line)", self.name_stack)))
        loops = f", in {self.turns} turns" if self.turns > 1 else ""
        return (
            f"{at}  {self.primitive}: {self.elements} of {self.of} {self.where}{loops}\n"
            f"    gradient: torch's is {self.torch}, JAX's {self.jax}\n"
            f"    remedy: {self.remedy}"
        )


@dataclasses.dataclass(frozen=True)
class LintReport:
    """The answer of `lint`: print it, look at `findings`, `check()` it in a test."""

    findings: tuple[Warned, ...]
    equations: int  # that were looked at, each turn counted

    def check(self) -> LintReport:
        """Itself if nothing was found.

        Raises:
          AssertionError: Something was; the text is the whole report.
        """
        __tracebackhide__ = True  # pytest shows the test's own line
        if self.findings:
            raise AssertionError(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, strings and numbers."""
        return dataclasses.asdict(self)

    def to_json(self, path: str | pathlib.Path | None = None) -> str:
        """The report as JSON; also written to `path` if one is given."""
        text = json.dumps(self.to_dict(), indent=1)
        if path is not None:
            pathlib.Path(path).write_text(text)
        return text

    def __str__(self) -> str:
        if not self.findings:
            return f"torch's conventions hold at these values ({self.equations} equations)"
        count = len(self.findings)
        head = f"{count} place{'s' * (count > 1)} where torch's gradient is another one"
        return "\n".join([head, *map(str, self.findings)])
