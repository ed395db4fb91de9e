"""Name the functions of a port: after torch's, and unlike any local variable."""

from __future__ import annotations

import ast
import pathlib
import re
import sys
import types
from collections.abc import Sequence

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.scope import Written
from jaxgrad.parity.port.source import is_torch
from jaxgrad.parity.port.writer import WIDTH


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


def base_name(function: types.FunctionType, owner: type | None, path: str) -> str:
    """Return the name of a function: its own, or that of the class whose forward it is."""
    base = function.__name__.strip("_")
    if owner is not None and function.__name__ in ("forward", "__call__"):
        base = snake(owner.__name__)
        label = path.rpartition(".")[2]
        if is_torch(function) and label.isidentifier():
            base = snake(label)  # a Sequential is named after its attribute
    return base if base.isidentifier() else "function"


def snake(name: str) -> str:
    """Return `LayerNorm2d` as `layer_norm2d`, `Conv1D` as `conv1d` and `ReLU` as `relu`."""
    words = re.sub(r"[PR]?(Re|Si)LU", lambda match: match[0].capitalize(), name)
    spaced = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", words)
    return re.sub(r"([a-z])([A-Z])|(\d)([A-Z][a-z])", r"\1\3_\2\4", spaced).lower().strip("_")


def docstring(written: Written) -> str:
    """Return the docstring of a function: its name in torch, or where the user's source is."""
    code = written.function.__code__
    owner, label = written.owner, written.function.__name__
    if owner is not None:
        label = owner.__name__ if label == "forward" else f"{owner.__name__}.{label}"
        if is_torch(written.function):
            return f"{_public_package(owner)}.{label}."
    path = pathlib.Path(code.co_filename)
    return f"{label} ({'/'.join(path.parts[-2:])}:{code.co_firstlineno})."


def _public_package(owner: type) -> str:
    """Return the first package on a class's path that exports it, as `torch.nn` for `Linear`."""
    parts = owner.__module__.split(".")
    packages = [".".join(parts[: n + 1]) for n in range(len(parts))]
    exported = (p for p in packages if getattr(sys.modules.get(p), owner.__name__, None) is owner)
    return next(exported, owner.__module__)


def with_shapes(doc: str, shapes: str) -> str:
    """Return a docstring with the shapes of arguments and results, on its line if they fit."""
    line = f"{doc[:-1]}: {shapes}."
    return line if len(line) + 10 <= WIDTH else f"{doc}\n\n{shapes}."
