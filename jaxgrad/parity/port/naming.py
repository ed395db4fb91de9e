"""Give a function another name where a local variable has its name."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.scope import Written


def named(functions: Sequence[Written]) -> list[Written]:
    """Return the functions under names that no function uses for a variable."""
    variables = {name for w in functions for name in _variables(w.node)}
    taken = variables | {w.name for w in functions}
    renamed: dict[str, str] = {}
    for written in functions:
        if written.name in variables:
            new, number = f"{written.name}_forward", 2
            while new in taken:
                new, number = f"{written.name}_forward_{number}", number + 1
            taken.add(new)
            renamed[written.name] = new
    for written in functions:
        syntax.rename_written(written.node, renamed)
        written.name = renamed.get(written.name, written.name)
    return list(functions)


def _variables(node: ast.AST) -> set[str]:
    return syntax.assigned(node) | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
