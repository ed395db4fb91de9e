"""A behaviour side by side in a notebook: both programs, both results, the verdict.

show("grad_modes/detach")        both programs as they ran, and what each gives
without("grad_modes/detach")     only what changes when the tool is taken out
graph("grad_modes/detach")       the backward graphs of both programs
programs("mobilenet/freeze")     both programs, not run
network()                        the small network that the programs share
"""

import difflib
import functools
import importlib
from typing import Any, NamedTuple

from jaxgrad.graph import Table, table
from parity_tests.case import Case, CaseError, identity, load
from parity_tests.notebook.display import Picture, Shown
from parity_tests.pictures.draw_case import picture, settings
from parity_tests.report.rows import compared, cut, measured
from parity_tests.report.source_text import source, text_of
from parity_tests.report.text import SIGNS
from parity_tests.runner.engine import Result, run
from parity_tests.runner.jax_side import Program
from parity_tests.runner.settings import configure
from parity_tests.runner.torch_side import split, witness


def show(
    id: str,
    dtype: str | None = None,
    mode: str | None = None,
    *,
    only: str = "*",
    seed: int = 0,
) -> Shown:
    """Both programs side by side as they ran, what each gave, and the verdict.

    Args:
      id: Of a case, `theme/behaviour`.
      dtype: Of its inputs; the first that the case names, if not given.
      mode: "eager" or "jit"; jit, if the case knows it.
      only: Globs over the paths of the results, to print some of them: "loss *weight".
      seed: 0 is the document's own inputs.

    Returns:
      What to display, and `values` by side. Where the case has a tool, the last column is JAX
      without the tool.

    Raises:
      AssertionError: The cell does not pass; a notebook must not show a lesson that is not so.
    """
    seen = _observe(id, dtype, mode, seed)
    rows = list(compared(list(seen.values.values()), seen.result.dtype, only))
    assert rows, f"{id} observes nothing that matches {only!r}"
    gone = [f"JAX {_replaced(seen.case)}"] if seen.case.control is not None else []
    return Shown(
        title=seen.case.claim,
        sources=_programs(seen.case),
        columns=("", "torch", "", "JAX", *gone),
        rows=(*cut(rows), *measured(list(seen.measured.values()))),
        verdict=_sentence(seen.result),
        values=seen.values,
        measured=seen.measured,
    )


def without(
    id: str,
    dtype: str | None = None,
    mode: str | None = None,
    *,
    only: str = "*",
    seed: int = 0,
) -> Shown:
    """What changes in the JAX program when its tool is taken out; arguments as in `show`.

    Raises:
      AssertionError: Nothing changes.
      ValueError: The case has no tool.
    """
    control = _find(id).control
    if control is None:
        raise ValueError(f"{id} has no tool that could be taken out")
    seen = _observe(id, dtype, mode, seed)
    kept, gone = seen.values["JAX"], seen.values["without"]
    rows = [
        (path, left, right)
        for path, left, sign, right in compared([kept, gone], seen.result.dtype, only)
        if sign == SIGNS["deviation"]
    ]
    tools = ", ".join(control)
    assert rows, f"{id}: nothing that matches {only!r} changes without {tools}"
    return Shown(
        title=f"The same program {_replaced(seen.case)}; only what changes:",
        columns=("", f"with {tools}", _replaced(seen.case)),
        rows=cut(rows),
        verdict=f"✓ it matters: {_replaced(seen.case)} the result changes",
        values={"JAX": kept, "without": gone},
    )


def graph(id: str, *, seed: int = 0) -> Picture:
    """The backward graphs of both programs, side by side.

    Raises:
      CaseError: The case has no picture.
    """
    return Picture(picture(_find(id), seed))


def nodes(id: str, *, seed: int = 0) -> Table:
    """The backward graph as rows: torch's nodes and JAX's primitives, and what each saves.

    Raises:
      CaseError: The case has no graph.
    """
    first = next(iter(settings(_find(id), seed).values()))
    return table(*(side for side in (first.torch, first.jax) if side is not None))


