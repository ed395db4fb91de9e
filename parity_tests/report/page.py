"""The report page: one offline file that shows every cell, both programs and where they differ."""

import base64
import collections
import gzip
import hashlib
import html
import itertools
import json
import math
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxgrad.parity.compare import Leaf
from jaxgrad.parity.prove.page import number, template
from jaxgrad.parity.ulp import BINS
from parity_tests.case import DTYPES, MODES, Case
from parity_tests.report.explain import source
from parity_tests.report.text import SIGNS, changes, rows_covered
from parity_tests.runner.engine import Result
from parity_tests.runner.selection import ROWS


DEVICES = ("cpu", "gpu", "tpu")
LEAVES_SHOWN = 12  # of a wrong cell
LEAVES_OF_PASSED = 5
_WORDS = re.compile("<desc[^>]*>(.*?)</desc>", re.DOTALL)  # a picture says what it shows
_TEMPLATE = pathlib.Path(__file__).with_name("page.html.j2")


class Column(NamedTuple):
    dtype: str
    mode: str
    device: str


class Bar(NamedTuple):
    """One bar of a histogram, in units of its drawing."""

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
    pictures: Mapping[str, str] | None = None,
) -> None:
    """Write the page.

    Args:
      path: Where to.
      cases: What was selected, in the order of the rows.
      results: Of the cells that ran; what did not run is shown as not run.
      versions: From `environment.versions`.
      old: An earlier `--json`, to mark what changed.
      pictures: Case id -> SVG.

    What passed and the pictures are packed; without JavaScript the page has them in words.
    """
    by_case: dict[str, list[Result]] = collections.defaultdict(list)
    for result in results:
        by_case[result.id].append(result)
    text = template(_TEMPLATE).render(
        cases=cases,
        by_case=by_case,
        cells={_key(result): result for result in results},
        columns=columns(cases, results),
        changed=changes(results, old) if old is not None else {},
        compared=old is not None,
        failed=[result for result in results if not result.passed],
        verdict=verdict(results),
        counts=collections.Counter(result.verdict for result in results),
        controls=collections.Counter(result.control for result in results),
        rows=rows_covered(results),
        all_rows=len(ROWS),
        versions=versions,
        signs=SIGNS,
        pictures=pictures or {},
        words=lambda svg: html.unescape("".join(_WORDS.findall(svg))),
        later=Later(),
        source=source,
        number=number,
        alike=alike,
        command=command,
        shown_leaves=shown_leaves,
        histogram=histogram,
        axis=_bars([0] * len(BINS)),
        anchor=anchor,
        Column=Column,
    )
    pathlib.Path(path).write_text(text, encoding="utf-8")


class Later:
    """Markup that the browser puts in its place, packed until then to a tenth of its size."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, markup: str) -> int:
        """Keep it; what is returned is its place."""
        self.texts.append(str(markup).strip())
        return len(self.texts) - 1

    def packed(self) -> str:
        """All of them, the same text each time."""
        text = json.dumps(self.texts, ensure_ascii=False).encode()
        return base64.b64encode(gzip.compress(text, mtime=0)).decode()


def verdict(results: Sequence[Result]) -> str:
    """The one sentence on top. Nothing that did not run counts as good."""
    if not results:
        return "Nothing was run."
    wrong = sum(not result.passed for result in results)
    pinned = sum(result.verdict == "deviation" for result in results)
    cells, programs = len(results), len({result.id for result in results})
    if wrong:
        return f"{wrong} of {cells} cells are wrong, in {programs} programs."
    tail = f"; {pinned} of them are documented deviations, as pinned" if pinned else ""
    return f"All {cells} cells of {programs} programs have torch's gradients{tail}."


def columns(cases: Iterable[Case], results: Iterable[Result]) -> list[Column]:
    """Every column that some case has, and one for each device that was not run at all."""
    wanted = {(dtype, mode) for made in cases for dtype in made.dtypes for mode in made.modes}
    ran = {result.device for result in results}
    return [
        Column(dtype, mode, device)
        for device in DEVICES
        if device in ran
        for dtype in DTYPES
        for mode in MODES
        if (dtype, mode) in wanted
    ]


def alike(results: Iterable[Result]) -> list[list[Result]]:
    """Cells that would show the same, most often eager and jit of a dtype: they share a table."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        told = (result.verdict, result.text, repr(result.leaves), repr(result.shown))
        groups.setdefault((result.dtype, result.device, *told), []).append(result)
    return list(groups.values())


def command(results: Sequence[Result]) -> str:
    """What runs these cells, which differ in their mode alone, and no other."""
    modes = ",".join(result.mode for result in results)
    return results[0].command.replace(f"--mode {results[0].mode}", f"--mode {modes}")


def shown_leaves(result: Result) -> list[Leaf]:
    """The leaves worth a row: wrong ones first, then those furthest apart."""
    order = sorted(result.leaves, key=lambda x: (x.verdict != "fail", -_finite(x.ulp_at_scale)))
    return order[: LEAVES_OF_PASSED if result.passed else LEAVES_SHOWN]


def histogram(result: Result) -> list[Bar]:
    """Elements by how many elementwise ULP they are apart, on a log scale."""
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
    """An id that is safe in an address and in CSS, whatever the case is called."""
    plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in id)
    usual = plain == id.replace("/", "-")
    return plain if usual else f"{plain}-{hashlib.sha1(id.encode()).hexdigest()[:6]}"


def _key(result: Result) -> tuple[str, str, str, str]:
    return (result.id, result.dtype, result.mode, result.device)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.inf
