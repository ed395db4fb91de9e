"""Show a behaviour in a notebook: the torch and JAX programs, their results, and the verdict.

show("grad_modes/detach")        both programs as they ran, and their results
without("grad_modes/detach")     only the results that change when the tool is removed
graph("grad_modes/detach")       the backward graphs of both programs
figure("chain_rule")             a figure drawn from a run of both frameworks
programs("mobilenet/freeze")     both programs, not run
network()                        the small network that the programs share
"""

import functools
import importlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import jax.numpy as jnp
import optax
import optax.contrib

from jaxgrad.graph import Table, table
from jaxgrad.parity.compare import FLOAT64_RTOL, TORCH_ERRORS, Leaf
from jaxgrad.parity.ulp import epsilon
from parity_tests.case import Case, identity
from parity_tests.figures import catalog
from parity_tests.notebook.display import Picture, Program, Shown
from parity_tests.notebook.script import scripts
from parity_tests.pictures.draw_case import picture, settings
from parity_tests.report.rows import ABSENT, TextRow, compared, cut, measured
from parity_tests.report.source_text import source, text_of
from parity_tests.report.text import SIGNS
from parity_tests.runner.engine import Result
from parity_tests.runner.observe import find, observe


BELOW = "no error, see below"  # in place of a value that has several parts
ROUNDING = 100  # a difference of at most so many epsilons of the dtype is called rounding
DIGITS, ALL = 3, 17  # significant digits of the numbers in a table, and of those folded below it


def show(
    id: str,
    dtype: str | None = None,
    mode: str | None = None,
    *,
    only: str = "*",
    prints: str = "",
    seed: int = 0,
    asked: bool = False,
    claim: bool = True,
) -> Shown:
    """Run a case and show both programs, their results and the verdict.

    Args:
        id: The id of a case, `theme/behaviour`.
        dtype: The dtype of its inputs; by default the first dtype of the case.
        mode: "eager" or "jit"; by default "jit" if the case has it.
        only: Globs over the paths of the results that select the rows: "loss *weight".
        prints: Globs over the names of the results that the shown lines compute; by default all
            but the loss.
        seed: The seed of the inputs; with 0 some cases use fixed example inputs.
        asked: Whether a question about this case stands above, so that claim, results and verdict
            are folded.
        claim: Whether the claim of the case is shown; without it if the text above says the same.

    Returns:
        An object that displays itself; its `values` maps "torch" and "JAX" to their results. If
        the case has a tool, the last column shows JAX's results without the tool.

    Raises:
        AssertionError: The cell does not pass, so the notebook would show something false.
    """
    cell = observe(id, dtype, mode, seed)
    sides, dtype_ = list(cell.values.values()), cell.result.dtype
    rows, full = (_grouped(compared(sides, dtype_, only, digits)) for digits in (DIGITS, ALL))
    assert rows, f"no result of {id} matches {only!r}"
    gone = [f"JAX {_replaced(cell.case)}"] if cell.case.control is not None else []
    return Shown(
        title=cell.case.claim if claim else "",
        programs=_programs(cell.case, prints),
        columns=("", "torch", "", "JAX", *gone),
        rows=(*cut(rows), *measured(list(cell.measured.values()))),
        verdict=_sentence(cell.result, cell.case),
        values=cell.values,
        measured=cell.measured,
        full=cut(full) if full != rows else (),
        asked=asked,
        detail=_detail(cell.result, cell.case),
    )


def _grouped(rows: Iterable[TextRow]) -> list[TextRow]:
    """Put the results that only one framework returns below the exception of the other."""
    by_path = {row[0]: row for row in rows}
    groups: dict[str, list[TextRow]] = {path: [row] for path, row in by_path.items()}
    for path, row in by_path.items():
        parent = next((other for other in by_path if path.startswith(f"{other}/")), None)
        if parent is not None:
            groups[parent].append(row)
            del groups[path]
    for path, (first, *rest) in groups.items():
        if rest:
            texts = (BELOW if text == ABSENT else text for text in first)
            groups[path] = [tuple(texts), *rest]
    return [row for group in groups.values() for row in group]


def without(
    id: str,
    dtype: str | None = None,
    mode: str | None = None,
    *,
    only: str = "*",
    seed: int = 0,
) -> Shown:
    """Show the results of the JAX program that change when its tool is removed.

    The arguments are those of `show`.

    Raises:
        AssertionError: No result changes.
        ValueError: The case has no tool.
    """
    control = find(id).control
    if control is None:
        raise ValueError(f"{id} has no tool that could be removed")
    cell = observe(id, dtype, mode, seed)
    kept, gone = cell.values["JAX"], cell.values["without"]
    rows = [
        (path, left, right)
        for path, left, sign, right in compared([kept, gone], cell.result.dtype, only, DIGITS)
        if sign == SIGNS["deviation"]
    ]
    tools = ", ".join(control)
    assert rows, f"{id}: no result that matches {only!r} changes without {tools}"
    return Shown(
        title=f"The same program {_replaced(cell.case)}; only the results that change:",
        columns=("", f"with {tools}", _replaced(cell.case)),
        rows=cut(rows),
        verdict=f"✓ {_replaced(cell.case)}, the result changes",
        values={"JAX": kept, "without": gone},
    )


def graph(id: str, *, seed: int = 0) -> Picture:
    """Draw the backward graphs of both programs side by side.

    Raises:
        CaseError: The case has no picture.
    """
    return Picture(picture(find(id), seed))


