"""Python's functions that go over the elements of containers, on values of the port."""

from __future__ import annotations

import ast
import collections
import copy
import dataclasses
import functools
import itertools
from typing import Any

import torch

from jaxgrad.parity.port.expressions import indexing, operators
from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.values.lengths import depends_on_sizes, is_counted, pinned
from jaxgrad.parity.port.values.scope import CallSite, Scope, Special
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Size,
    Tensor,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of, real_of


def _sum(site: CallSite) -> Value:
    whole = site.args[0]
    values = indexing.elements(whole, site.scope, site.node)
    if not any(map(is_dynamic, values)) and not is_counted(whole, site.scope):
        return Folded(sum(map(real_of, values), *map(real_of, site.args[1:])))
    if whole.code is not None and (len(site.args) == 1 or is_counted(whole, site.scope)):
        real = sum(map(real_of, values), *map(real_of, site.args[1:]))
        code = syntax.call("sum", *map(code_of, site.args))
        return Tensor(real, code) if isinstance(real, torch.Tensor) else Size(real, code)
    total = site.args[1] if len(site.args) > 1 else None
    for value in indexing.iterate(whole, site.scope, site.node):
        total = value if total is None else _plus(total, value)
    assert total is not None
    return total


def _plus(left: Value, right: Value) -> Value:
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return operators.binary(ast.Add(), lambda a, b: a + b, left, right)
    return Size(left.real + right.real, ast.BinOp(code_of(left), ast.Add(), code_of(right)))


def _container(kind: type) -> Special:
    def make(site: CallSite) -> Value:
        if not site.args:
            return Items(kind, None, [])
        value = site.args[0]
        items = indexing.elements(value, site.scope, site.node)
        is_alias = isinstance(value, Items) and value.real is list and kind is tuple
        code = value.code
        is_new = isinstance(code, ast.ListComp) or syntax.calls(code, Helper.LIST)
        if isinstance(value, Items) and is_new and kind is list:
            return value  # a list that nothing else has
        if is_counted(value, site.scope) or (is_alias and isinstance(value.code, ast.Name)):
            return Items(kind, syntax.call(kind.__name__, code_of(value)), list(items), True)
        if isinstance(value, Items) and value.code is not None and kind is tuple:
            new = copy.copy(value)
            new.real = kind
            return new
        return Items(kind, None, indexing.iterate(value, site.scope, site.node))

    return make


def _dict(site: CallSite) -> Value:
    fields: dict[Any, Value] = {}
    if site.args and isinstance(site.args[0], Fields):
        fields |= {k: site.args[0].at(k) for k in site.args[0].fields}
    elif site.args:
        for pair in indexing.iterate(site.args[0], site.scope, site.node):
            key, value = indexing.iterate(pair, site.scope, site.node)
            fields[pinned(key, site.scope, site.node)] = value
    return Fields(dict, None, fields | site.keywords)


def mapping(kind: Any) -> Special | None:
    """Return how the constructor of a dict subclass is interpreted, or None for any other class."""
    if not isinstance(kind, type) or not issubclass(kind, dict):
        return None
    if kind.__init__ not in (dict.__init__, collections.OrderedDict.__init__):
        return None
    return lambda site: dataclasses.replace(_dict(site), real=kind)  # pyright: ignore[reportArgumentType]


def _quantified(kind: Any) -> Special:
    def ask(site: CallSite) -> Value:
        values = indexing.elements(site.args[0], site.scope, site.node)
        if any(isinstance(x, Tensor) for x in values):
            raise site.refuse(
                f"{kind.__name__}() of tensors depends on their values"
                "; stack them and use the tensor's own method"
            )
        real = kind(map(real_of, values))
        if any(map(depends_on_sizes, values)):
            return Size(real, syntax.call(kind.__name__, code_of(site.args[0])))
        return Folded(real)

    return ask


def _zip(site: CallSite) -> Value:
    rows = zip(*(indexing.iterate(x, site.scope, site.node) for x in site.args), strict=False)
    return Items(list, None, [Items(tuple, None, list(row)) for row in rows])


def columns(rows: Value, keywords: list[ast.keyword], scope: Scope) -> Value | None:
    """Return `zip(*rows)` of tuples that the port has in one list, or None for any other value."""
    if scope.no_grad or scope.plain or not isinstance(rows, Items) or rows.counted:
        return None
    if not isinstance(rows.code, ast.Name | ast.ListComp | ast.Subscript) or len(rows.items) < 2:
        return None
    if not all(x.arg == "strict" and isinstance(x.value, ast.Constant) for x in keywords):
        return None
    parts = indexing.elements(rows, scope, rows.code)
    widths = {len(x.items) for x in parts if isinstance(x, Items) and not x.counted}
    if len(widths) != 1 or not all(isinstance(x, Items) and not x.counted for x in parts):
        return None
    (width,) = widths
    items: list[Value] = [
        Items(tuple, None, [x.at(n) for x in parts if isinstance(x, Items)]) for n in range(width)
    ]
    if width < 2 or not all(map(is_dynamic, items)):
        return None
    zipped = syntax.call("zip", ast.Starred(code_of(rows), ast.Load()))
    zipped.keywords = copy.deepcopy(keywords)  # `strict=True`
    code = syntax.call_helper(Helper.LIST, zipped)
    on_expression(code).unpacked = zipped
    return Items(list, code, items)


def _enumerate(site: CallSite) -> Value:
    items = indexing.iterate(site.args[0], site.scope, site.node)
    given = site.args[1] if len(site.args) > 1 else site.keywords.get("start", Folded(0))
    numbered = enumerate(items, pinned(given, site.scope, site.node))
    return Items(list, None, [Items(tuple, None, [Folded(n), x]) for n, x in numbered])


