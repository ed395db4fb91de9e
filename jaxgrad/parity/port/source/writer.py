"""Write the file: header, imports, one function after the other, at most 100 columns wide."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import re
import textwrap
from collections.abc import Sequence

import torch
from torch import nn

from jaxgrad._core.source import short_name
from jaxgrad._core.torch_versions import convention
from jaxgrad.parity.port.ir import Form
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.line_breaks import WIDTH, fit
from jaxgrad.parity.port.source.numbers import numeral
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.source.spelling import statement_text, tidy
from jaxgrad.parity.port.source.written import Assumption, Written


_IMPORTS = (
    ("math", "import math"),
    ("partial", "from functools import partial"),
    ("jax", "import jax"),
    ("jnp", "import jax.numpy as jnp"),
    ("jaxgrad", "import jaxgrad"),
    ("np", "import numpy as np"),
    ("nnx", "from flax import nnx"),
    ("lax", "from jax import lax"),
    ("F", "from jaxgrad import functional"),
    ("optim", "from jaxgrad import optim"),
)
_STANDARD = ("import math", "from functools import partial")


def short_path(path: str) -> str:
    """Return the last folder and the name of a file, or the number of a notebook's cell."""
    return short_name(path, folders=1)


def title_of(module: nn.Module) -> str:
    """Return the first line of a port."""
    kind = type(module)
    try:
        file = inspect.getsourcefile(kind) or ""
    except (OSError, TypeError):  # a class of a notebook, or of a module that is not imported
        file = inspect.unwrap(kind.forward).__code__.co_filename
    place = kind.__module__ if is_torch(kind) else short_path(file)
    version = convention(torch.__version__)
    return f"JAX port of {kind.__name__} ({place}), written by jaxgrad.port for torch {version}."


def write_file(
    title: str,
    functions: Sequence[Written],
    assumptions: Sequence[Assumption],
    notes: Sequence[str] = (),
    section: Sequence[Written | ast.stmt] = (),
    deviations: Sequence[str] = (),
    layers: Sequence[str] = (),
) -> str:
    """Return the source of the port; the first function is the entry, and `section` is last.

    Args:
        title: The first line of the docstring.
        functions: The functions and classes.
        assumptions: The folded tests.
        notes: Further paragraphs of the docstring.
        section: What is written after the functions.
        deviations: The documented differences that apply.
        layers: The layers of `jaxgrad.nnx` that the classes use.
    """
    parts = [*functions, *section]
    bodies = [
        function_text(x) if isinstance(x, Written) else "\n".join(statement_lines(x, 0))
        for x in parts
    ]
    nodes = [x.node if isinstance(x, Written) else x for x in parts]
    used = {n for node in nodes for n in syntax.names_in(node)}
    lines = [text for name, text in _IMPORTS if name in used]
    standard = [x for x in lines if x in _STANDARD]
    others = [x for x in lines if x not in _STANDARD]
    if layers:
        others += _layers_import(layers)
    blocks = ["\n".join(block) for block in (standard, others) if block]
    operators = [f'F = functional.at("{convention(torch.__version__)}")'] if "F" in used else []
    head = [_header(title, assumptions, notes, deviations), *blocks, *operators, *_constants(nodes)]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(bodies) + "\n"


def _constants(nodes: Sequence[ast.AST]) -> list[str]:
    """Return the constants of the file that functions read, as one block."""
    constants = {
        n.id: number for node in nodes for n in ast.walk(node)
        if isinstance(n, ast.Name) and (number := on_expression(n).number) is not None
        and number.form is Form.CONSTANT
    }  # fmt: skip
    ordered = sorted(constants.items(), key=lambda item: item[1].order)  # as in the torch file
    lines = [tidy(f"{name} = {syntax.text(numeral(number))}") for name, number in ordered]
    return ["\n".join(lines)] if lines else []


def _layers_import(layers: Sequence[str]) -> list[str]:
    """Return the import of layers, one a line if they do not fit."""
    line = f"from jaxgrad.nnx import {', '.join(layers)}"
    if len(line) <= WIDTH:
        return [line]
    return ["from jaxgrad.nnx import (", *(f"    {name}," for name in layers), ")"]


def _header(
    title: str,
    assumptions: Sequence[Assumption],
    notes: Sequence[str],
    deviations: Sequence[str],
) -> str:
    lines = [f'"""{title}', *(line for note in notes for line in ("", *note.split("\n")))]
    if assumptions:
        lines += ["", "The torch program branches on these tests; the port assumes that they hold:"]
        lines += [a.listed for a in dict.fromkeys(assumptions)]
    if deviations:
        lines += ["", "Differences from torch by design:", *(f"- {text}" for text in deviations)]
    wrapped = [y for x in lines for y in (textwrap.wrap(x, WIDTH, subsequent_indent="  ") or [""])]
    is_short = len(wrapped) == 1 and len(wrapped[0]) + 3 <= WIDTH
    return "\n".join(wrapped) + ('"""' if is_short else '\n"""')


