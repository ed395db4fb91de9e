"""Find the lines of a program that are under test: those that call the function that a case tests.

The notebooks and the report page mark these lines.
"""

import ast
import re
from collections.abc import Sequence

import markupsafe


STOPS = {"detach", "no_grad", "requires_grad", "requires_grad_", "retain_grad", "stop_gradient"}


def called(snippet: str, code: str) -> list[str]:
    """Return the function of a program that a snippet of code calls, if there is one: a function
    that stops or changes a gradient, or else the first.
    """
    names = re.findall(r"(\w+)(?=\(| = (?:True|False))", snippet)
    for name in sorted(names, key=lambda name: name not in STOPS):
        for not_after in (r"[\[,)]", r"\["):  # an argument only if nothing else has the name
            if match := re.search(rf"[\w.]*\b{name}\b(?!{not_after})", code):
                return [match[0]]
    return []


def lines_with(code: str, tools: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines of code, from 0, that read one of the tools."""
    words = [rf"(?<![\w.]){re.escape(tool)}\b" for tool in tools]
    lines = [line.partition("  #")[0] for line in code.splitlines()]
    return frozenset(
        number for number, line in enumerate(lines) if any(re.search(word, line) for word in words)
    )


def under_test(program: str, idiom: str, tools: Sequence[str] = ()) -> frozenset[int]:
    """Return the numbers of the lines that are under test, without those of the signature.

    Args:
        program: The source of a function.
        idiom: The line that a user writes; it is searched for if no line reads one of the tools.
        tools: The keyword arguments that the negative control replaces.
    """
    function = ast.parse(program).body[0]
    assert isinstance(function, ast.FunctionDef)
    above = function.body[0].lineno - 1
    body = "\n".join(program.splitlines()[above:])
    found = lines_with(body, tools) or lines_with(body, called(idiom, body))
    return frozenset(above + number for number in found)


def marked(program: str, lines: frozenset[int]) -> markupsafe.Markup:
    """Return the source as HTML in which the given lines are marked, without their indentation."""
    shown = []
    for number, line in enumerate(program.splitlines()):
        text = line.lstrip() if number in lines else line
        words = str(markupsafe.escape(text))
        indent = line[: len(line) - len(text)]
        shown.append(f"{indent}<mark>{words}</mark>" if number in lines else words)
    return markupsafe.Markup("\n".join(shown))
