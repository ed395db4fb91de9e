"""Keep the report of every planted bug as a file, so that a change of a report is read.

A golden is a report as JSON, without what differs between machines: seconds, versions, and numbers
that rounding decides.
"""

import difflib
import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from jaxgrad.parity import Report
from parity_tests.runner.settings import ROOT


FOLDER = ROOT / "tests" / "goldens" / "prove"
Golden = dict[str, Any]
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]\d+)?(?![\w.]*\d)")
_ROUNDING = 1e-9  # a smaller number depends on the order in which a machine adds
_FINDING = ("torch", "op", "torch_line", "jax", "source", "text", "index", "torch_value",
            "jax_value", "originates", "cause", "tested", "ruled_out")  # fmt: skip


def golden(report: Report) -> Golden:
    """Return what a report says, with its numbers rounded."""
    fields = report.to_dict()
    surfaces = {name: _surface(surface) for name, surface in fields["surfaces"].items()}
    return _rounded(
        _present(
            verdict=fields["verdict"],
            text=fields["text"],
            first=(fields["first"] or {}).get("surface"),
            surfaces=surfaces,
            notes=[note for note in fields["notes"] if "search for causes" not in note],
            not_visible=", ".join(fields["not_visible"]),
        )
    )


def path_of(port: str) -> pathlib.Path:
    """Return the file with the goldens of a port's bugs."""
    return FOLDER / f"{port}.json"


def read(port: str) -> dict[str, Golden]:
    """Return the goldens of a port by the names of its bugs."""
    path = path_of(port)
    return json.loads(path.read_text()) if path.exists() else {}


def write(port: str, goldens: Mapping[str, Golden]) -> None:
    """Write the goldens of some bugs of a port; those of its other bugs stay."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path_of(port).write_text(json.dumps(read(port) | dict(goldens), indent=1) + "\n")


def difference(port: str, bug: str, new: Golden) -> str:
    """Return how a report differs from its golden, as the lines of a diff; empty if it does not."""
    old = read(port).get(bug, {})
    before, after = (json.dumps(x, indent=1).splitlines() for x in (old, new))
    names = f"golden of {port}/{bug}", "this report"
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm="", n=2))


def _present(**fields: Any) -> dict[str, Any]:
    """Leave out empty fields."""
    return {name: x for name, x in fields.items() if x not in (None, "", [], {})}


def _surface(surface: Mapping[str, Any]) -> dict[str, Any]:
    rows: dict[str, list[str]] = {}
    for row in surface["rows"]:
        if row["verdict"] != "pass":
            rows.setdefault(row["verdict"], []).append(row["name"])
    return _present(
        verdict=": ".join(filter(None, (surface["verdict"], surface["text"]))),
        control=surface["control"],
        **{verdict: ", ".join(names) for verdict, names in rows.items()},
        findings=[_finding(finding) for finding in surface["findings"]],
    )


def _finding(finding: Mapping[str, Any]) -> dict[str, Any]:
    kept = _present(**{name: finding[name] for name in _FINDING})
    kept["index"] = str(kept.get("index", []))
    edit = finding["edit"]
    return kept | ({"edit": [edit["old"], edit["new"]]} if edit else {})


def _rounded(x: Any) -> Any:
    if isinstance(x, dict):
        return {name: _rounded(value) for name, value in x.items()}
    if isinstance(x, list):
        return [_rounded(value) for value in x]
    if isinstance(x, float):
        return float(f"{x:.3g}") if abs(x) > _ROUNDING else 0.0
    return _NUMBER.sub(lambda match: _as_text(match[0]), x) if isinstance(x, str) else x


def _as_text(number: str) -> str:
    if not set(".e") & set(number):
        return number
    return f"{float(number):.3g}" if abs(float(number)) > _ROUNDING or not float(number) else "~0"
