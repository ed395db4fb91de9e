"""Cut the lines that a lesson is about out of the program that the suite runs.

The program is a function `def detach(net, x, y, *, stop_gradient=lax.stop_gradient)` that returns a
dict of results. Its core can be pasted below the inputs: the body without docstring, annotations
and `noqa`, with `lax.stop_gradient` for `stop_gradient`, which only the negative control replaces,
and a `print` for the `return`. A lambda that the control replaces is written out where it is
called. Assignments that serve only results that are not printed are left out.
"""

import ast
import dataclasses
import fnmatch
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from parity_tests.notebook.source_edits import Edit, definition, edited, inlined, plain, span
from parity_tests.report.marked import called, lines_with
from parity_tests.runner.torch_side import SHOWN


WIDTH = 88  # characters of a line with several printed results
_FUNCTIONS = ast.FunctionDef | ast.Lambda


class CoreError(Exception):
    """A program cannot be cut; the message names the program and says what to change in it."""


@dataclasses.dataclass(frozen=True)
class Core:
    """The lines of a program that its lesson is about.

    Attributes:
        text: The lines, which run below the inputs.
        marked: The numbers of the lines that differ from the negative control, from 0.
        printed: The results that the last lines print; empty if they print one value that is all
            of them.
    """

    text: str
    marked: frozenset[int] = frozenset()
    printed: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """The number of lines that are not empty."""
        return sum(bool(line.strip()) for line in self.text.splitlines())


def core_of(program: Callable[..., Any], prints: str = "", tools: str = "") -> Core:
    """Return the lines of a program that a lesson shows: the body without the test harness.

    Args:
        program: A function of the inputs that returns its results.
        prints: Globs over the names of the results to print. By default every result except the
            loss, which is printed only if it is the only result.
        tools: A snippet of code; the first function that it calls marks lines of a program that
            has no keyword arguments.

    Raises:
        CoreError: The program returns early, or no result matches `prints`.
    """
    fun, text, found = _substituted(definition(program))
    *body, last = fun.body
    if not isinstance(last, ast.Return) or last.value is None or _returns(body):
        raise CoreError(f"{program.__name__} must return once, in its last line")
    names, values = _printed(last.value, text, prints)
    if prints and not values:
        raise CoreError(f"{program.__name__} has no result that matches {prints!r}")
    shown = [ast.parse(value, mode="eval") for value in values]
    live = {name for value in shown for name in _names(value, ast.Load)}
    if ast.get_docstring(fun):
        body = body[1:]
    kept = _live(body, live)
    pieces: list[str] = []
    for statement, above in zip(kept, [None, *kept], strict=False):
        piece = textwrap.dedent(_lines(text, statement, body, fun))
        apart = isinstance(above, ast.FunctionDef | ast.ClassDef) and not piece.startswith("\n")
        pieces.append("\n" * apart + piece)
    end = "\n" * (bool(kept) and isinstance(kept[-1], ast.FunctionDef | ast.ClassDef))
    core = "\n".join([*pieces, end + _print(values)]).lstrip("\n")
    return Core(core, lines_with(core, found or called(tools, core)), names)


# ---- the tool of the control


def _substituted(text: str) -> tuple[ast.FunctionDef, str, list[str]]:
    """Replace the keyword arguments by their defaults, and return these defaults, too."""
    text = plain(text)
    text, tools = _written_out(text)
    fun = _function(text)
    edits: list[Edit] = []
    front = []
    for argument, default in zip(fun.args.kwonlyargs, fun.args.kw_defaults, strict=True):
        assert default is not None
        name, value = argument.arg, ast.get_source_segment(text, default) or ""
        if not any(_free(fun.body, name)):
            continue  # it is written out already
        simple = isinstance(default, ast.Name | ast.Attribute | ast.Constant)
        assigned = name in {n for statement in fun.body for n in _names(statement, ast.Store)}
        if simple and not assigned:
            edits += [(*span(text, node), value.encode()) for node in _free(fun.body, name)]
        else:
            front.append(f"{name} = {value}")
        tools.append(value if simple else name)
    text = edited(text, edits)
    if front:
        line = _function(text).body[bool(ast.get_docstring(fun))].lineno - 1
        lines = text.splitlines()
        lines[line:line] = textwrap.indent("\n".join(front), "    ").splitlines()
        text = "\n".join(lines)
    return _function(text), text, tools


def _written_out(text: str) -> tuple[str, list[str]]:
    """Replace calls of keyword arguments that are lambdas, or `identity`, by what they return.

    Return also the functions that are called there, which the control replaces.
    """
    tools: list[str] = []
    for argument, default in zip(*_keywords(_function(text)), strict=True):
        value = ast.get_source_segment(text, default) or ""
        rule = "lambda x: x" if value == "identity" else value
        if not rule.startswith("lambda"):
            continue
        body = _function(text).body
        calls = [n.func for each in body for n in ast.walk(each) if isinstance(n, ast.Call)]
        if calls and {id(n) for n in _free(body, argument.arg)} <= {id(n) for n in calls}:
            text, functions = inlined(text, argument.arg, rule)
            tools += functions
    return text, tools


