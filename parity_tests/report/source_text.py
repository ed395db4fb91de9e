"""The text of a program as it ran, with what it uses of its own module."""

import ast
import dis
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any


FOLD = 62  # characters of a line: two columns fit on a page that has no style sheet


def text_of(program: Callable[..., Any]) -> str:
    """A program as it ran: what it uses of its own module, and itself without claim and case."""
    pieces = [*_used(program), program]
    pieces.sort(key=lambda piece: inspect.getsourcelines(piece)[1])
    return "\n\n".join(source(piece, claim=piece is not program) for piece in pieces)


def _used(program: Callable[..., Any]) -> list[Any]:
    """The functions and classes of the program's own module that it needs, and what they need."""
    found: dict[str, Any] = {}

    def visit(code: types.CodeType, space: dict[str, Any]) -> None:
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                visit(const, space)
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL":  # not an attribute, not an argument of that name
                need(step.argval, space.get(step.argval))

    def need(name: str, value: Any) -> None:
        own = inspect.isfunction(value) or inspect.isclass(value)
        if not own or value.__module__ != program.__module__ or name in found or value is program:
            return
        found[name] = value
        methods = [value] if inspect.isfunction(value) else vars(value).values()
        for method in methods:
            fun = method.__func__ if isinstance(method, staticmethod) else method
            if inspect.isfunction(fun):
                visit(fun.__code__, fun.__globals__)

    visit(program.__code__, program.__globals__)
    for default in (program.__kwdefaults__ or {}).values():
        need(getattr(default, "__name__", ""), default)
    return list(found.values())


def source(piece: Any, claim: bool = True) -> str:
    """The text of a function or class; without its decorators, and on request its docstring."""
    text = textwrap.dedent(inspect.getsource(piece)).rstrip()
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    lines = text.splitlines()
    if not claim and ast.get_docstring(node):
        doc, then = node.body[0], node.body[1]
        del lines[doc.lineno - 1 : then.lineno - 1]
    return "\n".join(lines[node.lineno - 1 :])


def fold(text: str) -> str:
    """The same text with its long lines broken."""
    lines: list[str] = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 8)
        folded = textwrap.wrap(
            line,
            FOLD,
            subsequent_indent=indent,
            drop_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [part.rstrip() for part in folded] or [""]
    return "\n".join(lines)
