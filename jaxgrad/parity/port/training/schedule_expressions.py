"""Translate expressions of Python numbers; what does not depend on the argument is folded."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import functools
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import Source, free_names


BUILTINS = {"abs": "jnp.abs", "round": "jnp.round", "int": "jnp.trunc"}


@dataclasses.dataclass(frozen=True)
class Known:
    """A value that does not depend on the function's argument."""

    value: Any


Local = ast.expr | Known


class Expressions:
    """The expressions of one function.

    Args:
        source: The function.
        values: Its variables.
    """

    def __init__(self, source: Source, values: Mapping[str, Local]) -> None:
        self.source, self.values = source, dict(values)
        self.outer = {**source.function.__globals__, **free_names(source.function)}

    def inlined(
        self, function: Callable[..., Any], args: Sequence[Local], keywords: Mapping[str, Local]
    ) -> Local:
        """Return what a call of a Python function returns."""
        raise NotImplementedError

    def refuse(self, reason: str, node: ast.AST) -> PortError:
        return PortError(
            f"{reason}, which is not ported in a function of the epoch; write the schedule by hand",
            self.source.place(node),
        )

    def value(self, node: ast.expr) -> Local:
        """Return an expression in JAX, or its value if it does not depend on the epoch."""
        read = [self.values[name] for name in syntax.names_in(node) if name in self.values]
        if all(isinstance(x, Known) for x in read):
            known = {n: x.value for n, x in self.values.items() if isinstance(x, Known)}
            whole = ast.Expression(ast.fix_missing_locations(copy.deepcopy(node)))
            try:
                return Known(eval(compile(whole, self.source.file, "eval"), self.outer | known))
            except Exception as error:
                raise self.refuse(f"`{syntax.text(node)}` raises {error!r}", node) from None
        match node:
            case ast.Name(name):
                return self.values[name]
            case ast.BinOp(left, ast.Pow() as op, right):
                return ast.BinOp(self.code(left, real=True), op, self.code(right, real=True))
            case ast.BinOp(left, op, right):
                return ast.BinOp(self.code(left), op, self.code(right))
            case ast.UnaryOp(ast.Not(), operand):
                return syntax.call("jnp.logical_not", self.code(operand))
            case ast.UnaryOp(op, operand):
                return ast.UnaryOp(op, self.code(operand))
            case ast.Compare(left, ops, comparators):
                terms = [self.code(x) for x in (left, *comparators)]
                pairs = zip(terms, ops, terms[1:], strict=False)
                return _joined("jnp.logical_and", [ast.Compare(a, [op], [b]) for a, op, b in pairs])
            case ast.BoolOp(op, values):
                name = "jnp.logical_and" if isinstance(op, ast.And) else "jnp.logical_or"
                return _joined(name, [self.code(x) for x in values])
            case ast.IfExp(test, body, orelse):
                return self.where(self.value(test), self.value(body), self.value(orelse))
            case ast.Subscript(ast.expr() as base, index):
                return ast.Subscript(self.table(base), self.code(index), ast.Load())
            case ast.Call(function, args, keywords):
                return self.call(node, function, args, keywords)
        raise self.refuse(f"`{syntax.text(node)}`", node)

    def code(self, node: ast.expr, *, real: bool = False) -> ast.expr:
        """Return the expression of a value; `real` writes an integer as a float."""
        value = self.value(node)
        if isinstance(value, Known) and real and type(value.value) is int:
            value = Known(float(value.value))
        return written(value)

    def where(self, test: Local, body: Local, orelse: Local) -> Local:
        if isinstance(test, Known):
            return body if test.value else orelse
        return syntax.call("jnp.where", test, written(body), written(orelse))

    def table(self, node: ast.expr) -> ast.expr:
        value = self.value(node)
        if not isinstance(value, Known) or not isinstance(value.value, list | tuple | np.ndarray):
            raise self.refuse(f"an item of `{syntax.text(node)}`", node)
        return syntax.literal(np.asarray(value.value))

    def call(
        self, node: ast.Call, function: ast.expr, args: Sequence[ast.expr],
        keywords: Sequence[ast.keyword],
    ) -> Local:  # fmt: skip
        target = self.value(function)
        values = [self.value(x) for x in args]
        named = {k.arg: self.value(k.value) for k in keywords if k.arg is not None}
        assert isinstance(target, Known)
        called = target.value
        name = getattr(called, "__name__", "")
        if (called is min or called is max) and len(args) > 1 and not named:
            name = "jnp.minimum" if called is min else "jnp.maximum"
            return _joined(name, [written(x) for x in values])
        if called is float:
            return values[0]
        if name in BUILTINS and getattr(builtins, name) is called and len(args) == 1:
            return syntax.call(BUILTINS[name], written(values[0]))
        known = getattr(math, name, None) is called or isinstance(called, np.ufunc)
        if known and hasattr(jnp, name) and not named and not (name == "log" and len(args) > 1):
            return syntax.call(f"jnp.{name}", *map(written, values))
        if isinstance(called, types.FunctionType | types.MethodType | functools.partial):
            return self.inlined(called, values, named)
        raise self.refuse(f"a call of {name or called}", node)


def _joined(name: str, terms: Sequence[ast.expr]) -> ast.expr:
    return functools.reduce(functools.partial(syntax.call, name), terms)


def written(value: Local) -> ast.expr:
    """Return the expression of a value."""
    if isinstance(value, Known) and value.value == math.pi:
        return syntax.dotted("jnp.pi")
    return syntax.literal(value.value) if isinstance(value, Known) else value
