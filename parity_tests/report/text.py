"""Format results as text, JSON, JUnit XML and markdown tables, without judging them."""

import collections
import dataclasses
import inspect
import json
import math
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from jaxgrad.parity import files
from jaxgrad.parity.prove.text import passed_and_failed
from parity_tests.case import Case
from parity_tests.runner.engine import Result
from parity_tests.runner.selection import ROWS, Cell


SIGNS = {"bitwise": "=", "close": "~", "deviation": "≠", "fail": "✗", "error": "!", "blind": "?"}
LEGEND = (
    "= bit-identical · ~ N close: off by N ULP at leaf scale, within tolerance · "
    "≠ documented deviation · ✗ N fail · ! error · "
    "? blind: passes without the function under test"
)
_SHORT = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}
Key = tuple[str, str, str, str]  # id, dtype, mode, device


def cell_text(result: Result) -> str:
    """Format one cell as its dtype, mode and verdict sign, with the ULP error if it is not zero."""
    sign = SIGNS[result.verdict]
    number = f" {result.max_ulp_at_scale:.2g}" if result.verdict in ("close", "fail") else ""
    return f"{_SHORT[result.dtype]} {result.mode} {sign}{number}"


def line(results: Sequence[Result]) -> str:
    """Format all cells of one case as a line."""
    cells = "  ".join(f"{cell_text(result):<16}" for result in results)
    return f"{results[0].id:<40} {','.join(results[0].source):<13.13} {cells}".rstrip()


def rows_covered(results: Iterable[Result]) -> int:
    """Count the source rows that are named by some case and whose cells all pass."""
    holds: dict[str, bool] = {}
    for result in results:
        for row in result.source:
            holds[row] = holds.get(row, True) and result.passed
    return sum(holds.get(row, False) for row in ROWS)


def summary(results: Sequence[Result]) -> str:
    """Return the last lines of the output: verdicts, controls, rows, and `N passed, M failed`.

    Every cell that did not pass counts as failed, and those with an error are counted once more.
    """
    verdicts = collections.Counter(result.verdict for result in results)
    controls = collections.Counter(result.control for result in results)
    passed = sum(result.passed for result in results)
    counts = ", ".join(f"{name} {verdicts[name]}" for name in SIGNS if verdicts[name])
    return "\n".join(
        (
            f"verdicts: {counts}",
            f"negative controls: tool removed {controls['tool']}, "
            f"input perturbed {controls['perturbation']}",
            f"source rows covered {rows_covered(results)} of {len(ROWS)}",
            passed_and_failed(passed, len(results) - passed, verdicts["error"]),
        )
    )


def reasons(results: Iterable[Result]) -> str:
    """List each documented deviation and each non-default tolerance once, with its reason."""
    whys = {result.id: result.why for result in results if result.why}
    return "\n".join(f"  ≠ {id}: {why}" for id, why in whys.items())


def durations(results: Sequence[Result], wall: float) -> str:
    """List the slowest cases, and the seconds spent in each phase of a run."""
    by_case: dict[str, float] = collections.defaultdict(float)
    phases: dict[str, float] = collections.defaultdict(float)
    for result in results:
        by_case[result.id] += result.seconds
        for name, seconds in result.phases.items():
            phases[name] += seconds
    slowest = sorted(by_case.items(), key=lambda item: -item[1])[:15]
    lines = [f"{seconds:8.2f} s  {id}" for id, seconds in slowest]
    compilation = phases.pop("compilation", 0.0)
    share = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in phases.items())
    lines.append(f"phases: {share}; including XLA compilation {compilation:.1f} s")
    lines.append(f"wall clock: {wall:.1f} s")
    return "\n".join(lines)


def document(
    results: Sequence[Result], versions: Mapping[str, Any], *, interrupted: bool = False
) -> dict[str, Any]:
    """Return the content of the file that `--json` writes."""
    return {
        "versions": dict(versions),
        "interrupted": interrupted,
        "results": [_record(result) for result in results],
        "kill_table": {},
    }


