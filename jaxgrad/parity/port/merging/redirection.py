"""Rewrite the calls of functions that are merged: the name, the keywords and the order."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.written import Written


Redirections = dict[
    str, tuple[str, dict[str, ast.expr]]
]  # a copy -> the function, and what it passes


def order_keywords(node: ast.AST, functions: dict[str, Any]) -> None:
    """Pass keywords in the order of the function that takes them."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        function = _called(call)
        if function is None or not isinstance(functions.get(function.id), ast.FunctionDef):
            continue
        places = {a.arg: n for n, a in enumerate(functions[function.id].args.kwonlyargs)}
        ranked = [(places.get(k.arg or "", -1), n) for n, k in enumerate(call.keywords)]
        call.keywords = [call.keywords[n] for _, n in sorted(ranked)]


def redirect(node: ast.AST, calls: Redirections) -> None:
    """Let calls of a merged copy call the function that is kept, with its constants."""
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Call):
            continue
        function = _called(inner)
        if function is None or function.id not in calls:
            continue
        name, passed = calls[function.id]
        function.id = name
        if inner.func is function:
            _pass(inner, passed)


def calls_of(name: str, functions: Sequence[Written]) -> list[ast.Call]:
    """Return the calls of a function of the port."""
    nodes = [n for w in functions for n in ast.walk(w.node) if isinstance(n, ast.Call)]
    return [n for n in nodes if syntax.is_written(n.func) and n.func.id == name]


def uses_of(name: str, functions: Sequence[Written]) -> int:
    """Return how often functions name a function; one that is an argument is not called."""
    nodes = [n for w in functions for n in ast.walk(w.node)]
    return sum(syntax.is_written(n) and n.id == name for n in nodes)


def _called(node: ast.Call) -> ast.Name | None:
    function = node.func
    return function if syntax.is_written(function) else None


def reorder(node: ast.AST, name: str, old: list[str], new: list[str]) -> None:
    """Pass the arguments of a function in a new order, and by name after one that is left out."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or (function := _called(call)) is None:
            continue
        if function.id != name or call.func is not function:
            continue
        given = dict(zip(old, call.args, strict=False))
        count = next((n for n, x in enumerate(new) if x not in given), len(new))
        call.args = [given[n] for n in new[:count]]
        named = [ast.keyword(n, given[n]) for n in new[count:] if n in given]
        call.keywords = [*named, *call.keywords]


def add_keywords(node: ast.AST, name: str, passed: dict[str, ast.expr]) -> None:
    """Let each call of a function pass further keywords."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            function = _called(inner)
            if function is not None and function.id == name:
                _pass(inner, passed)


def _pass(call: ast.Call, keywords: dict[str, ast.expr]) -> None:
    """Add the keywords that a call does not pass yet."""
    have = {k.arg for k in call.keywords}
    call.keywords += [
        ast.keyword(k, copy.deepcopy(v)) for k, v in keywords.items() if k not in have
    ]