def programs(id: str) -> Shown:
    """Both programs side by side, not run: for what takes longer than a notebook should."""
    made = _find(id)
    return Shown(
        title=made.claim,
        sources=_programs(made),
        verdict=f"not run here: python -m parity_tests {made.id}",
    )


def network() -> Shown:
    """The network, the loss and the reading of gradients that most of the programs share."""

    def texts(module: str, names: str) -> str:
        functions = vars(importlib.import_module(module))
        return "\n\n".join(source(functions[name]) for name in names.split())

    return Shown(
        title="What most of the programs share: input → L1 → L2 → mean squared error.",
        sources=(
            ("torch · torch_ref/_net.py", texts("torch_ref._net", "linear Net mlp mse grads")),
            (
                "JAX · parity_tests/cases/_net.py",
                texts("parity_tests.cases._net", "linear forward mlp mse"),
            ),
        ),
    )


def _programs(made: Case) -> tuple[tuple[str, str], ...]:
    return (
        (f"torch · torch_ref/{made.theme}.py", text_of(made.reference)),
        (f"JAX · parity_tests/cases/{made.theme}.py", text_of(made.fun)),
    )


def _find(id: str) -> Case:
    configure()
    cases = load()
    if id not in cases:
        near = ", ".join(difflib.get_close_matches(id, cases, n=3, cutoff=0.3))
        raise CaseError(f"there is no case {id!r}; nearest: {near}")
    return cases[id]


class _Seen(NamedTuple):
    """A cell that passes: what each side gave, and JAX without the tool where it has one."""

    case: Case
    result: Result
    values: dict[str, Any]
    measured: dict[str, Any]  # bytes and seconds


@functools.lru_cache(maxsize=16)  # a notebook shows a behaviour, then plots it
def _observe(id: str, dtype: str | None, mode: str | None, seed: int) -> _Seen:
    made = _find(id)
    dtype = dtype or made.dtypes[0]
    mode = mode or ("jit" if "jit" in made.modes else made.modes[0])
    result = run(made, dtype, mode, seed=seed)
    assert result.passed, str(result)  # `blind`, if taking the tool out made no difference
    seen = witness(made, dtype, seed, "cpu")
    sides = {"torch": seen.observed, "JAX": Program(made.fun, mode)(seen.inputs)}
    if made.control is not None:
        sides["without"] = Program(made.without_tool(), mode)(seen.inputs)
    pairs = {name: split(side) for name, side in sides.items()}
    values, amounts = ({name: pair[n] for name, pair in pairs.items()} for n in (0, 1))
    return _Seen(made, result, values, amounts)


def _replaced(made: Case) -> str:
    """`without stop_gradient`, or `with clip = only_norm` where something stands in its place."""
    control = made.control or {}
    out = [name for name, value in control.items() if value is identity]
    other = [_instead(name, value) for name, value in control.items() if value is not identity]
    words = [f"without {', '.join(out)}"] if out else []
    return ", ".join([*words, *([f"with {', '.join(other)}"] if other else [])])


def _instead(name: str, value: Any) -> str:
    called = _name(value)
    return f"another {name}" if called == "<lambda>" else f"{name} = {called}"


def _name(value: Any) -> str:
    if isinstance(value, functools.partial):
        options = ", ".join(f"{key}={_name(item)}" for key, item in value.keywords.items())
        return f"{_name(value.func)}({options})"
    return getattr(value, "__name__", repr(value))


def _sentence(result: Result) -> str:
    cell = f"{result.dtype}, {result.mode}"
    if result.verdict == "bitwise":
        return f"✓ the same bits ({cell})"
    if result.verdict == "deviation":
        return f"{SIGNS['deviation']} they differ, and each side is pinned: {result.why}"
    ulp = f"{result.max_ulp_at_scale:.2g} ULP at leaf scale"
    return f"✓ identical to rounding: at most {ulp} apart ({cell})"
