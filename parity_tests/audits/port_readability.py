"""Measure how readable a port is, against the source of the torch classes that it re-expresses."""

from __future__ import annotations

import ast
import inspect
import io
import pathlib
import re
import statistics
import textwrap
import tokenize
from collections.abc import Mapping
from typing import NamedTuple

from torch import nn


CONVENTIONS = frozenset({"p", "rng", "training", "_"})  # names that torch's programs do not have
NUMBERED = re.compile(
    r"(add|sub|mul|div|neg|pow|matmul|linear|permute|transpose|view|reshape|cat|getitem|tensor|v"
    r"|tmp|var|out)_?\d+"
)


class Readability(NamedTuple):
    """The counts of a port, without the functions of torch's own files."""

    torch_lines: int  # lines of code of the user's classes
    port_lines: int  # lines of code of the functions that their methods became
    names: int  # variables and parameters of the port
    own_names: int  # those that the torch source has too
    comments: int  # in the torch methods that the port has
    own_comments: int  # those that the port has too
    median: float  # lines of a function
    longest: int
    widest: int
    numbered: int  # names such as `add_17`


def readability(module: nn.Module, source: str) -> Readability:
    """Measure the source of a module's port."""
    classes = {kind.__name__: kind for kind in _classes(module)}
    files = {inspect.getsourcefile(kind) or "" for kind in classes.values()}
    places = {"/".join(pathlib.Path(file).parts[-2:]) for file in files}
    functions = {
        _text(x, source): _origin(ast.get_docstring(x) or "")
        for x in ast.parse(source).body
        if isinstance(x, ast.FunctionDef | ast.ClassDef)
    }
    own = {
        text: words[0].rstrip(".") for text, words in functions.items() if _is_from(words, places)
    }
    methods = {text: label for text, label in own.items() if _is_method(classes, label)}
    words = _words("".join(pathlib.Path(file).read_text(encoding="utf-8") for file in files))
    names = set().union(*map(_names, own))
    comments = set().union(*(_comments(_method(classes, label)) for label in methods.values()))
    lengths = [_code_lines(text) for text in own or functions]
    return Readability(
        torch_lines=sum(_code_lines(_source(kind)) for kind in classes.values()),
        port_lines=sum(_code_lines(text) for text in methods),
        names=len(names),
        own_names=len([n for n in names if n in words or re.sub(r"_\d+$", "", n) in words]),
        comments=len(comments),
        own_comments=len(comments & _comments(source)),
        median=statistics.median(lengths),
        longest=max(lengths),
        widest=max(map(len, source.splitlines())),
        numbered=len([n for n in names if NUMBERED.fullmatch(n) and n not in words]),
    )


def _classes(module: nn.Module) -> set[type]:
    """Return the classes of a module and of its parts that are not torch's."""
    kinds = {kind for part in module.modules() for kind in type(part).__mro__}
    return {
        kind for kind in kinds
        if issubclass(kind, nn.Module) and not kind.__module__.startswith("torch.")
    }  # fmt: skip


def _is_from(words: list[str], places: set[str]) -> bool:
    """Return whether the docstring of a function names one of the files."""
    return any(word.strip("()") in places for word in words)


def _origin(docstring: str) -> list[str]:
    """Return the words of the paragraph that says where a function is from."""
    parts = [re.split(r"[ :]", part) for part in docstring.split("\n\n")]
    return next((words for words in parts if len(words) > 1 and words[1][:1] == "("), parts[0])


def _is_method(classes: Mapping[str, type], label: str) -> bool:
    """Return whether a label is a class or a method of it, not a sequence that it holds."""
    kind, _, name = label.partition(".")
    return kind in classes and callable(getattr(classes[kind], name or "forward", None))


def _source(function: object) -> str:
    return textwrap.dedent(inspect.getsource(function))  # pyright: ignore[reportArgumentType]


def _method(classes: Mapping[str, type], label: str) -> str:
    """Return the source of the method that a function of the port is from."""
    kind, _, name = label.partition(".")
    return _source(inspect.unwrap(getattr(classes[kind], name or "forward")))


def _text(node: ast.AST, source: str) -> str:
    return textwrap.dedent(ast.get_source_segment(source, node, padded=True) or "")


def _code_lines(source: str) -> int:
    """Return the number of lines that have code: no comments, docstrings or blank lines."""
    tree = ast.parse(source)
    texts = {
        n
        for x in ast.walk(tree)
        if isinstance(x, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(x) is not None
        for n in range(x.body[0].lineno, (x.body[0].end_lineno or 0) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    skipped = (
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    )  # fmt: skip
    held = {n for t in tokens if t.type not in skipped for n in range(t.start[0], t.end[0] + 1)}
    return len(held - texts)


def _names(source: str) -> set[str]:
    """Return the variables and parameters of a program, without those of the port's conventions."""
    tree = ast.parse(source)
    names = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and _stores(x)}
    names |= {x.arg for x in ast.walk(tree) if isinstance(x, ast.arg)}
    return {n for n in names if n not in CONVENTIONS and not n.endswith("_rng")}


def _stores(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _words(source: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", source))


def _comments(source: str) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = {t.string.lstrip("# ").strip() for t in tokens if t.type == tokenize.COMMENT}
    return {c for c in found if not re.match(r"(type|pyright|noqa|fmt)\b", c)}
