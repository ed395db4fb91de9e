"""Name the functions of a port: after torch's, and unlike any local variable."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import sys
import types
from collections.abc import Collection, Sequence
from typing import Any

from torch import nn

from jaxgrad.parity.port.ir import Loop
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.line_breaks import WIDTH
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.source.spelling import tidy
from jaxgrad.parity.port.source.writer import short_path
from jaxgrad.parity.port.source.written import Written


UNROLLED = (
    "JAX unrolls {}, so compile time grows with the number of iterations; use lax.scan for long "
    "inputs."
)


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
    """Return the name of a function: its own, or that of the class whose forward it is.

    Python's own names, such as `sum` and `lambda`, are completed: the file may use them itself.
    """
    base, is_module = function.__name__.strip("_"), False
    if owner is not None and function.__name__ in ("forward", "__call__"):
        is_module = True
        base = snake(owner.__name__)
        labels = [x for x in path.split(".") if x.isidentifier()]
        if is_sequence(owner) and labels:
            is_part = not path.endswith(labels[-1])
            base = snake(labels[-1].removesuffix("s") if is_part else labels[-1])
    if keyword.iskeyword(base) or hasattr(builtins, base):
        return f"{base}_forward" if is_module else f"{base}_"
    return base if base.isidentifier() else "function"


def is_sequence(owner: type) -> bool:
    """Return whether a class is one of torch's that holds the user's modules in a row."""
    return owner in (nn.Sequential, nn.ModuleList, nn.ModuleDict)


_WORDS = (
    r"[A-Z][a-z]+2[A-Z][a-z]+",  # Pix2Pix
    r"P?[A-Z][a-z]{1,2}G?LU",  # ReLU, SwiGLU
    r"ViT",
    r"[A-Z]o[A-Z](?![a-z])",  # MoE
    r"([A-Z][a-z]+|(?<![A-Z])[A-Z])Ne(t|Xt)(?![a-z])",  # ResNet, UNet
)
SHORT = 4  # letters of a name that is one word, such as `NeRF`


def snake(name: str) -> str:
    """Return a class's name as that of a function: `GPT2Model` as `gpt2_model`.

    Words that people write as one stay one: `ResNet`, `UNet`, `NeRF`, `SwiGLU` and `Pix2Pix`.
    """
    if len(name) <= SHORT:
        return name.lower().strip("_")
    words = re.sub("|".join(_WORDS), lambda match: match[0].capitalize(), name)
    spaced = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", words)
    return re.sub(r"([a-z])([A-Z])|(\d)([A-Z][a-z])", r"\1\3_\2\4", spaced).lower().strip("_")


def docstring(written: Written, module: nn.Module) -> str:
    """Return the docstring of a function: what it is in torch, and where the user's source is.

    Args:
        written: The function.
        module: The module that is ported.
    """
    owner, function = written.owner, written.function
    label, place = function.__name__, _place(function)
    if owner is not None:
        label = owner.__name__ if label == "forward" else f"{owner.__name__}.{label}"
        if is_torch(function) and is_sequence(owner):
            return (
                _of_sequence(written.module_paths, module) or f"{_public_package(owner)}.{label}."
            )
        if is_torch(function) and is_torch(owner):
            return f"{_public_package(owner)}.{label}."
        place = _place(owner) if is_torch(function) else place
    about = summary(owner if owner is not None and function.__name__ == "forward" else function)
    return f"{about}\n\n{label} ({place})." if about else f"{label} ({place})."


def class_docstring(kind: type[nn.Module], paths: Collection[str], module: nn.Module) -> str:
    """Return the docstring of a class: the author's summary, and where the user's source is.

    Args:
        kind: torch's class.
        paths: The paths of the modules that have it.
        module: The module that is ported.
    """
    if is_torch(kind):
        held = _of_sequence(paths, module) if is_sequence(kind) else ""
        return held or f"{_public_package(kind)}.{kind.__name__}."
    methods = [inspect.unwrap(x) for x in (kind.forward, kind.__init__) if not is_torch(x)]
    place = f"{kind.__name__} ({_place(methods[0] if methods else kind)})."
    about = summary(kind)
    return f"{about}\n\n{place}" if about else place


def summary(source: Any) -> str:
    """Return the first sentence of the author's own docstring."""
    text = vars(source).get("__doc__") if isinstance(source, type) else source.__doc__
    first = inspect.cleandoc(text or "").split("\n\n")[0]
    sentence = re.split(r"(?<=[.!?])\s", " ".join(first.split()))[0]
    if not sentence or len(sentence) > WIDTH - 10 or "\\" in sentence or '"' in sentence:
        return ""
    return sentence if sentence[-1] in ".!?" else f"{sentence}."