def _keywords(fun: ast.FunctionDef) -> tuple[list[ast.arg], list[ast.expr]]:
    return fun.args.kwonlyargs, [default for default in fun.args.kw_defaults if default]


def _function(text: str) -> ast.FunctionDef:
    fun = ast.parse(text).body[0]
    assert isinstance(fun, ast.FunctionDef)
    return fun


def _free(body: list[ast.stmt], name: str) -> Iterator[ast.Name]:
    """Yield the places that read `name`, except in functions with an argument of that name."""

    def visit(node: ast.AST) -> Iterator[ast.Name]:
        if isinstance(node, ast.Name) and node.id == name:
            yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, _FUNCTIONS) and name in _arguments(node.args):
            children = [node.args]  # the defaults are read outside
        for child in children:
            yield from visit(child)

    for statement in body:
        yield from visit(statement)


def _arguments(arguments: ast.arguments) -> set[str]:
    return {node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)}


# ---- the results


def _returns(body: list[ast.stmt]) -> bool:
    """Whether one of the statements returns from the program itself."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, _FUNCTIONS | ast.ClassDef):
            todo += ast.iter_child_nodes(node)
    return False


def _printed(value: ast.expr, text: str, prints: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of the printed results, if they have names, and the source of each."""
    source = ast.get_source_segment(text, value) or ""
    named = isinstance(value, ast.Dict) and all(
        isinstance(key, ast.Constant) and isinstance(key.value, str) for key in value.keys
    )
    if not isinstance(value, ast.Dict) or not named:
        return (), [source]
    results = {
        str(key.value): ast.get_source_segment(text, item) or ""
        for key, item in zip(value.keys, value.values, strict=True)
        if isinstance(key, ast.Constant) and key.value != SHOWN
    }
    globs = prints.split()
    chosen = [name for name in results if any(fnmatch.fnmatchcase(name, glob) for glob in globs)]
    if not globs:
        chosen = [name for name in results if name != "loss"] or list(results)
    return tuple(chosen), [results[name] for name in chosen]


def _print(values: list[str]) -> str:
    line = f"print({', '.join(values)})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return "\n".join(f"print({_outdented(value)})" for value in values)


def _outdented(value: str) -> str:
    """Move the further lines of an expression to the left, as its statement has moved."""
    first, *rest = value.splitlines()
    if not rest:
        return value
    margin = min(len(line) - len(line.lstrip()) for line in rest)
    return "\n".join([first, *(line[margin:] for line in rest)])


def _live(body: list[ast.stmt], printed: set[str]) -> list[ast.stmt]:
    """Return the statements without the assignments and functions that no printed result needs."""
    late: set[str] = set()  # names that a kept function reads when it is called, at any later time
    while True:
        live, kept = printed | late, []
        for statement in reversed(body):
            if not _pure(statement) or live & _names(statement, ast.Store):
                live |= _names(statement, ast.Load)
                kept.append(statement)
        functions = [n for each in kept for n in ast.walk(each) if isinstance(n, _FUNCTIONS)]
        found = {name for function in functions for name in _names(function, ast.Load)}
        if found <= late:
            return kept[::-1]
        late |= found


def _pure(statement: ast.stmt) -> bool:
    """Whether a statement only binds names: it does not run a backward pass or an optimizer."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    targets = [node for target in statement.targets for node in ast.walk(target)]
    attributes = {n.attr for n in ast.walk(statement) if isinstance(n, ast.Attribute)}
    return not (
        any(isinstance(node, ast.Attribute | ast.Subscript) for node in targets)
        or attributes & {"backward", "step"}
    )


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a statement reads or binds; a definition binds its own name."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}
    if context is ast.Store and isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    return names


def _lines(text: str, statement: ast.stmt, body: list[ast.stmt], fun: ast.FunctionDef) -> str:
    """Return the lines of a statement with the comments and the empty line above it."""
    lines = text.splitlines()
    decorators = getattr(statement, "decorator_list", [])
    start = min([statement.lineno, *(node.lineno for node in decorators)])
    before = [other.end_lineno or 0 for other in body if (other.end_lineno or 0) < start]
    top = max(before, default=start - 1)
    if not before:  # what stands above the first statement is the docstring or the signature
        top = start - 1
        first = (fun.body[0].end_lineno or 0) if ast.get_docstring(fun) else fun.body[0].lineno - 1
        while top > first and lines[top - 1].lstrip().startswith("#"):
            top -= 1
    return "\n".join(lines[top : statement.end_lineno])