def _reversed(site: CallSite) -> Value:
    return Items(list, None, indexing.iterate(site.args[0], site.scope, site.node)[::-1])


def _map(site: CallSite) -> Value:
    """Return the list of `map(f, x, y)`, whose calls come one after the other."""
    function, *sequences = site.args
    rows = zip(
        *(indexing.iterate(_named(x, site), site.scope, site.node) for x in sequences),
        strict=False,
    )
    made = [site.scope.run.call(function, list(row), {}, site.scope, site.node) for row in rows]
    return Items(list, None, made)


def _named(value: Value, site: CallSite) -> Value:
    """Return a container under a name, because each of its elements is read on its own."""
    if value.code is None or not isinstance(value, Items | Tensor):
        return value
    return renamed(value, site.scope.once(code_of(value), "parts"))


def _reduce(site: CallSite) -> Value:
    """Return the result of `functools.reduce(f, x, start)`, one call after the other."""
    function, sequence, *start = site.args
    values = [*start, *indexing.iterate(_named(sequence, site), site.scope, site.node)]
    if not values:
        raise site.refuse(
            "reduce of an empty sequence without a start; pass a start as its third argument"
        )
    total, *rest = values
    for value in rest:
        total = site.scope.run.call(function, [total, value], {}, site.scope, site.node)
    return total


def _next(site: CallSite) -> Value:
    """Return the first value of `next(module.parameters())`.

    Raises:
        PortError: The iterator has a name, so that it may be read again.
    """
    values, *default = site.args
    if isinstance(values, Folded):
        return Folded(next(values.real, *map(real_of, default)))
    if isinstance(site.node, ast.Call) and isinstance(site.node.args[0], ast.Name):
        raise site.refuse("`next` of an iterator that has a name; write the values out")
    found = indexing.iterate(values, site.scope, site.node)
    if not found and not default:
        raise site.refuse("`next` of an empty sequence; pass a default as its second argument")
    return (found or default)[0]


def _iter(site: CallSite) -> Value:
    """Return an iterator of numbers and settings, which `next` advances.

    Raises:
        PortError: An element is a tensor.
    """
    items = indexing.iterate(site.args[0], site.scope, site.node)
    if any(map(is_dynamic, items)):
        raise site.refuse("`iter` of tensors; write a loop, or read them by their positions")
    return Folded(iter([real_of(x) for x in items]))


def _divmod(site: CallSite) -> Value:
    real = divmod(*map(real_of, site.args))
    if not any(map(depends_on_sizes, site.args)):
        return Folded(real)
    code = syntax.call("divmod", *map(code_of, site.args))
    return Items(tuple, code, [Size(x, syntax.item(code, n)) for n, x in enumerate(real)])


def _range(site: CallSite) -> Value:
    """Return `range(...)`, whose length is computed if it depends on a size."""
    if any(isinstance(x, Tensor) for x in site.args):
        raise site.refuse(
            "a range that depends on the values of a tensor; loop over a size, and mask the rest"
        )
    numbers = range(*map(real_of, site.args))
    if not any(map(depends_on_sizes, site.args)):
        return Folded(numbers)
    code = syntax.call("range", *map(code_of, site.args))
    items: list[Value] = [Size(x, syntax.item(code, n)) for n, x in enumerate(numbers)]
    return Items(list, code, items, counted=True)


def _sorted(site: CallSite) -> Value:
    """Return the sorted list of numbers or texts of the configuration, such as keys."""
    values = indexing.iterate(site.args[0], site.scope, site.node)
    if any(map(is_dynamic, [*values, *site.keywords.values()])):
        raise site.refuse("`sorted` of tensors or sizes; write them in the order that they have")
    return Folded(sorted(map(real_of, values), **{k: real_of(v) for k, v in site.keywords.items()}))


def _combined(function: Any) -> Special:
    """Return how `itertools.product` and its like are interpreted, on the elements themselves."""

    def combine(site: CallSite) -> Value:
        sequences = [
            x if isinstance(x, Folded) and isinstance(x.real, int)
            else indexing.iterate(x, site.scope, site.node) for x in site.args
        ]  # fmt: skip
        given = [x.real if isinstance(x, Folded) else x for x in sequences]
        keywords = {k: v if k == "fillvalue" else real_of(v) for k, v in site.keywords.items()}
        rows = list(itertools.islice(function(*given, **keywords), LONGEST))
        if len(rows) == LONGEST:
            raise site.refuse(
                f"{function.__name__} of more than {LONGEST} elements"
                "; use operators on the whole tensor"
            )
        made: list[Value] = [
            Items(tuple, None, list(x)) if isinstance(x, tuple) else x for x in rows
        ]
        return Items(list, None, made)

    return combine


def _repeat(site: CallSite) -> Value:
    """Return `itertools.repeat(value, times)`; without a number, as many as any loop needs."""
    value, *times = [*site.args, *site.keywords.values()]
    count = pinned(times[0], site.scope, site.node) if times else LONGEST
    return Items(list, None, [value] * count)


LONGEST = 10_000
_COMBINED = (
    itertools.chain, itertools.product, itertools.combinations, itertools.permutations,
    itertools.zip_longest, itertools.pairwise,
)  # fmt: skip

SPECIAL: dict[Any, Special] = {
    **{f: _combined(f) for f in _COMBINED}, sorted: _sorted,
    range: _range, divmod: _divmod, itertools.repeat: _repeat,
    next: _next, iter: _iter,
    sum: _sum, tuple: _container(tuple), list: _container(list), set: _container(set), dict: _dict,
    collections.OrderedDict: _dict, any: _quantified(any), all: _quantified(all), zip: _zip,
    enumerate: _enumerate, reversed: _reversed, map: _map, functools.reduce: _reduce,
}  # fmt: skip
