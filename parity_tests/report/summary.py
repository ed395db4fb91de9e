"""The words at the top of the report page, and the cells that share a table below it."""

import collections
from collections.abc import Iterable, Mapping, Sequence

from jaxgrad.parity.prove.text import counted
from parity_tests.report.rows import disagreement
from parity_tests.runner.engine import Result


def verdict(results: Sequence[Result]) -> str:
    """Return the summary sentence at the top of the page, which counts behaviours that ran.

    A behaviour with an error in any of its cells counts as an error and not as failed. Otherwise it
    fails if any of its cells does, and differs if any of its cells does.
    """
    if not results:
        return "Nothing was run."
    ran = {result.id for result in results}
    raised = {result.id for result in results if result.verdict == "error"}
    failed = {result.id for result in results if not result.passed} - raised
    ways = {r.id: disagreement(r) for r in results if r.verdict == "deviation"}
    pinned = ways.keys() - failed - raised
    differ = f"{len(pinned)} differ as documented"
    if pinned:
        differ += f" ({_ways(collections.Counter(ways[id] for id in pinned))})"
    errors = f"{len(raised)} raised an error, " if raised else ""
    return (
        f"{counted(len(ran), 'behaviour')}: {len(failed)} failed, {errors}"
        f"{len(ran - failed - raised - pinned)} agree with torch, {differ}."
    )


def _ways(numbers: Mapping[str, int]) -> str:
    """Return how many behaviours differ in which way: `in 2 torch raises, in 1 both raise`."""
    order = ("differs", "torch raises", "JAX raises", "both raise")
    texts = {"differs": "in {} the values differ", "both raise": "in {} both raise"}
    texts |= {word: f"in {{}} {word}" for word in ("torch raises", "JAX raises")}
    return ", ".join(texts[word].format(numbers[word]) for word in order if numbers[word])


def alike(results: Iterable[Result]) -> list[list[Result]]:
    """Group cells with identical details, usually eager and jit of a dtype, to share a table."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        details = (result.verdict, result.text, repr(result.leaves), repr(result.shown))
        groups.setdefault((result.dtype, result.device, *details), []).append(result)
    return list(groups.values())


def command(results: Sequence[Result]) -> str:
    """Return the command that runs exactly these cells, which differ only in their mode."""
    modes = ",".join(result.mode for result in results)
    return results[0].command.replace(f"--mode {results[0].mode}", f"--mode {modes}")