def function_text(written: Written) -> str:
    """Return the source of one function."""
    node = written.node
    if isinstance(node, ast.ClassDef):
        return _class_text(written, node)
    named = [
        k.arg if d is None else f"{k.arg}={syntax.text(d)}"
        for k, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    ]
    positional = ast.arguments([], node.args.args, None, [], [], None, node.args.defaults)
    parameters = [syntax.text(positional)] if node.args.args else []
    parameters += ["*", *named] if named else []
    head = fit(tidy(f"def {written.name}({', '.join(parameters)}):"), 0)
    lines = [*head, *_docstring(written)]
    for statement in node.body:
        lines += statement_lines(statement, 4)
    return "\n".join(lines)


def _class_text(written: Written, node: ast.ClassDef) -> str:
    lines = [f"@{syntax.text(d)}" for d in node.decorator_list]
    bases = f"({', '.join(map(syntax.text, node.bases))})" if node.bases else ""
    lines += [f"class {written.name}{bases}:", *_docstring(written)]
    for n, method in enumerate(node.body):
        text = _separated(statement_lines(method, 4))
        lines += ["", *text] if n or written.doc else text
    return "\n".join(lines)


def _separated(lines: Sequence[str]) -> list[str]:
    """Return lines with one blank line around a nested function, and none where a body begins."""
    kept: list[str] = []
    for line, after in itertools.pairwise([*lines, ""]):
        begins = not kept or kept[-1].lstrip().startswith(("def ", "):"))
        if line or (after and not begins):
            kept.append(line)
    return kept


def _docstring(written: Written) -> list[str]:
    if len(written.doc) + 10 <= WIDTH and "\n" not in written.doc:
        return [f'    """{written.doc}"""']
    wrapped = [_wrapped(part) for part in written.doc.split("\n\n")]
    (first, *rest), *others = wrapped
    more = [line for part in others for line in ("", *(f"    {x}" for x in part))]
    return [f'    """{first}', *(f"    {x}" for x in rest), *more, '    """']


def _wrapped(text: str) -> list[str]:
    """Return the lines of a text; a shape stays on one line."""
    joined = re.sub(r"\w+ \([^()]*\)|\([^()]*\)", lambda m: m[0].replace(" ", "\0"), text)
    return [line.replace("\0", " ") for line in textwrap.wrap(joined, WIDTH - 8)]


def statement_lines(node: ast.stmt, indent: int) -> list[str]:
    """Return the lines of a statement, with its comments."""
    space = " " * indent
    above = [space + text for text in on_statement(node).comments]
    if isinstance(node, ast.For):
        target = syntax.text(node.target)
        target = target[1:-1] if isinstance(node.target, ast.Tuple) else target
        head = f"for {target} in {syntax.text(node.iter)}:"
        inner = [line for s in node.body for line in statement_lines(s, indent + 4)]
        return [*above, *fit(tidy(head), indent), *inner]
    if isinstance(node, ast.If):
        return [*above, *_branch(node, indent)]
    if isinstance(node, ast.FunctionDef):
        decorators = [f"{space}@{syntax.text(d)}" for d in node.decorator_list]
        head = f"def {node.name}({syntax.text(node.args)}):"
        inner = [line for s in node.body for line in statement_lines(s, indent + 4)]
        return ["", *above, *decorators, *fit(head, indent), *inner, ""]
    lines = fit(tidy(statement_text(node)), indent)
    too_long = any(len(line) > WIDTH for line in lines)
    if isinstance(node, ast.Assert) and node.msg is not None and (too_long or len(lines) > 1):
        lines = _assertion(node, indent)
    if isinstance(node, ast.Raise) and too_long:
        lines = _raising(node, indent)
    trailing = on_statement(node).trailing
    if trailing and len(lines) == 1 and len(lines[0]) + 2 + len(trailing) <= WIDTH:
        lines[0] += f"  {trailing}"
    elif trailing:
        above.append(space + trailing)
    return [*above, *lines]


def _branch(node: ast.If, indent: int) -> list[str]:
    space = " " * indent
    lines = fit(tidy(f"if {syntax.text(node.test)}:"), indent)
    lines += [line for s in node.body for line in statement_lines(s, indent + 4)]
    if node.orelse:
        lines.append(f"{space}else:")
        lines += [line for s in node.orelse for line in statement_lines(s, indent + 4)]
    return lines


def _assertion(node: ast.Assert, indent: int) -> list[str]:
    test = fit(f"assert {tidy(syntax.text(node.test))}, (", indent)
    return [*test, *_message(node.msg, indent), " " * indent + ")"]


def _raising(node: ast.Raise, indent: int) -> list[str]:
    assert isinstance(node.exc, ast.Call)
    head = f"{' ' * indent}raise {syntax.text(node.exc.func)}("
    return [head, *_message(node.exc.args[0], indent), " " * indent + ")"]


def _message(node: ast.expr | None, indent: int) -> list[str]:
    """Return a text as strings, one a line."""
    assert isinstance(node, ast.Constant) and isinstance(node.value, str)
    space = " " * (indent + 4)
    whole = space + json.dumps(node.value, ensure_ascii=False)
    if len(whole) <= WIDTH:
        return [whole]
    parts = textwrap.wrap(node.value, WIDTH - indent - 8, drop_whitespace=False)
    return [space + json.dumps(part, ensure_ascii=False) for part in parts]
