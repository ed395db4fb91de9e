"""Questions and exercises whose answers are folded, and computed rather than written down.

question("grad_modes/detach")                    a result of this case
exercise("grad_modes/one_term_of_a_sum")         a function in `solutions/grad_modes.py`
"""

import ast
import contextlib
import importlib
import inspect
import io
import pkgutil
import textwrap
from collections.abc import Callable

import jax

from parity_tests.notebook import solutions
from parity_tests.notebook.definitions import Definitions
from parity_tests.notebook.display import Folded, cells, output, prose, table
from parity_tests.notebook.highlight import block
from parity_tests.notebook.questions import QUESTIONS
from parity_tests.notebook.show import observe
from parity_tests.notebook.source_edits import definition, free_names
from parity_tests.report.rows import compared


SOLUTIONS = solutions.__name__


def question(id: str) -> Folded:
    """Ask for a result of a case; the answer is what both frameworks returned.

    Args:
        id: The id of a case that has a question in `questions.py`.

    Raises:
        AssertionError: The case does not pass, or has no such result.
    """
    asked = QUESTIONS[id]
    cell = observe(id, None, None, 0)
    sides = [cell.values["torch"], cell.values["JAX"]]
    rows = list(compared(sides, cell.result.dtype, asked.at))
    assert rows, f"no result of {id} matches {asked.at!r}"
    answer = table(("", "torch", "", "JAX"), map(cells, rows))
    plain = "\n".join(f"  {row[0]}: {' | '.join(row[1:])}" for row in rows)
    reason = f"<p>{prose(asked.because)}</p>"
    return Folded("Predict", asked.text, "answer", f"{answer}{reason}", f"{plain}\n{asked.because}")


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


def exercise(name: str) -> Folded:
    """Show the task of an exercise, with its solution and what the solution prints folded.

    Args:
        name: The notebook's file of solutions and the function in it: "hooks/print_the_norm".
    """
    theme, _, stem = name.partition("/")
    fun = getattr(importlib.import_module(f"{SOLUTIONS}.{theme}"), stem)
    code = solution(fun)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"<{name}>", "exec"), {"__name__": stem})
        jax.effects_barrier()  # wait for what `jax.debug.print` prints
    task = " ".join(inspect.cleandoc(fun.__doc__ or "").split())
    folded = f"{block(code)}<p>It prints:</p>{output(printed.getvalue())}"
    return Folded("Exercise", task, "solution", folded, printed.getvalue())


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
