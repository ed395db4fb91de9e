"""Read the source of a Python function: its syntax tree, its comments and its place."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import io
import linecache
import textwrap
import tokenize
import types
from collections.abc import Mapping
from typing import Any

from jaxgrad.parity.port.source.refusals import Place, PortError


@dataclasses.dataclass(frozen=True)
class Source:
    """A function's tree, whose line numbers are those of its file, and its comments by line."""

    node: ast.FunctionDef | ast.Lambda
    file: str
    comments: Mapping[int, str]  # own lines and ends of lines alike
    own_lines: frozenset[int]  # the lines that hold a comment alone
    function: Any  # a Python function

    def place(self, node: ast.AST) -> Place:
        line = getattr(node, "lineno", self.node.lineno)
        return Place(self.file, line, linecache.getline(self.file, line))


@functools.cache
def source_of(function: types.FunctionType) -> Source:
    """Return the source of a function as it was defined, not of what it wraps.

    Raises:
        PortError: There is no source to read.
    """
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        raise PortError(
            f"the source of {function.__qualname__} cannot be read; write it as a Python function"
        ) from None
    first = max(first, 1)
    text = textwrap.dedent("".join(lines))
    node = _function(text, code)
    ast.increment_lineno(node, first - 1)
    _mangle(node, function.__qualname__)
    comments, own = ({}, frozenset()) if is_torch(function) else _comments(text, first - 1)
    return Source(node, code.co_filename, comments, own, function)


def is_torch(function: types.FunctionType | types.MethodType | type) -> bool:
    """Return whether a function or a class is torch's own."""
    return (function.__module__ or "").split(".")[0] == "torch"  # a traced graph has no module


def _function(text: str, code: types.CodeType) -> ast.FunctionDef | ast.Lambda:
    if code.co_name == "<lambda>":
        return _lambda(code)
    tree = ast.parse(text)
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise PortError(f"{code.co_qualname} is not a plain function; define it with `def`")
    return found


def _lambda(code: types.CodeType) -> ast.Lambda:
    """Return the lambda of a file whose body is where the code is."""
    lines, _ = inspect.findsource(code)
    tree = ast.parse("".join(lines))
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    places = [((a, c), (b, d)) for a, b, c, d in code.co_positions() if a and b and d]
    if places:
        around = [node for node in lambdas if all(_holds(node.body, *place) for place in places)]
        found = around[-1:]  # the innermost, since the walk goes from the outside in
    else:  # Python ran without positions, or the body is a constant, which has none since 3.12
        found = [node for node in lambdas if _begins(node, code)]
    if len(found) != 1:
        raise PortError("a lambda shares its line with others; define it with `def`")
    return ast.increment_lineno(found[0], 1 - max(code.co_firstlineno, 1))


def _begins(node: ast.Lambda, code: types.CodeType) -> bool:
    """Return whether a lambda has the line and the arguments of a code."""
    names = code.co_varnames[: code.co_argcount]
    return node.lineno == code.co_firstlineno and tuple(a.arg for a in node.args.args) == names


def _holds(node: ast.expr, start: Any, end: Any) -> bool:
    return (node.lineno, node.col_offset) <= start and end <= (node.end_lineno, node.end_col_offset)


def _mangle(node: ast.AST, qualname: str) -> None:
    """Give private attributes, `self.__x`, the names that Python gives them in a class."""
    parts = [part.split(".") for part in qualname.split(".<locals>.")]
    owner = next((names[-2] for names in reversed(parts) if len(names) > 1), "").lstrip("_")
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr.startswith("__") and owner:
            inner.attr = inner.attr if inner.attr.endswith("__") else f"_{owner}{inner.attr}"


def _comments(text: str, offset: int) -> tuple[dict[int, str], frozenset[int]]:
    comments: dict[int, str] = {}
    own = set()
    lines = text.splitlines()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line = token.start[0]
                comments[line + offset] = token.string
                if lines[line - 1].lstrip().startswith("#"):
                    own.add(line + offset)
    except (tokenize.TokenError, IndentationError):
        pass
    return comments, frozenset(own)


def free_names(function: types.FunctionType) -> dict[str, Any]:
    """Return the values of a function's closure by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return found


def global_value(function: types.FunctionType, name: str) -> Any:
    """Return the value of a global or builtin name that a function reads.

    Raises:
        KeyError: There is none.
    """
    if name in function.__globals__:
        return function.__globals__[name]
    builtins = function.__globals__["__builtins__"]
    table = builtins if isinstance(builtins, dict) else vars(builtins)
    return table[name]
