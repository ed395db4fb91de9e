"""Merge an expression of train mode with that of eval mode."""

from __future__ import annotations

import ast
import copy
import functools
import itertools
from typing import Any, Protocol

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.unify import Unified, unify
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


TRAINING = "training"
DROPOUTS = frozenset({
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout",
})  # fmt: skip


class Pairs(Protocol):
    """The functions of the port that are merged from one function of each mode."""

    train: dict[str, Written]
    evaluated: dict[str, Written]

    def pair(self, train: str, evaluated: str) -> Written | None: ...


def merge_expression(train: Any, evaluated: Any, pairs: Pairs) -> Any:
    """Return an expression that is `train` in train mode and `evaluated` in eval mode, or None."""
    merged = _alike(train, evaluated, pairs)
    if merged is None and isinstance(train, ast.Call) and syntax.is_op(train, DROPOUTS):
        inner = merge_expression(train.args[0], evaluated, pairs)
        if inner is not None:
            merged = copy.deepcopy(train)
            merged.args[0] = inner
            merged.keywords.insert(-1, ast.keyword(TRAINING, syntax.name(TRAINING)))
    return merged


def _alike(train: Any, evaluated: Any, pairs: Pairs) -> Any:
    """Return the merged expression of two that have the same form."""
    if all(numbers.is_literal(x) or numbers.is_flag(x) for x in (train, evaluated)):
        return choice(train, evaluated)
    if type(train) is not type(evaluated):
        return None
    if isinstance(train, ast.Call):
        return _call(train, evaluated, pairs)
    if isinstance(train, ast.Name):
        return _name(train, evaluated, pairs)
    if isinstance(train, ast.Constant):
        same = type(train.value) is type(evaluated.value) and train.value == evaluated.value
        return copy.deepcopy(train) if same else None
    if isinstance(train, ast.Subscript) and not syntax.same(train.slice, evaluated.slice):
        return None
    both = unify(train, evaluated, functools.partial(unified, pairs=pairs))
    return None if both is None else both.template


def unified(train: Any, evaluated: Any, pairs: Pairs) -> Unified | None:
    """Unify the code of both modes; the template chooses by the mode, so that it has no holes."""
    merged = merge_expression(train, evaluated, pairs)
    return None if merged is None else Unified(merged, [])


def choice(train: ast.expr, evaluated: ast.expr) -> ast.expr:
    """Return `train if training else evaluated`, or `training` itself."""
    if syntax.same(train, evaluated):
        return copy.deepcopy(train)
    values = [getattr(x, "value", None) for x in (train, evaluated)]
    if values == [True, False] and all(type(x) is bool for x in values):
        return syntax.name(TRAINING)
    if values == [False, True] and all(type(x) is bool for x in values):
        return ast.UnaryOp(ast.Not(), syntax.name(TRAINING))
    parts = copy.deepcopy(train), copy.deepcopy(evaluated)
    return ast.IfExp(syntax.name(TRAINING), *parts)


def _name(train: ast.Name, evaluated: ast.Name, pairs: Pairs) -> ast.expr | None:
    if syntax.is_written(train) and syntax.is_written(evaluated):
        pair = pairs.pair(train.id, evaluated.id)
        if pair is None:
            return None
        new = _renamed(train, pair)
        if not mode_of(pair):
            return new
        return syntax.call_helper(Helper.PARTIAL, new, **mode_of(pair))
    return copy.deepcopy(train) if train.id == evaluated.id else None


def _renamed(name: ast.Name, written: Written) -> ast.Name:
    new = copy.copy(name)
    new.id = written.name
    return new


def mode_of(written: Written) -> dict[str, ast.expr]:
    """Return the keyword that a call of a merged function passes on."""
    arguments = getattr(written.node, "args", None)
    takes = arguments is not None and any(a.arg == TRAINING for a in arguments.kwonlyargs)
    return {TRAINING: syntax.name(TRAINING)} if takes else {}


