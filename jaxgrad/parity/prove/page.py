"""The page of a proof: one offline file that says what holds, and where the sides part."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxgrad.parity.prove.report import Report, Surface


if TYPE_CHECKING:
    import jinja2

SIGNS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "!", "not judged": "–"}
ROWS_SHOWN = 12
_TEMPLATE = pathlib.Path(__file__).with_name("page.html.j2")
_STYLE = pathlib.Path(__file__).with_name("page.css")


def render(reports: Sequence[Report]) -> str:
    """One HTML page of these proofs; it fetches nothing and needs no script.

    Args:
      reports: What `prove` returned.

    Returns:
      The page.

    Raises:
      ModuleNotFoundError: jinja2 is not installed.

    Example:
      >>> from jaxgrad.parity import Report, Surface
      >>> page = render([Report("pass", {"forward": Surface("forward", "pass", "")}, name="Net")])
      >>> "<h1>jaxgrad proof" in page
      True
    """
    return template(_TEMPLATE).render(
        reports=reports,
        headline=headline(reports),
        sentence=sentence,
        ordered=ordered,
        number=number,
        value=value,
        signs=SIGNS,
        shown=ROWS_SHOWN,
    )


def template(path: pathlib.Path) -> jinja2.Template:
    """A page to fill in; what is put into it stays text, whatever markup it holds."""
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the HTML page is written with jinja2, which is not installed; run: pip install jinja2"
        ) from error
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["css"] = _STYLE.read_text(encoding="utf-8")
    return environment.from_string(path.read_text(encoding="utf-8"))


def headline(reports: Sequence[Report]) -> str:
    """The one sentence on top. What was not proved does not count as good."""
    if not reports:
        return "Nothing was proved."
    if len(reports) == 1:
        return sentence(reports[0])
    held = sum(report.verdict == "pass" for report in reports)
    if held == len(reports):
        return f"All {held} ports have torch's gradients."
    return f"{len(reports) - held} of {len(reports)} ports are not proved."


def sentence(report: Report) -> str:
    """A verdict in words."""
    name = report.name or "the port"
    if report.verdict == "pass":
        return f"{name}: the gradients are torch's."
    if report.verdict == "inconclusive":
        return f"{name}: rounding alone moves too much to tell."
    if report.verdict == "error":
        return f"{name}: nothing was proved."
    if report.first is None:
        return f"{name}: the gradients are not torch's."
    return f"{name}: the sides part on the {report.first.surface} surface, at {report.first.where}."


def ordered(surface: Surface) -> list[Mapping[str, Any]]:
    """The rows of a surface: wrong ones first, then those furthest apart."""
    return sorted(
        surface.rows,
        key=lambda row: (row.get("verdict") != "fail", -_finite(row.get("difference"))),
    )


def number(x: Any) -> str:
    """A number in a few characters; NaN and infinities are words."""
    return f"{x:.2g}" if isinstance(x, float) and math.isfinite(x) else value(x)


def value(x: Any) -> str:
    """A value in full, so that two that differ by 1e-12 look different."""
    if x is None:
        return ""
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "∞" if x > 0 else "-∞"
    return str(x)


def _finite(x: Any) -> float:
    return x if isinstance(x, float | int) and math.isfinite(x) else math.inf
