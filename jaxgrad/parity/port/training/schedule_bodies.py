"""Translate the body of a function of Python numbers: branches become `jnp.where`, loops unroll."""

from __future__ import annotations

import ast
import functools
import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import Source, source_of
from jaxgrad.parity.port.training.schedule_expressions import Expressions, Known, Local, written


LONGEST = 64  # iterations of a loop that is unrolled


def plain(function: Callable[..., Any]) -> tuple[types.FunctionType, dict[str, Known]]:
    """Return the Python function that a callable runs, with the arguments that it already has.

    Raises:
        PortError: It is not written in Python.
    """
    held: dict[str, Known] = {}
    if isinstance(function, functools.partial):
        inner, held = plain(function.func)
        free = [name for name in inspect.signature(inner).parameters if name not in held]
        given = dict(zip(free, function.args, strict=False)) | function.keywords
        return inner, held | {name: Known(x) for name, x in given.items()}
    call: Any = type(function).__call__
    if isinstance(call, types.FunctionType):
        function = types.MethodType(call, function)
    if isinstance(function, types.MethodType):
        inner, held = plain(function.__func__)
        first, *_ = inspect.signature(inner).parameters
        return inner, {first: Known(function.__self__), **held}
    if not isinstance(function, types.FunctionType):
        raise PortError(f"{function!r} has no Python source; write it as a Python function")
    return function, held


class Body(Expressions):
    """The translation of one function.

    Args:
        source: The function.
        values: Its arguments.
        statements: Takes the statements before the result.
        taken: The names that are assigned in them, and those of the arguments.
    """

    def __init__(
        self, source: Source, values: Mapping[str, Local], statements: list[ast.stmt],
        taken: set[str],
    ) -> None:  # fmt: skip
        super().__init__(source, values)
        self.statements, self.taken = statements, taken
        self.names: dict[str, str] = {}  # the local variables in the port
        self.in_arm = False

    def result(self) -> Local:
        """Return the value of the function."""
        node = self.source.node
        found = self.value(node.body) if isinstance(node, ast.Lambda) else self.block(node.body)
        if found is None:
            raise self.refuse("it returns no number", node)
        return found

    # ---- statements

    def block(self, statements: Sequence[ast.stmt]) -> Local | None:
        """Return what some statements return, None if they end without."""
        for number, statement in enumerate(statements):
            rest = statements[number + 1 :]
            match statement:
                case ast.Return(ast.expr() as value):
                    return self.value(value)
                case ast.Raise():
                    return Known(math.nan)  # a traced function cannot raise
                case ast.Assign([target], value):
                    self.assign(target, self.value(value))
                case ast.AugAssign(ast.Name(name), op, value):
                    old = ast.Name(name, ast.Load())
                    new = ast.copy_location(ast.BinOp(old, op, value), statement)
                    self.assign(statement.target, self.value(new))
                case ast.If(test, body, orelse):
                    known = self.value(test)
                    if isinstance(known, Known):
                        return self.block([*(body if known.value else orelse), *rest])
                    if any(isinstance(n, ast.Return | ast.Raise) for n in ast.walk(statement)):
                        return self.returned(known, [*body, *rest], [*orelse, *rest])
                    self.merge(known, body, orelse)
                case ast.For(target, items, body, []):
                    return self.block([*self.unrolled(target, items, body), *rest])
                case ast.Pass() | ast.Assert() | ast.Expr(ast.Constant()):
                    pass
                case _:
                    raise self.refuse(f"a statement `{syntax.text(statement)}`", statement)
        return None

    def assign(self, target: ast.expr, value: Local) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, Known):
            for part, item in zip(target.elts, value.value, strict=True):
                self.assign(part, Known(item))
            return
        if not isinstance(target, ast.Name):
            raise self.refuse(f"an assignment to `{syntax.text(target)}`", target)
        if not isinstance(value, Known) and not self.in_arm:
            self.store([target.id], [value])
        else:
            self.values[target.id] = value

    def store(self, names: Sequence[str], values: Sequence[ast.expr]) -> None:
        """Assign variables at once, so that each value reads the old ones."""
        targets: list[ast.expr] = []
        for name in names:
            if name not in self.names:
                self.names[name] = syntax.unique(name, self.taken)
                self.taken.add(self.names[name])
            targets.append(ast.Name(self.names[name], ast.Store()))
            self.values[name] = syntax.name(self.names[name])
        if len(names) > 1:
            targets, values = [ast.Tuple(targets, ast.Store())], [ast.Tuple([*values], ast.Load())]
        self.statements.append(ast.Assign(targets, values[0]))

    def unrolled(
        self, target: ast.expr, items: ast.expr, body: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        values = self.value(items)
        found = list(values.value) if isinstance(values, Known) else [None] * (LONGEST + 1)
        if len(found) > LONGEST:
            raise self.refuse("a loop whose length depends on the epoch, or a long one", items)
        statements: list[ast.stmt] = []
        for item in found:
            name = f"item {len(self.values)}"
            self.values[name] = Known(item)
            load = ast.copy_location(ast.Name(name, ast.Load()), items)
            statements += [ast.copy_location(ast.Assign([target], load), target), *body]
        return statements

    def arms(
        self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]
    ) -> list[tuple[Local | None, dict[str, Local]]]:
        """Return what two branches return, and the variables at their ends."""
        before, outer = self.values, self.in_arm
        found = []
        for arm in (body, orelse):
            self.values, self.in_arm = dict(before), True
            found.append((self.block(arm), self.values))
        self.values, self.in_arm = before, outer
        return found

    def returned(
        self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]
    ) -> Local | None:
        (first, _), (second, _) = self.arms(body, orelse)
        return None if first is None or second is None else self.where(test, first, second)

    def merge(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        (_, first), (_, second) = self.arms(body, orelse)
        changed = [n for n in first if n in second and first[n] != second[n]]
        values = [self.where(test, first[n], second[n]) for n in changed]
        if self.in_arm:
            self.values.update(zip(changed, values, strict=True))
        elif changed:
            self.store(changed, [written(x) for x in values])

    def inlined(
        self, function: Callable[..., Any], args: Sequence[Local], keywords: Mapping[str, Local]
    ) -> Local:
        return body_of(function, args, keywords, self.statements, self.taken).result()


def body_of(
    function: Callable[..., Any], args: Sequence[Local], keywords: Mapping[str, Local],
    statements: list[ast.stmt], taken: set[str],
) -> Body:  # fmt: skip
    """Return the body of a function that is called with some arguments."""
    inner, held = plain(function)
    parameters = inspect.signature(inner).parameters
    free = [name for name in parameters if name not in held]
    values: dict[str, Local] = {
        name: Known(p.default) for name, p in parameters.items() if p.default is not p.empty
    }
    values |= held | dict(zip(free, args, strict=False)) | dict(keywords)
    return Body(source_of(inner), values, statements, taken)
