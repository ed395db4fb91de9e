"""Return the source text of a program together with the helpers it uses from its own module."""

import ast
import dis
import functools
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

import jax


RULES = (jax.custom_jvp, jax.custom_vjp)


def text_of(program: Callable[..., Any]) -> str:
    """Return the helpers that a program uses, then the program without docstring and decorator."""
    pieces = [*_used(program), program]
    pieces.sort(key=lambda piece: inspect.getsourcelines(piece)[1])
    return "\n\n".join(source(piece, claim=piece is not program) for piece in pieces)


def helpers(program: Callable[..., Any]) -> dict[str, str]:
    """Return the source of each function and class of the test suite that a program uses.

    The keys are their names. A helper may be in another file of the program's package.
    """
    package = program.__module__.rpartition(".")[0]
    pieces = _used(program, package)
    pieces.sort(key=lambda piece: (piece.__module__, inspect.getsourcelines(piece)[1]))
    return {piece.__name__: source(piece) for piece in pieces}


def _used(program: Callable[..., Any], package: str = "") -> list[Any]:
    """Return the functions and classes of a module or package that a program needs, transitively.

    Without a package they are those of the program's own module.
    """
    needed: dict[str, Any] = {}
    place = package or program.__module__

    def visit(code: types.CodeType, space: dict[str, Any]) -> None:
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                visit(const, space)
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL":  # excludes attributes and arguments of the same name
                need(step.argval, space.get(step.argval))

    def need(name: str, value: Any) -> None:
        own = inspect.isfunction(value) or inspect.isclass(value) or isinstance(value, RULES)
        if isinstance(value, types.FunctionType) and name == "<lambda>":
            visit(value.__code__, value.__globals__)  # its source is the statement around it
            return
        if not own or name in needed or value is program:
            return
        if place not in (value.__module__, value.__module__.rpartition(".")[0]):
            return
        needed[name] = value
        methods = vars(value).values() if inspect.isclass(value) else [inspect.unwrap(value)]
        for method in methods:
            fun = method.__func__ if isinstance(method, staticmethod) else method
            if inspect.isfunction(fun):
                visit(fun.__code__, fun.__globals__)

    visit(program.__code__, program.__globals__)
    for default in (program.__kwdefaults__ or {}).values():
        need(getattr(default, "__name__", ""), default)
    return list(needed.values())


def completions(text: str, name: str) -> list[ast.stmt]:
    """Return the statements of a module that complete a function, as `name.defvjp(...)` does."""
    return [
        statement
        for statement in _statements(text)
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Attribute)
        and ast.unparse(statement.value.func.value) == name
    ]


@functools.cache
def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def source(piece: Any, claim: bool = True) -> str:
    """Return the source of a function or class without decorators; `claim` keeps the docstring.

    The source of a `custom_jvp` or `custom_vjp` function also has its decorator and its rule.
    """
    if isinstance(piece, RULES):
        text = inspect.getsource(sys.modules[piece.__module__])
        rules = [ast.get_source_segment(text, each) for each in completions(text, piece.__name__)]
        return "\n\n".join([inspect.getsource(piece).rstrip(), *filter(None, rules)])
    text = re.sub(r"  # noqa.*", "", textwrap.dedent(inspect.getsource(piece)).rstrip())
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    lines = text.splitlines()
    if not claim and ast.get_docstring(node):
        doc, then = node.body[0], node.body[1]
        del lines[doc.lineno - 1 : then.lineno - 1]
    return "\n".join(lines[node.lineno - 1 :])
