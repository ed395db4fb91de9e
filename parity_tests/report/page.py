"""Write the report page: one offline file with every cell, both programs and their differences."""

import collections
import functools
import hashlib
import html
import itertools
import math
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import markupsafe

from jaxgrad.parity.compare import Leaf
from jaxgrad.parity.prove.page import template
from jaxgrad.parity.prove.text import counted, number
from jaxgrad.parity.ulp import BINS
from parity_tests.case import DTYPES, MODES, Case
from parity_tests.report.drawing import drawing, style_of
from parity_tests.report.later import Later
from parity_tests.report.leaves import (
    WORDS,
    allowed,
    changed,
    distance,
    judged,
    largest,
    leaf_value,
    left_out,
    shown_leaves,
    without,
)
from parity_tests.report.marked import marked
from parity_tests.report.rows import disagreement
from parity_tests.report.source_text import helpers, source
from parity_tests.report.summary import alike, command, verdict
from parity_tests.report.text import changes
from parity_tests.report.worked import marks, worked
from parity_tests.runner.engine import Result


DEVICES = ("cpu", "gpu", "tpu")
COUNTED = WORDS | {"bitwise": "with the same bits", "deviation": "differ as documented"}
SHORT = {"bitwise": "same bits", "close": "≈ equal", "fail": "✗ fails", "error": "! error"}
SHORT |= {"blind": "? blind"}
CHIPS = (
    ("deviations", "status:deviation"),
    ("failures", "status:fail"),
    ("errors", "status:error"),
    ("blind", "status:blind"),
    ("same bits", "status:bitwise"),
    ("equal up to rounding", "status:close"),
    *((dtype, f"dtype:{dtype}") for dtype in DTYPES),
    *((mode, f"mode:{mode}") for mode in MODES),
)
_WORDS = re.compile("<desc[^>]*>(.*?)</desc>", re.DOTALL)  # the text alternative of a picture
_TEMPLATE = pathlib.Path(__file__).with_name("page.html.j2")


class Column(NamedTuple):
    dtype: str
    mode: str
    device: str


class Bar(NamedTuple):
    """One bar of a histogram, in SVG units."""

    label: str
    elements: int
    x: int
    height: float


def write(
    path: str,
    cases: Sequence[Case],
    results: Sequence[Result],
    versions: Mapping[str, Any],
    *,
    old: Mapping[str, Any] | None = None,
    pictures: Mapping[str, Sequence[str]] | None = None,
    note: str = "",
) -> None:
    """Write the report page.

    Pictures and the leaf tables of passed cells are compressed and unpacked by JavaScript; without
    JavaScript the page shows a line of text instead.

    Args:
        path: The file to write.
        cases: The selected cases, in the order of the rows.
        results: The results of the cells that ran; all other cells are shown as not run.
        versions: The versions returned by `environment.versions`.
        old: The content of an earlier `--json`, to mark changed cells.
        pictures: Case id -> SVGs: one for a page and, optionally, a narrower one for a phone.
        note: A sentence before the summary, such as that the run is incomplete.
    """
    by_case: dict[str, list[Result]] = collections.defaultdict(list)
    for result in results:
        by_case[result.id].append(result)
    drawn = pictures or {}
    first = worked(cases, by_case, drawn)
    text = template(_TEMPLATE).render(
        cases=cases,
        by_case=by_case,
        cells={_key(result): result for result in results},
        columns=columns(cases, results),
        changed=changes(results, old) if old is not None else {},
        compared=old is not None,
        failed=[result for result in results if not result.passed],
        verdict=f"{note} {verdict(results)}".strip(),
        cells_run=counted(len(results), "run"),
        not_run=counted(n, "behaviour") if (n := len(cases) - len(by_case)) else "",
        counts=collections.Counter(result.verdict for result in results),
        controls=collections.Counter(result.control for result in results if result.passed),
        disagreement=disagreement,
        versions={name: _public(value) for name, value in versions.items()},
        query=f"{results[0].theme} dtype:{results[0].dtype}" if results else "",
        judged_by_oracle=any(_has_ratio(x) for r in results for x in r.leaves),
        some_not_run=_some_not_run(cases, results),
        without=without,
        changed_without=changed,
        largest=largest,
        distance=distance,
        judged=judged,
        ratios_of=lambda result: any(_has_ratio(x) for x in shown_leaves(result)),
        helpers=helpers,
        allowed=allowed,
        raises=lambda x: isinstance(x, BaseException),
        tool=lambda case: ", ".join(case.control or ()),
        short=SHORT,
        counted_as=COUNTED,
        counted=counted,
        pictures=drawn,
        picture_style=style_of([svg for svgs in drawn.values() for svg in svgs]),
        drawing=drawing,
        worked=first,
        marks=marks,
        marked=marked,
        words=lambda svg: html.unescape("".join(_WORDS.findall(svg))),
        later=Later(),
        source=functools.partial(source, claim=False),
        ticks=ticks,
        words_of=WORDS,
        chips=[(text, term) for text, term in CHIPS if _finds(results, term)],
        number=number,
        alike=alike,
        command=command,
        shown_leaves=shown_leaves,
        left_out=left_out,
        leaf_value=leaf_value,
        histogram=histogram,
        axis=_bars([0] * len(BINS)),
        anchor=anchor,
        Column=Column,
    )
    pathlib.Path(path).write_text(text, encoding="utf-8")


