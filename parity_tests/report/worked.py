"""Choose the case that the report page opens with, and the lines that it marks."""

from collections.abc import Collection, Mapping, Sequence

from parity_tests.case import Case
from parity_tests.report.marked import under_test
from parity_tests.report.source_text import source
from parity_tests.runner.engine import Result


def marks(case: Case) -> tuple[frozenset[int], frozenset[int]]:
    """Return the lines under test of the torch program and of the JAX program."""
    torch, jax = case.idiom
    return (
        under_test(source(case.reference, claim=False), torch),
        under_test(source(case.fun, claim=False), jax, tuple(case.control or ())),
    )


def worked(
    cases: Sequence[Case],
    by_case: Mapping[str, Sequence[Result]],
    pictures: Collection[str] = (),
) -> Case | None:
    """Return the case that explains most about the page, or None if no case has results.

    It has a negative control that changes a result, agrees with torch, and has marked lines in
    both programs and a picture, or as many of these as a case has, in this order. Of several such
    cases it is the one with the fewest lines.
    """

    def score(case: Case) -> tuple[bool, bool, bool, bool, int]:
        first = by_case[case.id][0]
        agrees = first.verdict in ("bitwise", "close")
        programs = (source(program, claim=False) for program in (case.reference, case.fun))
        lines = sum(len(program.splitlines()) for program in programs)
        return bool(first.changed), agrees, all(marks(case)), case.id in pictures, -lines

    candidates = [case for case in cases if any(r.leaves for r in by_case.get(case.id, ()))]
    return max(candidates, key=score, default=None)
