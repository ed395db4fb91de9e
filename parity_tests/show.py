"""A behaviour side by side in a notebook: both programs, both results, the verdict.

    show("grad_modes/detach")        both programs as they ran, what each gives, the verdict
    without("grad_modes/detach")     the same with its tool taken out: it must differ

Inline styles only: GitHub strips style sheets and scripts from notebooks.
"""

import dataclasses
import html
from typing import Any

import numpy as np

from jaxgrad.parity.compare import flatten
from parity_tests.case import Case, load
from parity_tests.engine import Result, run
from parity_tests.explain import source
from parity_tests.program import Program
from parity_tests.report import SIGNS
from parity_tests.selection import select
from parity_tests.settings import configure
from parity_tests.witness import split, witness


ROWS = 8  # leaves of a result that are printed
_GOOD, _BAD = "#1a7f37", "#b3261e"
_PRE = (
    "text-align:left;white-space:pre-wrap;font-family:ui-monospace,monospace;font-size:12px;"
    "line-height:1.45;margin:0"
)
_CELL = "text-align:left;vertical-align:top;padding:6px 10px"


@dataclasses.dataclass(frozen=True)
class Shown:
    """What a notebook displays: HTML where it can, else plain text."""

    title: str
    columns: tuple[str, str]
    sources: tuple[str, str] | None
    rows: tuple[tuple[str, str, str], ...]
    verdict: str
    good: bool

    def _repr_html_(self) -> str:
        esc = html.escape
        head = "".join(f'<th style="{_CELL}">{esc(name)}</th>' for name in ("", *self.columns))
        body = ""
        if self.sources is not None:
            pre = "".join(
                f'<td style="{_CELL}"><pre style="{_PRE}">{esc(text)}</pre></td>'
                for text in self.sources
            )
            body += f'<tr><td style="{_CELL}"></td>{pre}</tr>'
        for path, left, right in self.rows:
            cells = "".join(
                f'<td style="{_CELL}"><code>{esc(text)}</code></td>' for text in (left, right)
            )
            body += f'<tr><td style="{_CELL}">{esc(path)}</td>{cells}</tr>'
        color = _GOOD if self.good else _BAD
        return (
            f"<p>{esc(self.title)}</p>"
            f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table>"
            f'<p style="color:{color}"><b>{esc(self.verdict)}</b></p>'
        )

    def __repr__(self) -> str:
        lines = [self.title]
        lines += [f"  {path}: {left} | {right}" for path, left, right in self.rows]
        return "\n".join([*lines, self.verdict])


def show(id: str, dtype: str = "float64", mode: str = "jit", *, seed: int = 0) -> Shown:
    """Both programs side by side as they ran, what each gave, and the verdict.

    Raises:
      AssertionError: The cell does not pass; a notebook must not show a lesson that is not so.
    """
    made = _find(id)
    result = run(made, dtype, mode, seed=seed)
    assert result.passed, str(result)
    seen = witness(made, dtype, seed, "cpu")
    theirs, _ = split(seen.observed)
    ours, _ = split(Program(made.fun, mode)(seen.inputs))
    return Shown(
        title=made.claim,
        columns=("torch", "JAX"),
        sources=(source(made.reference), source(made.fun)),
        rows=_rows(theirs, ours),
        verdict=_sentence(result),
        good=True,
    )


def without(id: str, dtype: str = "float64", mode: str = "jit", *, seed: int = 0) -> Shown:
    """The JAX program with its tool taken out, beside the one with it: the two must differ.

    Raises:
      AssertionError: They do not differ.
      ValueError: The case has no tool.
    """
    made = _find(id)
    if made.control is None:
        raise ValueError(f"{id} has no tool that could be taken out")
    inputs = witness(made, dtype, seed, "cpu").inputs
    result = run(made, dtype, mode, seed=seed)
    assert result.passed, str(result)  # `blind`, if taking the tool out made no difference
    kept, _ = split(Program(made.fun, mode)(inputs))
    gone, _ = split(Program(made.without_tool(), mode)(inputs))
    tools = ", ".join(made.control)
    return Shown(
        title=f"The same program without {tools}:",
        columns=(f"with {tools}", f"without {tools}"),
        sources=None,
        rows=_rows(kept, gone, only_different=True),
        verdict=f"✓ it matters: without {tools} the result is another",
        good=True,
    )


def _find(id: str) -> Case:
    configure()
    return select(load(), [id])[0]


def _sentence(result: Result) -> str:
    sign = SIGNS[result.verdict]
    cell = f"{result.dtype}, {result.mode}"
    if result.verdict == "bitwise":
        return f"{sign} the same bits ({cell})"
    if result.verdict == "deviation":
        return f"{sign} a documented deviation, pinned on both sides: {result.why}"
    return f"{sign} identical to rounding: {result.max_ulp_at_scale:.2g} ULP at leaf scale ({cell})"


def _rows(left: Any, right: Any, only_different: bool = False) -> tuple[tuple[str, str, str], ...]:
    theirs, ours = flatten(left), flatten(right)
    rows = [
        (path, _text(theirs.get(path, "(absent)")), _text(ours.get(path, "(absent)")))
        for path in dict.fromkeys((*theirs, *ours))
    ]
    if only_different:
        rows = [row for row in rows if row[1] != row[2]]
    more = len(rows) - ROWS
    return (*rows[:ROWS], (f"and {more} more", "", "")) if more > 0 else tuple(rows)


def _text(leaf: Any) -> str:
    if isinstance(leaf, BaseException):
        first = str(leaf).split(". ")[0]
        return f"{type(leaf).__name__}: {first[:110]}"
    if isinstance(leaf, np.ndarray):
        if leaf.size <= 6:
            return np.array2string(leaf, precision=6, separator=", ").replace("\n", " ")
        norm = float(np.linalg.norm(leaf.astype(np.complex128)))
        return f"{leaf.dtype}{list(leaf.shape)}, norm {norm:.6g}"
    return str(leaf)
