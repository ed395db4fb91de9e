"""The conventions table: calls at which the obvious JAX expression's gradient differs from torch's.

    python -m parity_tests --conventions [OPERATOR ...] [--markdown docs/operators.md] [--html FILE]

Each run measures its rows. `--markdown` replaces the measured operators' rows in the table and
writes the page from the whole table; the test suite compares both with its own measurements. The
page is for the newest torch and the JAX that is pinned for Python 3.11. With another JAX, or for an
operator that a newer torch has changed, the run instead writes the table of that version, with
the operators whose rows differ there. The docstring of each operator in the table has the sentence
`POINTER`, which the docs build replaces with a summary of the rows.
"""

import collections
import concurrent.futures
import fnmatch
import itertools
import operator
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

import jax

from jaxgrad import functional
from jaxgrad._core.torch_versions import CHANGES, at_least, convention
from parity_tests.operators import Operator, load
from parity_tests.operators._harness.conventions_page import as_html
from parity_tests.operators._harness.grid import Outcome, check
from parity_tests.operators._harness.rows import ConventionRow
from parity_tests.runner import workers
from parity_tests.runner.settings import ROOT
from parity_tests.site.api import code
from parity_tests.site.api import table as markdown_table


TABLE = ROOT / "parity_tests" / "tables" / "conventions.tsv"
OLDER_TORCH = {  # before this version of torch, the rows of these operators replace the others
    "2.15": TABLE.with_stem("conventions_torch_before_2_15"),
    "2.14": TABLE.with_stem("conventions_torch_before_2_14"),
}
OLDER = {(0, 10, 1): TABLE.with_stem("conventions_jax_before_0_10_1")}  # before this version of JAX
NEWER = {  # from this version of JAX on, the rows of these operators replace the earlier ones
    (0, 11): TABLE.with_stem("conventions_jax_0_11"),
    (0, 12): TABLE.with_stem("conventions_jax_0_12"),
}
PAGE = ROOT / "docs" / "operators.md"
TORCH = convention()
COMMAND = "python -m parity_tests --conventions {} --markdown docs/operators.md"
MANY = 20  # operators; with fewer, starting another process costs more than it saves
POINTS = 3  # points shown in one line
CALL = 64  # characters of a call shown in one line
LIST = 36  # characters of an array; a longer array shows only `ELEMENTS` elements
ELEMENTS = 3
LINES = 4  # calls in a summary
WIDTH = 96  # characters in a summary's line


def main(
    patterns: Sequence[str], markdown: str | None, page: str | None, processes: int | None = None
) -> int:
    """Measure the table, write or print it, and return the exit status.

    After Ctrl-C the operators that are measured are written, and the rows of the others stay.
    """
    known = load()
    offered = [record for record in known.values() if not record.too_new and not record.is_removed]
    chosen = [record for record in offered if _matches(record, patterns)]
    if not chosen:
        print(f"no operator matches {' '.join(patterns)}", file=sys.stderr)
        return 5
    names = [record.name for record in chosen]
    finished: dict[str, Outcome] = {}
    interrupted = False
    try:
        finished.update(_measured(names, processes))
    except KeyboardInterrupt:
        interrupted = True
    outcomes = {name: finished[name] for name in names if name in finished}
    if interrupted:
        written = ", ".join(path for path in (markdown, page) if path and outcomes)
        place = f"are in {written}" if written else "are measured"
        print(f"interrupted: {len(outcomes)} of {len(names)} operators {place}", file=sys.stderr)
        if not outcomes:
            return 130
    names = list(outcomes)
    targets = {name: (_tables(name) or [TABLE])[-1] for name in names}
    measured = {name: outcomes[name] for name in names if targets[name] == TABLE}
    kept = [row for row in read() if row.operator in known and row.operator not in measured]
    rows = merged(kept, measured.values())
    if markdown:
        TABLE.write_text(as_table(rows), encoding="utf-8")
        for path in {*targets.values()} - {TABLE}:
            there = {name: outcomes[name] for name in names if targets[name] == path}
            path.write_text(as_table(rows_that_differ(there)), encoding="utf-8")
            print(f"{path.name} is written; the page has other versions' rows", file=sys.stderr)
    for path, text in ((markdown, as_markdown(rows)), (page, as_html(united(rows)))):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            if not interrupted:
                print(f"written: {path}")
    if not markdown and not page:
        print(as_table(merged((), outcomes.values())), end="")
    for name, outcome in outcomes.items():
        for problem in outcome.problems:
            print(f"{name}: {problem}", file=sys.stderr)
    return 130 if interrupted else int(any(outcome.problems for outcome in outcomes.values()))


