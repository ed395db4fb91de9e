"""Copy the definitions that a piece of code needs from this repository into a script."""

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Mapping

from parity_tests.notebook.core import CoreError
from parity_tests.notebook.source_edits import definition, free_names, plain
from parity_tests.report.source_text import completions


OWN = ("torch_ref", "parity_tests")  # packages that a reader does not have


class Definitions:
    """The imports, functions, classes and constants that some names need, in the order of use.

    Attributes:
        imports: One import statement for each imported name.
        pieces: The source of each definition, without annotations and after those that it needs.
        names: The module that defines each name.
    """

    def __init__(self) -> None:
        self.imports: list[str] = []
        self.pieces: list[str] = []
        self.names: dict[str, str] = {}

    def need(self, module: str, name: str) -> None:
        """Add what binds `name` in a module, and everything that it needs."""
        statement = _bindings(module).get(name)
        if statement is None:
            raise CoreError(f"{module} does not bind {name!r} in a statement of its own")
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self._import(statement, name)
            return
        if self.names.setdefault(name, module) != module:
            raise CoreError(f"both {module} and {self.names[name]} define {name!r}")
        statements = [statement, *completions(_text(module), name)]
        text = "\n\n\n".join(plain(_source(module, each)) for each in statements)
        if text in self.pieces:
            return
        for other in free_names(text):
            if other != name and other not in self.names:
                self.need(module, other)
        if text not in self.pieces:
            self.pieces.append(text)

    def _import(self, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        (entry,) = [each for each in statement.names if _name(each) == name]
        origin = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
        if origin.split(".")[0] in OWN:
            self.need(origin, entry.name)
            if entry.asname:
                self.names[name] = f"{origin} as {name}"
                self.pieces.append(f"{name} = {entry.name}")
            return
        words = f"{entry.name} as {entry.asname}" if entry.asname else entry.name
        line = f"from {origin} import {words}" if origin else f"import {words}"
        if line not in self.imports:
            self.imports.append(line)


@functools.cache
def _bindings(module: str) -> Mapping[str, ast.stmt]:
    """Return the statement of a module that binds each of its names."""
    bindings: dict[str, ast.stmt] = {}
    for statement in ast.parse(_text(module)).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            bindings[statement.name] = statement
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            bindings |= {_name(each): statement for each in statement.names}
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    bindings[node.id] = statement
    return bindings


def _name(entry: ast.alias) -> str:
    """Return the name that an import binds."""
    return entry.asname or entry.name.partition(".")[0]


@functools.cache
def _text(module: str) -> str:
    importlib.import_module(module)
    return inspect.getsource(sys.modules[module])


def _source(module: str, statement: ast.stmt) -> str:
    """Return the source of a definition; a case loses its decorator, which registers it."""
    if isinstance(statement, ast.FunctionDef):
        decorators = [ast.unparse(each) for each in statement.decorator_list]
        if any(each.startswith(("case(", "compiled(")) for each in decorators):
            return definition(getattr(sys.modules[module], statement.name))
    lines = _text(module).splitlines()
    start = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
    text = "\n".join(lines[start - 1 : statement.end_lineno])
    return "\n".join(line.split("  # noqa")[0] for line in text.splitlines())
