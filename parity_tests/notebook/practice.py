"""Questions and exercises whose answers are folded, and computed rather than written down.

question("grad_modes/detach")                    a result of this case
predict("Which surfaces fail?", verdicts, "...")   results that the notebook has computed
exercise("grad_modes/one_term_of_a_sum")         a function in `solutions/grad_modes.py`

`check.py` judges a reader's answer.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import io
import linecache
import pkgutil
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxgrad.parity.compare import flatten
from parity_tests.notebook import solutions
from parity_tests.notebook.definitions import Definitions
from parity_tests.notebook.display import Folded, Task, cells, output, prose, table
from parity_tests.notebook.highlight import block
from parity_tests.notebook.questions import QUESTIONS
from parity_tests.notebook.source_edits import definition, free_names
from parity_tests.report.rows import TextRow, compared
from parity_tests.runner.observe import observe


SOLUTIONS = solutions.__name__
DIGITS = 3  # significant digits of an answer


def question(id: str) -> Folded:
    """Ask for a result of a case; the answer is what both frameworks returned.

    Args:
        id: The id of a case that has a question in `questions.py`.

    Raises:
        AssertionError: The case does not pass, or has no such result.
    """
    asked = QUESTIONS[id]
    cell = observe(id, None, None, 0)
    sides, at = [cell.values["torch"], cell.values["JAX"]], asked.at
    if asked.element is not None:
        name = f"{at}/{asked.element}"
        sides, at = [{name: flatten(side)[at][asked.element]} for side in sides], name
    rows = list(compared(sides, cell.result.dtype, at, DIGITS))
    assert rows, f"no result of {id} matches {asked.at!r}"
    return _folded(asked.text, ("", "torch", "", "JAX"), rows, asked.because)


def predict(text: str, results: Mapping[str, object], because: str) -> Folded:
    """Ask for results that the notebook has computed.

    Args:
        text: The question.
        results: The results by name.
        because: A sentence that explains the answer.
    """
    rows = [(name, str(value)) for name, value in results.items()]
    return _folded(text, ("", "result"), rows, because)


def _folded(text: str, columns: Sequence[str], rows: Iterable[TextRow], because: str) -> Folded:
    """Fold a table of results and the reason below a question."""
    rows = list(rows)
    answer = table(columns, map(cells, rows))
    plain = "\n".join(f"  {row[0]}: {' | '.join(row[1:])}" for row in rows)
    reason = f"<p>{prose(because)}</p>"
    return Folded("Predict", text, "answer", f"{answer}{reason}", f"{plain}\n{because}")


def exercises() -> list[str]:
    """Return the names of all exercises, each the file of its solution and its function."""
    files = (info.name for info in pkgutil.iter_modules(solutions.__path__))
    modules = {name: importlib.import_module(f"{SOLUTIONS}.{name}") for name in files}
    return [
        f"{name}/{stem}"
        for name, module in modules.items()
        for stem, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]


def exercise(name: str, *, solution: bool = True) -> Folded | Task:
    """Show the task of an exercise, with its solution and what the solution prints folded.

    Args:
        name: The notebook's file of solutions and the function in it: "hooks/unit_gradient".
        solution: Whether to show the solution.
    """
    if not solution:
        return Task(_task(_function(name).__doc__ or ""))
    solved = solve(name)
    task = _task(solved.task)
    folded = f"{block(solved.code)}<p>It prints:</p>{output(solved.printed)}"
    return Folded("Exercise", task, "solution", folded, solved.printed)


def _task(text: str) -> str:
    """Return the task of an exercise, the docstring of its solution, in one line."""
    return " ".join(inspect.cleandoc(text).split())


def _function(name: str) -> Callable[[], None]:
    """Return the function that has the task and the solution of an exercise."""
    theme, _, stem = name.partition("/")
    return getattr(importlib.import_module(f"{SOLUTIONS}.{theme}"), stem)


class Solved(NamedTuple):
    """An exercise whose solution has run."""

    task: str
    code: str
    printed: str
    names: dict[str, Any]  # what the solution defines


@functools.cache
def solve(name: str) -> Solved:
    """Run the solution of an exercise."""
    fun = _function(name)
    code = solution(fun)
    printed = io.StringIO()
    file = f"<{name}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": fun.__name__}
    with contextlib.redirect_stdout(printed):
        exec(compile(code, file, "exec"), names)
        jax.effects_barrier()  # wait for what `jax.debug.print` prints
    return Solved(fun.__doc__ or "", code, printed.getvalue(), names)


def solution(fun: Callable[[], None]) -> str:
    """Return the body of an exercise as a script, with the imports that it needs."""
    text = definition(fun)
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    first = node.body[0].end_lineno or 0
    body = textwrap.dedent("\n".join(text.splitlines()[first:])).strip("\n")
    definitions = Definitions()
    for name in free_names(body):
        definitions.need(fun.__module__, name)
    return "\n".join([*sorted(definitions.imports), "", body, ""])
