"""Compare the causes that a report prints with the mistakes that were planted."""

import linecache
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from jaxgrad.parity import Finding, Report
from parity_tests.ports.bug import Bug
from parity_tests.runner.settings import ROOT


Judged = Literal["right", "possible", "none", "doubtful", "false"]

FOLDER = ROOT / "parity_tests" / "ports"
_PLACE = re.compile(r"(?<![\w/.-])(\w+\.py):(\d+)")
# These causes list several places; each place is a claim of its own.
_LISTS = re.compile(
    r"(an extra stop_gradient at|torch (?:stops the gradient|passes the gradient straight through) "
    r"at|JAX's gradient also flows through) "
    r"(.*?)(?= \(rerunning|, JAX does not|, torch's does not|$)"
)
_BOTH = re.compile(r", (?:and (?=[^()]*, seen from step)|seen from step \d+ on)")


def printed(report: Report) -> tuple[Finding, ...]:
    """Return the findings that a report prints: the first one and other mistakes."""
    return () if report.first is None else (report.first, *report.further)


def located(cause: str) -> str:
    """Write the source line after each place in a port, because line numbers change."""

    def with_line(place: re.Match[str]) -> str:
        line = linecache.getline(str(FOLDER / place[1]), int(place[2])).strip()
        return f"{place[0]} `{line.replace('`', chr(39))}`" if line else place[0]

    return _PLACE.sub(with_line, cause)


def claims(cause: str) -> list[str]:
    """Split a cause into its claims: one for each place, or one for each of several changes.

    Args:
        cause: The cause, with the source lines of its places.

    Returns:
        The claims, each of which must hold if the cause is true.

    Example:
        >>> claims("an extra stop_gradient at a.py:1 and at a.py:2 (rerunning JAX without them)")
        ['an extra stop_gradient at a.py:1', 'an extra stop_gradient at a.py:2']
    """
    listed = _LISTS.match(cause)
    if listed is None:
        return _BOTH.split(cause)
    places = re.split(r" and (?:at )?(?=(?:the call at )?\S+\.py:\d)", listed[2])
    return [f"{listed[1]} {place}" for place in places]


def explains(claim: str, bug: Bug) -> bool:
    """Return whether a claim is a true statement of a bug's cause."""
    return bool(bug.cause) and re.search(bug.cause, claim) is not None


def holds(finding: Finding, bugs: Sequence[Bug]) -> bool:
    """Return whether each claim of a finding's cause is true of one of the planted bugs."""
    return all(
        any(explains(claim, bug) for bug in bugs) for claim in claims(located(finding.cause))
    )


def false_causes(report: Report, bugs: Sequence[Bug]) -> list[str]:
    """Return the causes that a report calls confirmed although they are false."""
    return [f.cause for f in printed(report) if f.cause and f.tested and not holds(f, bugs)]


def confirmed(report: Report) -> int:
    """Return how many causes a report calls confirmed."""
    return sum(bool(f.cause) and f.tested for f in printed(report))


def judged(report: Report, bugs: Sequence[Bug]) -> Judged:
    """Judge the causes that a report prints by the bugs that were planted.

    Args:
        report: The report on a pair of programs.
        bugs: The bugs that were planted in the JAX program.

    Returns:
        "false" if a cause is called confirmed and does not match the bugs, else "right" if one is
        called confirmed. Of causes that are only observed, the first counts: "possible" if it
        matches, "doubtful" if it does not, and "none" if no cause is printed.
    """
    causes = [f for f in printed(report) if f.cause]
    if false_causes(report, bugs):
        return "false"
    if any(f.tested for f in causes):
        return "right"
    if not causes:
        return "none"
    return "possible" if holds(causes[0], bugs) else "doubtful"


def counts(rows: Iterable[tuple[int, int]]) -> str:
    """Say how many causes are confirmed and false, given both counts for each report."""
    confirmed, false = map(sum, zip((0, 0), *rows, strict=True))
    return f"{confirmed} causes are said to be confirmed, {false} of them are false"


def statements(report: Report) -> Iterator[tuple[Finding, str]]:
    """Yield each printed finding with each claim of its cause, or with an empty claim."""
    for finding in printed(report):
        for claim in claims(located(finding.cause)):
            yield finding, claim
