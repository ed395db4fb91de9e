"""Plant two bugs in one port, and record which of them a report names, at once or in turn."""

import functools
import itertools
import random
import time
from collections.abc import Sequence
from typing import NamedTuple

from jaxgrad.parity import Finding, Report
from parity_tests.audits import planted_causes
from parity_tests.audits.planted_runs import bugs, load, matches, prove_pair
from parity_tests.ports.bug import Bug


class PairResult(NamedTuple):
    """Two bugs in one port, and which of them were found."""

    port: str
    first: str
    second: str
    verdict: str
    named: tuple[bool, ...]  # whether the report on both bugs names each of them
    alone: bool  # whether the other bug is named once the named one is mended
    reported: list[str]  # the printed findings, each with its cause
    confirmed: int
    false: list[str]
    seconds: float

    @property
    def at_once(self) -> bool:
        """Whether one report names both bugs."""
        return all(self.named)

    @property
    def in_turn(self) -> bool:
        """Whether both bugs are found one after the other, mending each that is named."""
        return self.at_once or (any(self.named) and self.alone)


def drawn(count: int, patterns: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Draw pairs of bugs of one port whose plants have no option in common and can be built.

    Args:
        count: Number of pairs.
        patterns: Parts of `port/bug`; every bug if there are none.

    Returns:
        The port and the names of both bugs, in the order of the draw, the same in every call.
    """
    chosen: dict[str, list[Bug]] = {}
    for name, bug in bugs(patterns):
        chosen.setdefault(name, []).append(bug)
    pairs = [
        (name, first, second)
        for name, found in chosen.items()
        for first, second in itertools.combinations(found, 2)
        if not first.plant.keys() & second.plant.keys()
    ]
    random.Random(0).shuffle(pairs)
    built = (pair for pair in pairs if _can_be_built(*pair))
    return [(name, a.name, b.name) for name, a, b in itertools.islice(built, count)]


def _can_be_built(name: str, first: Bug, second: Bug) -> bool:
    try:
        load(name).pair(0, **first.plant, **second.plant)
    except Exception:  # the options of the port exclude each other
        return False
    return True


def judge_pair(name: str, first: str, second: str) -> PairResult:
    """Plant both bugs and prove once, and again with one bug if the report names one only."""
    planted = tuple(bug_of(name, label) for label in (first, second))
    start = time.perf_counter()
    report = prove_pair(load(name).pair(0, **planted[0].plant, **planted[1].plant))
    seconds = time.perf_counter() - start
    named = bugs_named(report, planted)
    others = [bug.name for bug, yes in zip(planted, named, strict=True) if not yes]
    return PairResult(
        port=name,
        first=first,
        second=second,
        verdict=report.verdict,
        named=named,
        alone=len(others) == 1 and named_alone(name, others[0]),
        reported=[_shown(finding) for finding in planted_causes.printed(report)],
        confirmed=planted_causes.confirmed(report),
        false=planted_causes.false_causes(report, planted),
        seconds=seconds,
    )


def bug_of(name: str, label: str) -> Bug:
    """Return a bug of a port by its name."""
    (bug,) = [bug for bug in load(name).BUGS if bug.name == label]
    return bug


@functools.cache
def named_alone(name: str, label: str) -> bool:
    """Return whether the report on a bug that is planted alone names it."""
    bug = bug_of(name, label)
    return all(bugs_named(prove_pair(load(name).pair(0, **bug.plant)), (bug,)))


def _shown(finding: Finding) -> str:
    label = "confirmed" if finding.tested else "observed"
    cause = f" ({label}: {finding.cause})" if finding.cause else ""
    return f"{finding.surface}: {finding.where}{cause}"


def bugs_named(report: Report, planted: Sequence[Bug]) -> tuple[bool, ...]:
    """Return which of the planted bugs a report names; each statement counts for one bug.

    A statement names a bug by its cause; or by the surface and the place of its finding, if its
    cause is not that of another bug.

    Args:
        report: The report on a program with the bugs.
        planted: The bugs.

    Returns:
        For each bug, whether it is named, so that as many as possible are.
    """
    statements = list(planted_causes.statements(report))
    fits = [[0] * len(statements) for _ in planted]
    for k, (finding, claim) in enumerate(statements):
        explained = [planted_causes.explains(claim, bug) for bug in planted]
        for row, bug, known in zip(fits, planted, explained, strict=True):
            here = finding.surface == bug.surface and matches(finding.torch, *bug.places)
            row[k] = 2 if known else int(here and not any(explained))
    ways = itertools.product((*range(len(statements)), None), repeat=len(planted))
    apart = [way for way in ways if len(used := [k for k in way if k is not None]) == len({*used})]
    chosen = [
        [0 if k is None else row[k] for row, k in zip(fits, way, strict=True)] for way in apart
    ]
    best = max(chosen, key=lambda found: (sum(map(bool, found)), sum(found)))
    return tuple(map(bool, best))


def table(rows: Sequence[PairResult]) -> str:
    """Return the results as a markdown table."""
    lines = [
        "| port | bugs | named at once | found in turn | reported | false causes |",
        "|---" * 6 + "|",
    ]
    for r in rows:
        names = [n for n, yes in zip((r.first, r.second), r.named, strict=True) if yes]
        once = " and ".join(names) or "none"
        cells = [r.port, f"{r.first} and {r.second}", "both" if r.at_once else once]
        cells += ["yes" if r.in_turn else "no", "; ".join(r.reported) or r.verdict]
        cells += ["; ".join(r.false)]
        lines.append(
            "| " + " | ".join(x.replace("|", "\\|").replace("\n", " ") for x in cells) + " |"
        )
    return "\n".join(lines)


def summary(rows: Sequence[PairResult]) -> list[str]:
    """Return the counts of pairs whose bugs were found, and of the causes."""
    n = len(rows) or 1
    once, turn = sum(r.at_once for r in rows), sum(r.in_turn for r in rows)
    one = sum(any(r.named) for r in rows)
    failed = sum(r.verdict == "fail" for r in rows)
    return [
        f"{len(rows)} pairs of bugs, {failed} fail",
        f"one report names both bugs of {once} pairs ({once / n:.0%}) and one bug at least of "
        f"{one} ({one / n:.0%})",
        f"one after the other, both bugs of {turn} pairs are found ({turn / n:.0%})",
        planted_causes.counts((r.confirmed, len(r.false)) for r in rows),
    ]
