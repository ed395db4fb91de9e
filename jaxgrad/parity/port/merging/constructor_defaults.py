"""Give a keyword the default that the constructor of the torch class has for it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence

from jaxgrad.parity.port.merging.redirection import calls_of
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.source.written import Written


def with_constructor_defaults(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with defaults for keywords; the calls leave them out."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef) and written.owner and written.base:
            if not is_torch(written.owner):
                _give_defaults(written, written.owner, functions)
    return list(functions)


def _give_defaults(written: Written, owner: type, functions: Sequence[Written]) -> None:
    parameters = inspect.signature(owner.__init__).parameters
    arguments: ast.arguments = written.node.args
    calls = calls_of(written.name, functions) if arguments.kwonlyargs else []
    for n, (argument, before) in enumerate(
        zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ):
        default = getattr(parameters.get(argument.arg), "default", inspect.Parameter.empty)
        if before is not None or not isinstance(default, bool | int | float | str):
            continue
        code = syntax.literal(default)
        if any(_is(k, argument.arg, code) for c in calls for k in c.keywords):
            arguments.kw_defaults[n] = code
            for call in calls:
                call.keywords = [k for k in call.keywords if not _is(k, argument.arg, code)]


def _is(keyword: ast.keyword, name: str, code: ast.expr) -> bool:
    return keyword.arg == name and syntax.same(keyword.value, code)