def _of_sequence(paths: Collection[str], module: nn.Module) -> str:
    """Return `Net.body (nets/net.py:12).` of the attribute that holds a Sequential."""
    holders = [x for path in sorted(paths) if (x := holder(path, module)) is not None]
    labels = list(dict.fromkeys(f"{type(x).__name__}.{rest}" for x, rest in holders))
    if len(labels) > 1:
        labels = list(dict.fromkeys(re.sub(r"\[\d+\]", "[i]", label) for label in labels))
    if not labels:
        return ""
    kind, attribute = type(holders[0][0]), re.split(r"[.\[]", holders[0][1])[0]
    return f"{' and '.join(labels[:2])} ({_place(kind, attribute)})."


def holder(path: str, module: nn.Module) -> tuple[nn.Module, str] | None:
    """Return the user's module that holds a module, and how: `layers[0]`."""
    parts = path.split(".")
    for n in reversed(range(len(parts))):
        outer = module.get_submodule(".".join(parts[:n]))
        if path and not is_torch(type(outer)):
            first, *rest = parts[n:]
            return outer, "".join([first, *(f"[{x}]" if x.isdigit() else f".{x}" for x in rest)])
    return None


def _place(source: Any, attribute: str = "") -> str:
    """Return the file and line of a function or class, or of the line that sets an attribute."""
    try:
        lines, first = inspect.getsourcelines(source)
    except (OSError, TypeError):  # a class of a notebook, or of a module that is not imported
        lines, first = [], 0
    if isinstance(source, types.FunctionType) or not lines:
        function = source if isinstance(source, types.FunctionType) else source.forward
        code = inspect.unwrap(function).__code__
        return f"{short_path(code.co_filename)}:{code.co_firstlineno}"
    if attribute:
        sets = re.compile(rf"\s*(.*\W)?self\.{attribute}\b.*=")
        first += next((n for n, line in enumerate(lines) if sets.match(line)), 0)
    return f"{short_path(inspect.getsourcefile(source) or '')}:{first}"


def _public_package(owner: type) -> str:
    """Return the first package on a class's path that exports it, as `torch.nn` for `Linear`."""
    parts = owner.__module__.split(".")
    packages = [".".join(parts[: n + 1]) for n in range(len(parts))]
    exported = (p for p in packages if getattr(sys.modules.get(p), owner.__name__, None) is owner)
    return next(exported, owner.__module__)


def reading_order(functions: Sequence[Written]) -> list[Written]:
    """Return the functions as one reads them: the entry, and each one after those that call it."""
    by_name = {w.name: w for w in functions}
    found: list[Written] = []

    def visit(written: Written) -> None:
        calls = dict.fromkeys(n for n in _in_order(written.node) if n in by_name)
        for name in reversed(calls):
            if by_name[name] not in found and by_name[name] is not written:
                visit(by_name[name])
        if written not in found:
            found.append(written)

    visit(functions[-1])
    for written in functions:
        visit(written)
    order = found[::-1]
    entry = order.index(functions[-1])
    return [*order[entry:], *order[:entry]]


def _in_order(node: ast.AST) -> list[str]:
    """Return the functions of the port that a node names, in the order of the source."""
    names = syntax.written_names(node)
    text = syntax.text(node)
    found = {n: re.search(rf"\b{re.escape(n)}\(", text) for n in names}
    return sorted(found, key=lambda n: m.start() if (m := found[n]) else len(text))


def with_shapes(doc: str, shapes: str) -> str:
    """Return a docstring with the shapes of arguments and results, on its line if they fit."""
    *about, place = doc.split("\n\n")
    line = f"{place[:-1]}: {shapes}."
    fits = len(line) + (4 if about else 10) <= WIDTH
    return "\n\n".join([*about, line] if fits else [*about, place, f"{shapes}."])


def with_unrolled(doc: str, node: ast.AST, growing: Collection[Loop]) -> str:
    """Return a docstring that names the loops whose number of iterations depends on an input.

    Args:
        doc: The docstring of a function or class.
        node: Its definition, as it is written.
        growing: The loops of the torch program with such a number.
    """
    heads: list[str] = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.For) and on_statement(inner).loop in growing:
            heads.append(_head(inner))
        elif isinstance(inner, ast.ListComp) and on_expression(inner).loop in growing:
            heads.append(_head(inner.generators[0]))
    if not heads:
        return doc
    listed = " and ".join(f"`{head}`" for head in dict.fromkeys(heads))
    return "\n\n".join(filter(None, [doc, UNROLLED.format(listed)]))


def _head(loop: ast.For | ast.comprehension) -> str:
    target = syntax.text(loop.target)
    target = target[1:-1] if isinstance(loop.target, ast.Tuple) else target
    return tidy(f"for {target} in {syntax.text(loop.iter)}")
