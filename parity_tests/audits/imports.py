"""The names that a Python file imports, read from its syntax tree without importing it."""

import ast
import functools
import pathlib


@functools.cache
def imported_names(path: pathlib.Path) -> frozenset[str]:
    """Return every dotted name that a file imports: at its top, lazily, or for types alone."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)