def write_json(path: str, content: Mapping[str, Any]) -> None:
    text = json.dumps(_plain(content), indent=1, allow_nan=False)
    pathlib.Path(path).write_text(f"{text}\n", encoding="utf-8")


def read_json(path: str) -> dict[str, Any]:
    """Read a file that `write_json` has written.

    Raises:
        ValueError: The file cannot be read, or `--json` has not written it.
    """
    if reason := files.unreadable(path):
        raise ValueError(f"cannot be read: {reason}")
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        changes([], content)  # reads every field that a comparison needs
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"not a file written by --json ({reason})") from None
    return content


def write_junit(path: str, results: Sequence[Result], missing: Sequence[Cell] = ()) -> None:
    """Write JUnit XML with one suite per theme and one test per cell; a missing cell is skipped."""
    root = ElementTree.Element("testsuites", {"name": "parity", **_totals(results, missing)})
    themes = [*(result.theme for result in results), *(cell.case.theme for cell in missing)]
    for theme in dict.fromkeys(themes):
        members = [result for result in results if result.theme == theme]
        absent = [cell for cell in missing if cell.case.theme == theme]
        attributes = {"name": theme, **_totals(members, absent)}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for cell in absent:
            name = f"{cell.case.id}[{cell.dtype}-{cell.mode}-{cell.device}]"
            test = ElementTree.SubElement(suite, "testcase", classname=theme, name=name)
            ElementTree.SubElement(test, "skipped", message="the run ended before this cell")
        for result in members:
            test = ElementTree.SubElement(
                suite,
                "testcase",
                classname=result.theme,
                name=f"{result.id}[{result.dtype}-{result.mode}-{result.device}]",
                time=f"{result.seconds:.3f}",
            )
            if not result.passed:
                tag = "error" if result.verdict == "error" else "failure"
                node = ElementTree.SubElement(
                    test, tag, message=_xml(result.text), type=result.verdict
                )
                node.text = _xml(str(result))
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _totals(results: Sequence[Result], missing: Sequence[Cell]) -> dict[str, str]:
    """Return the attributes of a JUnit suite that count its tests."""
    return {
        "tests": str(len(results) + len(missing)),
        "failures": str(sum(r.verdict in ("fail", "blind") for r in results)),
        "errors": str(sum(r.verdict == "error" for r in results)),
        "skipped": str(len(missing)),
        "time": f"{sum(r.seconds for r in results):.3f}",
    }


def changes(results: Iterable[Result], old: Mapping[str, Any]) -> dict[Key, str]:
    """Return each cell whose verdict changed since an earlier `--json`, with its old verdict."""
    before = {_key(record): record["verdict"] for record in old["results"]}
    now = {_key(_record(result)): result.verdict for result in results}
    return {
        key: before.get(key, "new") for key, verdict in now.items() if before.get(key) != verdict
    }


def against(results: Sequence[Result], old: Mapping[str, Any]) -> str:
    """List the cells that changed, appeared or disappeared since an earlier `--json`."""
    verdicts = {_key(_record(result)): result.verdict for result in results}
    lines = []
    for key, was in changes(results, old).items():
        word, arrow = ("new    ", "") if was == "new" else ("changed", f"{was} -> ")
        lines.append(f"{word}  {_cell_name(key)}: {arrow}{verdicts[key]}")
    ran = {result.id for result in results}
    lines += [
        f"gone     {_cell_name(key)}: was {record['verdict']}"
        for record in old["results"]
        if (key := _key(record))[0] not in ran
    ]
    return "\n".join(lines) or "nothing changed"


def markdown(cases: Iterable[Case], results: Iterable[Result]) -> str:
    """Return the tables of `docs/behaviours.md`: one section per theme, one row per behaviour."""
    themes, words = _by_theme(cases, results)
    links = (f"[{theme}](#{theme}) {len(members)}" for theme, members in themes.items())
    parts = [
        f"{_counted(words.values())}.",
        f"How many there are of each theme: {', '.join(links)}.",
    ]
    for theme, members in themes.items():
        lines = ["| behaviour | torch | JAX | verdict |", "|---|---|---|---|"]
        for case in members:
            torch, jax = (f"`` {_escape(text)} ``" for text in case.idiom)
            lines.append(f"| {case.id} | {torch} | {jax} | {words[case.id]} |")
        parts += [f"## {theme}", _sentence(members[0]), "\n".join(lines)]
    return "\n\n".join(parts)


