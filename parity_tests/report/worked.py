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
    """Return the case that explains most about the page: the first one that has the most of these.

    A negative control that changes a result; a result that agrees with torch's; a marked line in
    both programs; a picture. A case without results cannot explain anything.
    """

    def score(case: Case) -> tuple[bool, ...]:
        first = by_case[case.id][0]
        agrees = first.verdict in ("bitwise", "close")
        return bool(first.changed), agrees, all(marks(case)), case.id in pictures

    candidates = [case for case in cases if any(r.leaves for r in by_case.get(case.id, ()))]
    return max(candidates, key=score, default=None)