def _measured(names: Sequence[str], processes: int | None) -> Iterator[tuple[str, Outcome]]:
    """Yield each operator with its outcome as soon as it is measured."""
    processes = processes or (workers.cores() if len(names) >= MANY else 1)
    if processes == 1:
        yield from ((name, _check(name)) for name in names)
        return
    with workers.pool(processes) as pool:
        with workers.interrupts_blocked():
            started = {pool.submit(_check, name): name for name in names}
        for future in concurrent.futures.as_completed(started):
            yield started[future], future.result()


def _check(name: str) -> Outcome:
    return check(load()[name])


def _matches(record: Operator, patterns: Sequence[str]) -> bool:
    return not patterns or any(
        p in (record.place, record.room) or fnmatch.fnmatch(record.name, p) for p in patterns
    )


def merged(kept: Iterable[ConventionRow], outcomes: Iterable[Outcome]) -> list[ConventionRow]:
    """Return all rows sorted by operator, with each operator's rows in the order of its record."""
    measured = (row for outcome in outcomes for row in outcome.rows)
    return sorted((*kept, *measured), key=lambda row: row.operator)


def read(path: pathlib.Path = TABLE) -> list[ConventionRow]:
    """Return the rows of a table's file."""
    if not path.exists():
        return []
    return [
        ConventionRow(*line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()
    ]


def pinned() -> list[ConventionRow]:
    """Return the rows for the installed versions of torch and JAX."""
    return _replaced(_tables())


def _tables(operator: str | None = None) -> list[pathlib.Path]:
    """Return the tables of changes that hold for the installed versions, for one operator or all.

    The rows of an operator depend on torch only if a newer version has changed the operator.
    """
    moved = {c.since for c in CHANGES if operator is None or operator in c.operators}
    torch = [path for v, path in OLDER_TORCH.items() if v in moved and not at_least(TORCH, v)]
    older = [path for version, path in OLDER.items() if jax.__version_info__ < version]
    newer = [path for version, path in NEWER.items() if jax.__version_info__ >= version]
    return torch + older + newer


def _replaced(tables: Iterable[pathlib.Path]) -> list[ConventionRow]:
    """Return the rows of the page, changed by each of the tables in turn."""
    rows = read()
    for changes in map(read, tables):
        changed = {row.operator for row in changes}
        rows = [*(row for row in rows if row.operator not in changed), *changes]
    return [row for row in rows if row.form]


def rows_that_differ(outcomes: Mapping[str, Outcome]) -> list[ConventionRow]:
    """Return all rows that the last table of changes of these operators must hold.

    A row with an empty `form` represents an operator that has no rows there.
    """
    *others, last = _tables(next(iter(outcomes)))
    base = dict(_operators(merged(_replaced(others), ())))
    rows_by_name = {name: rows for name, rows in _operators(read(last)) if name not in outcomes}
    for name, outcome in outcomes.items():
        if sorted(outcome.rows) != sorted(base.get(name, [])):
            rows_by_name[name] = outcome.rows or [ConventionRow(name, "", "", "", "", "")]
    return [row for name in sorted(rows_by_name) for row in rows_by_name[name]]


def as_table(rows: Iterable[ConventionRow]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def summary(function: object) -> str:
    """Summarize the table's rows for a function of `jaxgrad.functional`, under all its names."""
    tables = ((operator.attrgetter(name)(functional), rows) for name, rows in _operators(read()))
    texts = dict.fromkeys(section(rows) for value, rows in tables if value is function)
    return "\n".join(texts)


def section(rows: Sequence[ConventionRow]) -> str:
    """Summarize an operator's rows in a few lines."""
    together = united(rows)
    chosen = spread(representative(together, 1), LINES)
    lines = []
    for form, of in _forms(chosen):
        lines.append(f"Measured against `{form}`:")
        for row in of:
            by = f"with respect to `{row.by}` at" if row.by not in ("", "input") else "at"
            torch, jax = window(row)
            sides = f"torch {torch}, JAX {jax}" if torch else f"JAX {jax}"
            line = f"    {by} {'; '.join(_points(row))}: {sides}"
            lines.append(
                line if len(line) <= WIDTH else line.replace(": torch", ":\n        torch")
            )
    if more := len(together) - len(chosen):
        lines.append(f"    ... and {more} more: docs/operators.md")
    return "\n".join(lines)


TITLE = "# Operators"
INTRO = """\
*The question: at which inputs does the usual JAX expression have a different gradient from torch's
operator?*

Each row of a table is a call of torch's operator, with arrays as numbers or lists; `…` stands for
elements, arguments or calls that are left out. The cotangent is ones, or 1, 2, 3, ... for operators
whose outputs depend on several elements. Where the JAX expression has no such argument as
`pos_weight=`, the rows with this argument show what it lacks. The test suite measures every row,
and fails when torch or JAX changes."""


def as_markdown(rows: Sequence[ConventionRow]) -> str:
    """Return the page: an index by folder, and the most informative rows of each operator."""
    names = {name for name, _ in _operators(rows)}
    parts = [TITLE, INTRO]
    for room, records in itertools.groupby(load().values(), lambda record: record.room):
        listed = sorted(names & {record.name for record in records})
        links = " · ".join(f"[{name}](#{name.replace('.', '').lower()})" for name in listed)
        parts += [f"**{room}** {links}"] if links else []
    for name, of in _operators(rows):
        parts += [f"## {name}", *_section(of)]
    command = COMMAND.format("").replace("  ", " ")
    parts.append(
        f"Written by `{command}`. All {len(rows)} rows are in `parity_tests/tables/{TABLE.name}`, "
        "and on the page with a filter that `--html FILE` writes.\n"
    )
    return "\n\n".join(parts)


def _section(rows: Sequence[ConventionRow]) -> Iterator[str]:
    together = united(rows)
    chosen = representative(together, 2)
    remedy = f"Use `jaxgrad.functional.{rows[0].operator}` in"
    for form, of in _forms(chosen):
        yield f"{remedy} place of {code(form)}:"
        remedy = "In"
        lines = (
            (", ".join(map(code, _points(row))), _quoted(row.by, "–"), *_sides(row)) for row in of
        )
        yield markdown_table(("at", "with respect to", "torch", "JAX"), lines)
    if more := len(together) - len(chosen):
        rows_show = "rows show differences" if more > 1 else "row shows a difference"
        yield f"{more} more {rows_show} of the same kinds."


def _sides(row: ConventionRow) -> tuple[str, str]:
    torch, jax = window(row)
    return _quoted(torch, "no error"), code(jax)


def _quoted(text: str, otherwise: str) -> str:
    return code(text) if text else otherwise


def _operators(rows: Iterable[ConventionRow]) -> Iterator[tuple[str, list[ConventionRow]]]:
    return ((n, list(of)) for n, of in itertools.groupby(rows, lambda row: row.operator))


def _forms(rows: Iterable[ConventionRow]) -> Iterator[tuple[str, list[ConventionRow]]]:
    return ((form, list(of)) for form, of in itertools.groupby(rows, lambda row: row.form))


def united(rows: Iterable[ConventionRow]) -> list[ConventionRow]:
    """Join rows with equal JAX expression, argument and gradients into one row with all points."""
    points: dict[ConventionRow, list[str]] = collections.defaultdict(list)
    for row in rows:
        points[row._replace(at="")] += row.points
    return [row._replace(at="; ".join(dict.fromkeys(at))) for row, at in points.items()]


def representative(rows: Sequence[ConventionRow], each: int) -> list[ConventionRow]:
    """Select rows that cover each kind of difference, preferring numbers and short calls.

    For each kind of difference, up to `each` rows with numbers are kept, and one row with arrays.
    Further arguments whose gradients differ in the same way are named in that row.
    """
    forms = list(dict.fromkeys(row.form for row in rows))
    arguments = list(dict.fromkeys(row.by for row in rows))

    def place(row: ConventionRow) -> tuple[int | bool, ...]:
        nan, some = "nan" in row.points[0], min(len(row.points), POINTS)
        which = forms.index(row.form), not row.torch, arguments.index(row.by)
        return *which, nan, -some, len(row.points[0])

    groups: dict[tuple[object, ...], list[ConventionRow]] = collections.defaultdict(list)
    for row in sorted(rows, key=place):
        whole = row.torch.startswith("[")
        groups[row.form, "" if whole else row.by, whole, kinds(row)].append(row)
    chosen = []
    for (*_, whole, _), of in groups.items():
        others = dict.fromkeys(row.by for row in of if row.by != of[0].by)
        likewise = f", likewise {', '.join(others)}" if others else ""
        chosen += [row._replace(by=row.by + likewise) for row in of[: 1 if whole else each]]
    return sorted(chosen, key=lambda row: (forms.index(row.form), not row.torch))


def spread(rows: Sequence[ConventionRow], most: int) -> list[ConventionRow]:
    """Return at most `most` rows, taking the first rows of each JAX expression in turn."""
    ranked = [(rank, row) for _, of in _forms(rows) for rank, row in enumerate(of)]
    first = {row for _, row in sorted(ranked, key=lambda pair: pair[0])[:most]}
    return [row for row in rows if row in first]


def kinds(row: ConventionRow) -> frozenset[tuple[str, str]]:
    """Classify each differing pair of gradient elements: NaN, zero, infinity, or a number."""
    pairs = zip(_elements(row.torch), _elements(row.jax), strict=False)
    return frozenset((_kind(torch), _kind(jax)) for torch, jax in pairs if torch != jax)


def _kind(text: str) -> str:
    if "nan" in text or "raises" in text:
        return text
    if "inf" in text:
        return "inf"
    return "number" if text.strip("-0+j") else "0"


def _elements(text: str) -> list[str]:
    return text.strip("[]").split(", ")


def window(row: ConventionRow) -> tuple[str, str]:
    """Return both gradients; long ones are cut to the elements where they begin to differ."""
    if max(len(row.torch), len(row.jax)) <= LIST or not row.torch:
        return row.torch, row.jax
    sides = [_elements(text) for text in (row.torch, row.jax)]
    start = next(i for i, (t, j) in enumerate(zip(*sides, strict=True)) if t != j)
    start = min(start, len(sides[0]) - ELEMENTS)
    before, after = "… " * (start > 0), " …" * (start + ELEMENTS < len(sides[0]))
    torch, jax = (f"[{before}{', '.join(x[start : start + ELEMENTS])}{after}]" for x in sides)
    return torch, jax


def _points(row: ConventionRow) -> list[str]:
    """Return the first points of a row, shortened to fit into a line."""
    chosen: list[str] = []
    for point in row.points[:POINTS]:
        if chosen and len("; ".join([*chosen, point])) > CALL:
            break
        chosen.append(shortened(point))
    return [*chosen, "…"] if len(chosen) < len(row.points) else chosen


def shortened(call: str) -> str:
    """Shorten a call to fit into a line: arrays end in `…`, or the longest become `[…]`."""
    for keep in (8, 4, 2):
        if len(call) <= CALL:
            return call
        call = re.sub(rf"(\[(?:[^][,]+, ){{{keep}}})[^][]+\]", r"\1…]", call)
    while len(call) > CALL and (longest := max(_arrays(call), key=len, default="[…]")) != "[…]":
        call = call.replace(longest, "[…]", 1)
    return call


def _arrays(call: str) -> Iterator[str]:
    """Yield the outermost lists in the text of a call."""
    depth = start = 0
    for place, letter in enumerate(call):
        start = place if letter == "[" and not depth else start
        depth += (letter == "[") - (letter == "]")
        if letter == "]" and not depth:
            yield call[start : place + 1]
