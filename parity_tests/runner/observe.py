"""Run one cell of a case for display: torch's results, JAX's, and JAX's without its tool."""

import difflib
import functools
from typing import Any, NamedTuple

from parity_tests.case import Case, CaseError, load
from parity_tests.runner.engine import Result, run
from parity_tests.runner.jax_side import JaxProgram
from parity_tests.runner.settings import configure
from parity_tests.runner.torch_side import run_torch, split


class PassedCell(NamedTuple):
    """A passed cell: torch's results, JAX's results, and JAX's results without the tool, if any."""

    case: Case
    result: Result
    values: dict[str, Any]
    measured: dict[str, Any]  # bytes and seconds


def find(id: str) -> Case:
    """Return the case of an id.

    Raises:
        CaseError: There is no such case; the message lists similar ids.
    """
    configure()
    cases = load()
    if id not in cases:
        near = ", ".join(difflib.get_close_matches(id, cases, n=3, cutoff=0.3))
        raise CaseError(f"there is no case {id!r}; similar: {near}")
    return cases[id]


@functools.lru_cache(maxsize=16)  # a notebook may show and plot the same case
def observe(id: str, dtype: str | None, mode: str | None, seed: int) -> PassedCell:
    """Run a case in both frameworks, and in JAX without its tool.

    Raises:
        AssertionError: The cell does not pass.
    """
    case = find(id)
    dtype = dtype or case.dtypes[0]
    mode = mode or ("jit" if "jit" in case.modes else case.modes[0])
    result = run(case, dtype, mode, seed=seed)
    assert result.passed, str(result)  # the verdict is `blind` if removing the tool has no effect
    torch_run = run_torch(case, dtype, seed, "cpu")
    sides = {"torch": torch_run.observed, "JAX": JaxProgram(case.fun, mode)(torch_run.inputs)}
    if case.control is not None:
        sides["without"] = JaxProgram(case.without_tool(), mode)(torch_run.inputs)
    pairs = {name: split(side) for name, side in sides.items()}
    values, amounts = ({name: pair[n] for name, pair in pairs.items()} for n in (0, 1))
    return PassedCell(case, result, values, amounts)
