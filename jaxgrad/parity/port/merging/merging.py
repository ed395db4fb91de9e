"""Copies of a function that differ in constants become one function with keyword arguments."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from jaxgrad.parity.port.ir import NameOf, Number
from jaxgrad.parity.port.merging import branch_tests, variants
from jaxgrad.parity.port.merging.differences import (
    constants,
    is_omitted,
    is_text,
    keyword_of,
    with_constants,
    without_omitted,
)
from jaxgrad.parity.port.merging.redirection import (
    Redirections,
    add_keywords,
    order_keywords,
    redirect,
    reorder,
)
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.unify import Hole, Unified
from jaxgrad.parity.port.source.written import Written


MOST_KEYWORDS = 4


def merged(functions: Sequence[Written], module: nn.Module | None = None) -> list[Written]:
    """Return the functions with copies merged; the functions they call are merged before them.

    Args:
        functions: The functions.
        module: The module that is ported. With it, copies that take different branches of the
            torch source are merged too.
    """
    kept: list[Written] = []
    calls: Redirections = {}
    for written in functions:
        redirect(written.node, calls)
        base = next((k for k in kept if _mergeable(k, written)), None)
        if base is not None:
            unified = with_constants(base.node.body, written.node.body)
            assert unified is not None
            _merge(base, written, unified, kept, calls)
        elif module is None or not _branched(written, kept, functions, module, calls):
            kept.append(written)
    for written in kept:
        redirect(written.node, calls)
        without_omitted(written.node)
    for written in kept:
        order_keywords(written.node, {w.name: w.node for w in kept})
    return kept


def _mergeable(base: Written, other: Written) -> bool:
    if not _is_copy(base, other):
        return False
    places = constants(_bare(base.node), _bare(other.node))
    return places is not None and len(places) > 0 and _are_few(places)


def _is_copy(base: Written, other: Written) -> bool:
    """Return whether two functions are written from the same function of torch."""
    if not (isinstance(base.node, ast.FunctionDef) and isinstance(other.node, ast.FunctionDef)):
        return False
    same = base.function.__code__ is other.function.__code__ and base.owner is other.owner
    return same and not base.pinned and not other.pinned


def _are_few(places: Sequence[Hole]) -> bool:
    if len({_key(p) for p in places}) > MOST_KEYWORDS:
        return False
    given = {(p[0].id, _value(p[1])) for p in places if isinstance(p[0], ast.Name)}
    return len(given) == len({name for name, _ in given})  # one value for each keyword


def _bare(node: ast.FunctionDef) -> list[Any]:
    return [[a.arg for a in node.args.args], *node.body]


_Key = tuple[str, Any, Any]


def _key(place: Hole) -> _Key:
    """Return the name of a constant and its values: places with one key get one keyword."""
    return keyword_of(place[0]), _value(place[0]), _value(place[1])


def _value(code: ast.expr) -> Any:
    """Return the value of a number or a key of the params, or the name of a keyword."""
    number = numbers.of(code)
    if number is not None:
        return number.typed
    return code.id if isinstance(code, ast.Name) else ast.literal_eval(code)


def _branched(
    other: Written, kept: list[Written], functions: Sequence[Written], module: nn.Module,
    calls: Redirections,
) -> bool:  # fmt: skip
    """Merge a copy into one that takes another branch of the torch source; return whether."""
    for base in kept:
        if not _is_copy(base, other):
            continue
        test = branch_tests.test_between(base, other, module)
        if test is None or not _same_options(base, other, test):
            continue
        unified = variants.with_branches(base, other, test)
        if not _are_few(unified.holes) or variants.count(unified.template, test) > test.times:
            continue
        if not variants.share(base, other, unified.template):
            continue
        for written in functions:
            redirect(written.node, calls)
        both, single = variants.common_parameters(base, other)
        for written in (base, other):
            own = [a.arg for a in written.node.args.args]
            for caller in functions:
                reorder(caller.node, written.name, own, [*both, *single])
        arguments = base.node.args
        arguments.args = [ast.arg(n) for n in (*both, *single)]
        arguments.defaults = [syntax.constant(None) for _ in single]
        _merge(base, other, unified, kept, calls, test.keywords)
        for written in functions:
            redirect(written.node, calls)
        return True
    return False


def _same_options(base: Written, other: Written, test: branch_tests.Test) -> bool:
    """Return whether both copies take the same keywords, apart from those of the test."""
    mine, theirs = ({a.arg for a in w.node.args.kwonlyargs} for w in (base, other))
    return mine == theirs and not mine & set(test.keywords)


def _merge(
    base: Written,
    other: Written,
    unified: Unified,
    kept: list[Written],
    calls: Redirections,
    options: Mapping[str, tuple[Any, Any]] | None = None,
) -> None:
    """Give `base` a keyword for each constant that differs, and record what the copy passes.

    Args:
        base: The copy that is kept.
        other: The other copy.
        unified: The statements of both, with the constants in which they differ.
        kept: The functions that are kept.
        calls: What each copy passes.
        options: Keywords of `base` that are new, with their values for each copy.
    """
    base.module_paths.update(other.module_paths)
    body, places = unified
    base.take_body(body)
    keywords: dict[_Key, str] = {}
    taken = syntax.all_names(base.node) | RESERVED
    mine: dict[str, ast.expr] = {}
    theirs: dict[str, ast.expr] = {}
    defaults: dict[str, ast.expr] = {}
    for place in places:
        key = _key(place)
        if isinstance(place[0], ast.Name):
            theirs[place[0].id] = _as_passed(place[1])
        elif key not in keywords:
            alike = next((k for k in keywords if k[1:] == key[1:] and not key[0]), None)
            if alike is not None:
                keywords[key] = keywords[alike]
                continue
            fallback = "key" if is_text(place[0]) else "constant"
            name = syntax.unique(key[0] or fallback, taken)
            taken.add(name)
            keywords[key] = name
            mine[name], theirs[name] = _as_passed(place[0]), _as_passed(place[1])
        label = place[0].id if isinstance(place[0], ast.Name) else keywords[key]
        for constant in filter(is_omitted, place):
            defaults[label] = copy.deepcopy(constant)
    syntax.replace(
        base.node,
        [(p[0], _keyword(p[0], keywords[_key(p)])) for p in places
         if not isinstance(p[0], ast.Name)],
    )  # fmt: skip
    for name, (left, right) in (options or {}).items():
        mine[name], theirs[name] = syntax.literal(left), syntax.literal(right)
    for name in mine:
        base.node.args.kwonlyargs.append(ast.arg(name))
        base.node.args.kw_defaults.append(None)
    arguments = base.node.args
    for n, argument in enumerate(arguments.kwonlyargs):
        arguments.kw_defaults[n] = defaults.get(argument.arg, arguments.kw_defaults[n])
    for written in kept:
        add_keywords(written.node, base.name, mine)
    for name, (target, passed) in list(calls.items()):
        if target == base.name:
            calls[name] = (
                target,
                passed | {k: v for k, v in mine.items() if k not in passed},
            )
    known = calls.get(base.name, (base.name, {}))[1]
    calls[base.name] = (base.name, known | mine)
    calls[other.name] = (base.name, known | theirs)


def _as_passed(code: ast.expr) -> Any:
    """Return an argument of a call: the file's constants by their names, all others as numbers."""

    def chosen(number: Number) -> ast.expr | None:
        return numbers.numeral(number) if number.name_of is NameOf.GLOBAL else None

    return numbers.with_names(copy.deepcopy(code), chosen)


def _keyword(code: ast.expr, name: str) -> ast.expr:
    """Return the keyword that takes the place of a number, or of a key of the params."""
    number = on_expression(code).number or numbers.of(code)
    if number is None:
        number = Number(ast.literal_eval(code))
    return numbers.keyword(name, number)
