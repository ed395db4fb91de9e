"""Add a function to the port, once for all calls that are written alike."""

from __future__ import annotations

import ast
import types

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.naming import base_name, snake
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values.scope import Run


def add(
    function: types.FunctionType,
    owner: type | None,
    parameters: list[str],
    body: list[ast.stmt],
    run: Run,
    path: str,
) -> Written:
    """Return the function of the port with this body, which is written once."""
    node = syntax.function("_", parameters, body)
    for other in run.written:
        same_source = (
            isinstance(other.node, ast.FunctionDef)
            and other.function.__code__ is function.__code__
            and other.owner is owner
        )
        if same_source and syntax.same_function(other.node, node):
            other.module_paths.add(path)
            return other
    written = Written(_function_name(function, owner, run, path), function, node, owner)
    written.module_paths.add(path)
    written.base = base_name(function, owner, path)
    run.written.append(written)
    return written


def _function_name(function: types.FunctionType, owner: type | None, run: Run, path: str) -> str:
    """Return a name that no function of the port has yet."""
    base = base_name(function, owner, path)
    taken = {w.name for w in run.written} | RESERVED
    if not is_entry(function, run):
        taken.add(snake(type(run.module).__name__))
    if base in taken and owner is not None and function.__name__ != "forward":
        base = f"{snake(owner.__name__)}_{base}"
    return syntax.unique(base, taken)


def is_entry(function: types.FunctionType, run: Run) -> bool:
    forward = run.module.forward
    return len(run.scopes) == 1 and getattr(forward, "__func__", None) is function