def theme_counts(cases: Iterable[Case], results: Iterable[Result]) -> str:
    """Return the README's sentence on the numbers of behaviours, themes and verdicts."""
    themes, words = _by_theme(cases, results)
    return f"{len(words)} behaviours in {len(themes)} themes: {_counted(words.values())}."


def _by_theme(
    cases: Iterable[Case], results: Iterable[Result]
) -> tuple[dict[str, list[Case]], dict[str, str]]:
    """Group the cases by theme, and summarize each case's verdicts in one word."""
    verdicts: dict[str, set[str]] = collections.defaultdict(set)
    for result in results:
        verdicts[result.id].add(result.verdict)
    themes: dict[str, list[Case]] = collections.defaultdict(list)
    for case in cases:
        themes[case.theme].append(case)
    words = {case.id: _word(verdicts[case.id]) for members in themes.values() for case in members}
    return themes, words


def _sentence(case: Case) -> str:
    """Return the first paragraph of the docstring of a case's file, on one line."""
    text = inspect.getdoc(inspect.getmodule(case.fun)) or ""
    return " ".join(text.split("\n\n")[0].split())


def _word(verdicts: set[str]) -> str:
    """Summarize the verdicts of a case's cells in one word."""
    if not verdicts:
        return "not run"
    return "identical" if verdicts <= {"bitwise", "close"} else "/".join(sorted(verdicts))


def _counted(words: Iterable[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in collections.Counter(words).most_common())


def write_markdown(path: str, cases: Sequence[Case], results: Sequence[Result]) -> None:
    """Rewrite each generated table of a file between the two markers that enclose it.

    Raises:
        ValueError: The file contains no pair of markers.
    """
    if reason := markdown_problem(path):
        raise ValueError(f"{path} {reason}")
    text = pathlib.Path(path).read_text(encoding="utf-8")
    for name in _tables_in(text):
        begin, end = _marks(name)
        head, rest = text.split(begin, 1)
        tail = rest.split(end, 1)[1]
        text = f"{head}{begin}\n{_TABLES[name](cases, results)}\n{end}{tail}"
    pathlib.Path(path).write_text(text, encoding="utf-8")


def markdown_problem(path: str) -> str:
    """Return why a file has no table that `write_markdown` could rewrite, or "" if it has one."""
    if reason := files.unreadable(path):
        return f"cannot be read: {reason}"
    if _tables_in(pathlib.Path(path).read_text(encoding="utf-8")):
        return ""
    pairs = " or ".join(" and ".join(_marks(name)) for name in _TABLES)
    return f"needs the marker lines {pairs} around the generated table"


def _tables_in(text: str) -> list[str]:
    """Return the names of the tables whose markers enclose a part of a text."""
    marks = {name: _marks(name) for name in _TABLES}
    return [name for name, (begin, end) in marks.items() if end in text.partition(begin)[2]]


_TABLES = {"parity-table": markdown, "parity-themes": theme_counts}


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def _record(result: Result) -> dict[str, Any]:
    record = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    record["leaves"] = [dataclasses.asdict(leaf) for leaf in result.leaves]
    del record["without"], record["changed"]  # only the page shows them
    for name in ("max_ulp_at_scale", "max_rel", "oracle_ratio", "command"):
        record[name] = getattr(result, name)
    return record


def _key(record: Mapping[str, Any]) -> Key:
    return (record["id"], record["dtype"], record["mode"], record["device"])


def _cell_name(key: Key) -> str:
    return f"{key[0]} ({' '.join(key[1:])})"


def _plain(value: Any) -> Any:
    """Convert NaN, infinities and arrays, which JSON cannot represent, to strings and lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _xml(text: str) -> str:
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]", "?", text)


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