def _call(train: ast.Call, evaluated: ast.Call, pairs: Pairs) -> ast.Call | None:
    left, right = _function(train.func), _function(evaluated.func)
    if left is not None and right is not None:
        return _written_call(train, evaluated, (left, right), pairs)
    function = merge_expression(train.func, evaluated.func, pairs)
    args = merge_expression(train.args, evaluated.args, pairs)
    if function is None or args is None:
        return None
    keywords = _keywords(train, evaluated, pairs)
    if keywords is None:
        return None
    new = copy.copy(train)
    new.func, new.args, new.keywords = function, args, keywords
    return new


def _function(node: ast.expr) -> ast.Name | None:
    """Return the port's function in `block`, or in `jax.checkpoint(block)`."""
    if isinstance(node, ast.Call):
        return next((n for n in map(_function, node.args) if n is not None), None)
    return node if syntax.is_written(node) else None


def _written_call(
    train: ast.Call, evaluated: ast.Call, names: tuple[ast.Name, ast.Name], pairs: Pairs
) -> ast.Call | None:
    """Return the call of a merged function; an argument of one mode is None in the other."""
    pair = pairs.pair(names[0].id, names[1].id)
    if pair is None or not isinstance(pair.node, ast.FunctionDef):
        return None if pair is None else _class_call(train, evaluated, pair, pairs)
    left = _by_name(pairs.train[names[0].id], train)
    right = _by_name(pairs.evaluated[names[1].id], evaluated)
    args: list[ast.expr] = []
    for parameter in (a.arg for a in pair.node.args.args):
        merged = _argument(left.get(parameter), right.get(parameter), pairs)
        if merged is None:
            return None
        args.append(merged)
    new = copy.copy(train)
    new.args, new.keywords = args, []
    if train.func is names[0]:
        new.func = _renamed(names[0], pair)
        new.keywords = [ast.keyword(k, v) for k, v in mode_of(pair).items()]
    else:
        new.func = merge_expression(train.func, evaluated.func, pairs)
    return None if new.func is None else new


def _class_call(
    train: ast.Call, evaluated: ast.Call, pair: Written, pairs: Pairs
) -> ast.Call | None:
    args = merge_expression(train.args, evaluated.args, pairs)
    if args is None or not isinstance(train.func, ast.Name):
        return None
    return ast.Call(_renamed(train.func, pair), args, [])


def _by_name(written: Written, call: ast.Call) -> dict[str, ast.expr]:
    return dict(zip((a.arg for a in written.node.args.args), call.args, strict=True))


def _argument(train: ast.expr | None, evaluated: ast.expr | None, pairs: Pairs) -> ast.expr | None:
    none = syntax.constant(None)
    if train is not None and evaluated is not None:
        return merge_expression(train, evaluated, pairs)
    only = train or evaluated
    if only is not None and draws.is_key(only):
        return copy.deepcopy(only)
    return choice(train or none, evaluated or none)


def _keywords(train: ast.Call, evaluated: ast.Call, pairs: Pairs) -> list[ast.keyword] | None:
    """Merge keywords; one that eval mode lacks has its default there."""
    left, right = _by_keyword(train), _by_keyword(evaluated)
    merged: list[ast.keyword] = []
    for name in [*left, *(k for k in right if k not in left)]:
        keyword = left.get(name) or right[name]
        sides = [k.value if (k := side.get(name)) else None for side in (left, right)]
        only = keyword.value
        if sides[0] is not None and sides[1] is not None:
            value = merge_expression(sides[0], sides[1], pairs)
        elif draws.is_key(only):
            value = copy.deepcopy(only)
        else:
            default = _default(train, name)
            both = [default if x is None else x for x in sides]
            value = None if default is None else choice(*both)  # pyright: ignore[reportArgumentType]
        if value is None:
            return None
        merged.append(copy.copy(keyword))
        merged[-1].value = value
    return merged


def _by_keyword(call: ast.Call) -> dict[str | int, ast.keyword]:
    """Return the keywords of a call by name; `**p["conv"]` and the like have numbers."""
    whole = itertools.count()
    return {next(whole) if k.arg is None else k.arg: k for k in call.keywords}


def _default(call: ast.Call, name: str | int) -> ast.expr | None:
    """Return the default of an option of a call of `jaxgrad.functional`."""
    parameter = syntax.parameters_of(call).get(str(name))
    if parameter is None or parameter.default is parameter.empty:
        return None
    return syntax.literal(parameter.default)