def figure(name: str) -> Picture:
    """Draw a figure of `parity_tests.figures.catalog` from a run of torch and JAX."""
    return Picture(catalog.figure(name))


def nodes(id: str, *, seed: int = 0) -> Table:
    """List torch's nodes and JAX's primitives of the backward graphs, and their saved values.

    Raises:
        CaseError: The case has no graph.
    """
    first = next(iter(settings(find(id), seed).values()))
    return table(*(side for side in (first.torch, first.jax) if side is not None))


def programs(id: str, *, prints: str = "") -> Shown:
    """Show both programs side by side without running them, for cases too slow for a notebook."""
    case = find(id)
    torch_core, jax_core = (half.core for half in scripts(case, prints))
    return Shown(
        title=case.claim,
        programs=(
            Program(f"torch · torch_ref/{case.theme}.py", torch_core.text, torch_core.marked),
            Program(f"JAX · parity_tests/cases/{case.theme}.py", jax_core.text, jax_core.marked),
        ),
        verdict=f"not run here: python -m parity_tests {case.id}",
    )


def network() -> Shown:
    """Show the network, the loss and the gradient helpers that most programs share."""

    def texts(module: str, names: str) -> str:
        functions = vars(importlib.import_module(module))
        return "\n\n".join(source(functions[name]) for name in names.split())

    return Shown(
        title="Most programs share this network: input → L1 → L2 → mean squared error.",
        programs=(
            Program(
                "torch · torch_ref/_net.py",
                texts("torch_ref._net", "linear Net mlp mse grads"),
            ),
            Program(
                "JAX · parity_tests/cases/_net.py",
                texts("parity_tests.cases._net", "linear forward mlp mse"),
            ),
        ),
    )


def _programs(case: Case, prints: str) -> tuple[Program, ...]:
    files = f"torch · torch_ref/{case.theme}.py", f"JAX · parity_tests/cases/{case.theme}.py"
    return tuple(
        Program(where, half.core.text, half.core.marked, half.text)
        for where, half in zip(files, scripts(case, prints), strict=True)
    )


def _replaced(case: Case) -> str:
    """Describe the negative control: `without stop_gradient` or `with clip = only_norm`."""
    control = case.control or {}
    out = [name for name, value in control.items() if value is identity]
    other = [_instead(name, value) for name, value in control.items() if value is not identity]
    words = [f"without {', '.join(out)}"] if out else []
    return ", ".join([*words, *([f"with {', '.join(other)}"] if other else [])])


def _instead(name: str, value: Any) -> str:
    called = _name(value)
    return called if called.startswith(("optax.", "jnp.")) else f"{name} = {called}"


def _name(value: Any) -> str:
    if isinstance(value, functools.partial):
        options = ", ".join(f"{key}={_name(item)}" for key, item in value.keywords.items())
        return f"{_name(value.func)}({options})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_name(item)}" for key, item in value.items()) + "}"
    name = getattr(value, "__name__", repr(value))
    assert name != "<lambda>", "write the replacement of a tool as a function with a name"
    for space in (jnp.linalg, optax, optax.contrib):
        if value is not None and getattr(space, name, None) is value:
            return f"{space.__name__.replace('jax.numpy', 'jnp')}.{name}"
    return name.lstrip("_")


def _sentence(result: Result, case: Case) -> str:
    cell = f"{result.dtype}, {result.mode}"
    if result.verdict == "bitwise":
        return f"✓ bit-identical ({cell})"
    if result.verdict == "deviation":
        return f"{SIGNS['deviation']} documented deviation: {result.why}"
    if not _coarse(result):
        return f"✓ equal up to rounding ({cell})"
    tolerance = case.tolerance_in(result.dtype)
    if tolerance is not None:
        return f"✓ within {tolerance.rtol:g} of the largest element ({cell}): {tolerance.why}"
    return f"✓ within {TORCH_ERRORS:g} times torch's own {_rounded_to(case)} error ({cell})"


def _detail(result: Result, case: Case) -> str:
    """Return how large the largest difference is, unless there is none or it is intended."""
    if result.verdict in ("bitwise", "deviation"):
        return ""
    if worst := _coarse(result):
        own = worst.allowed / TORCH_ERRORS
        return (
            f"Errors are measured against a float64 run, relative to the largest element. In "
            f"`{worst.path}` JAX's is {worst.difference / worst.scale:.1g} and torch's "
            f"{own / worst.scale:.1g}; the rounding to {_rounded_to(case)} alone is "
            f"{epsilon(_rounded_to(case)) / 2:.1g}."
        )
    ulp = f"{result.max_ulp_at_scale:.2g}"
    return (
        f"The largest difference is {ulp} ULP. An ULP is the distance between two adjacent "
        "floating-point numbers, here at the largest element of an array."
    )


def _coarse(result: Result) -> Leaf | None:
    """Return the leaf with the largest error if it is larger than rounding of the cell's dtype."""
    close = [leaf for leaf in result.leaves if leaf.verdict == "close" and leaf.scale]
    worst = max(close, key=lambda leaf: leaf.difference / leaf.scale, default=None)
    rounding = max(ROUNDING * epsilon(result.dtype), FLOAT64_RTOL)
    return worst if worst and worst.difference > rounding * worst.scale else None


def _rounded_to(case: Case) -> str:
    """Return the dtype to which torch's program rounds: that of `autocast`, or its own."""
    half = re.search(r"\b(bfloat16|float16)\b", text_of(case.reference))
    return half[0] if half else case.dtypes[0]