def columns(cases: Iterable[Case], results: Iterable[Result]) -> list[Column]:
    """Return a column for each dtype and mode that some case has, on each device that ran."""
    wanted = {(dtype, mode) for case in cases for dtype in case.dtypes for mode in case.modes}
    ran = {result.device for result in results}
    return [
        Column(dtype, mode, device)
        for device in DEVICES
        if device in ran
        for dtype in DTYPES
        for mode in MODES
        if (dtype, mode) in wanted
    ]


def ticks(text: str) -> markupsafe.Markup:
    """Escape a sentence, and turn its words in backticks into code."""
    return markupsafe.Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(markupsafe.escape(text))))


def _finds(results: Iterable[Result], term: str) -> bool:
    """Whether a term of the filter selects any cell."""
    key, value = term.split(":")
    name = {"status": "verdict"}.get(key, key)
    return any(getattr(result, name) == value for result in results)


def _has_ratio(leaf: Leaf) -> bool:
    return leaf.oracle_ratio is not None and math.isfinite(leaf.oracle_ratio)


def _public(value: Any) -> Any:
    """Return a version without the commit in its local part, since the page names one commit."""
    return re.sub(r"\+g[0-9a-f]{6,}.*$", "", value) if isinstance(value, str) else value


def _some_not_run(cases: Sequence[Case], results: Sequence[Result]) -> bool:
    ran = {_key(result) for result in results}
    return any(
        (case.id, *column) not in ran
        for column in columns(cases, results)
        for case in cases
        if column.dtype in case.dtypes
        and column.mode in case.modes
        and column.device in case.devices
    )


def histogram(result: Result) -> list[Bar]:
    """Return a histogram of the elementwise ULP differences, with a log scale."""
    totals = [0] * len(BINS)
    for leaf in result.leaves:
        for place, count in enumerate(leaf.histogram):
            totals[place] += count
    return _bars(totals)


def _bars(totals: Sequence[int]) -> list[Bar]:
    highest = math.log1p(max(totals)) or 1.0
    labels = [str(a) if a == b - 1 else f"{a}–{b - 1}" for a, b in itertools.pairwise(BINS)]
    return [
        Bar(label, count, 40 * place, 60 * math.log1p(count) / highest)
        for place, (label, count) in enumerate(zip([*labels, f"{BINS[-1]}+"], totals, strict=True))
    ]


def anchor(id: str) -> str:
    """Return a form of a case id that is safe in a URL and in CSS."""
    plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in id)
    usual = plain == id.replace("/", "-")
    return plain if usual else f"{plain}-{hashlib.sha1(id.encode()).hexdigest()[:6]}"


def _key(result: Result) -> tuple[str, str, str, str]:
    return (result.id, result.dtype, result.mode, result.device)
