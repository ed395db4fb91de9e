"""Write a function of a params tree as a method of a class that holds its tensors."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping
from typing import Any

from flax import nnx

from jaxgrad.parity.port.ir import Helper, How, NameOf
from jaxgrad.parity.port.modes.mode_expressions import DROPOUTS, TRAINING
from jaxgrad.parity.port.modules.whole_modules import MODULES
from jaxgrad.parity.port.nnx.modules import Modules
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.param_paths import PARAMS, is_params
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


STREAM = "rngs"  # the attribute that gives a module its keys
EVALUATES = "deterministic"  # flax's name for eval mode


class Bodies:
    """How the functions of a port are written, once it is known which of them are methods.

    Attributes:
        labels: The name of each function that is a method -> the method's name.
        modules: The modules of the port.
        split: The name of the function that splits keys.
    """

    def __init__(self, labels: Mapping[str, str], modules: Modules, split: str) -> None:
        self.labels, self.modules, self.split = labels, modules, split

    def method(
        self, written: Written, numbers: dict[str, ast.expr], taken: Collection[str]
    ) -> ast.FunctionDef:
        """Return a function as a method.

        Args:
            written: The function.
            numbers: The numbers that the class holds; those that this method reads are added.
            taken: The names of what else the class holds.
        """
        node: ast.FunctionDef = _with_own_keys(copy.deepcopy(written.node))
        node = _Translate(self, "self").visit(node)
        node.name = self.labels[written.name]
        others = [a for a in node.args.args if a.arg not in (PARAMS, draws.RNG)]
        node.args.args = [ast.arg("self"), *others]
        kept = [
            (a, d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if a.arg not in (TRAINING, draws.RNG)
        ]
        own = {a.arg: d for a, d in kept if d is not None and _is_attribute(d)}
        held = {
            name: code for name, code in own.items()
            if not hasattr(nnx.Module, name)
            and name not in (STREAM, EVALUATES, *taken, *self.labels.values())
            and syntax.same(numbers.setdefault(name, code), code)
        }  # fmt: skip
        node = _Attributes(held).visit(node)
        kept = [(a, d) for a, d in kept if a.arg not in held]
        _drop_last_none(node)
        node.args.kwonlyargs, node.args.kw_defaults = [a for a, _ in kept], [d for _, d in kept]
        return node

    def function(self, written: Written) -> Any:
        """Return a function or class that is not a method, with its modules as arguments."""
        node = _Translate(self, "module").visit(copy.deepcopy(written.node))
        node.body = draws.split_each(node.body, node, self.split)
        for inner in ast.walk(node):
            if isinstance(inner, ast.arg) and inner.arg == PARAMS:
                inner.arg = "module"
        if isinstance(node, ast.FunctionDef):
            _drop_last_none(node)
        return node


def _drop_last_none(node: ast.FunctionDef) -> None:
    """Leave out `return None` at the end of a function that changes variables."""
    match node.body[-1]:
        case ast.Return(ast.Constant(None)) if len(node.body) > 1:
            del node.body[-1]


def _is_attribute(default: ast.expr) -> bool:
    """Return whether a keyword's default is a number that is an attribute of the module."""
    number = on_expression(default).number
    return number is not None and number.name_of is NameOf.ATTRIBUTE


class _Attributes(ast.NodeTransformer):
    """Replaces the names of numbers by the attributes of `self` that hold them."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return syntax.dotted(f"self.{node.id}") if node.id in self.names else node


def _with_own_keys(method: ast.FunctionDef) -> ast.FunctionDef:
    """Let a method take its keys from the stream of its module."""

    def taken(codes: list[ast.Name]) -> ast.stmt:
        keys = [_key(method, code.id) for code in codes]
        targets: list[ast.expr] = [draws.target(code) for code in codes]
        if len(codes) == 1:
            return ast.Assign(targets, keys[0])
        return ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(keys, ast.Load()))

    draws.name_keys(method.body, syntax.all_names(method))
    method.body = draws.with_splits(method.body, taken)
    return method


def _key(node: ast.AST, name: str) -> ast.expr:
    """Return the next key, or None in eval mode if whatever takes it draws in train mode alone."""
    key = syntax.call(f"self.{STREAM}")
    takers = [
        call
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and any(syntax.is_name(x, name) for x in _arguments(call))
    ]
    if takers and all(_has_mode(call) for call in takers):
        return ast.IfExp(syntax.dotted(f"self.{EVALUATES}"), syntax.constant(None), key)
    return key


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


def _has_mode(call: ast.Call) -> bool:
    modes = [k.value for k in call.keywords if k.arg == TRAINING]
    takes = syntax.is_op(call, DROPOUTS) or syntax.is_written(call.func)
    return takes and syntax.same(modes, [syntax.name(TRAINING)])


class _Translate(ast.NodeTransformer):
    """Write places of the params as attributes, and calls of functions as calls of methods."""

    def __init__(self, bodies: Bodies, root: str) -> None:
        self.bodies, self.root = bodies, root

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if is_params(node):
            return ast.Name(self.root, node.ctx)
        if node.id == TRAINING and self.root == "self":
            return ast.UnaryOp(ast.Not(), self._evaluates())
        return node

    def _evaluates(self) -> ast.expr:
        return syntax.dotted(f"self.{EVALUATES}")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not) and self._is_mode(node.operand):
            return self._evaluates()
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if self._is_mode(node.test):
            return ast.IfExp(self._evaluates(), self.visit(node.orelse), self.visit(node.body))
        return self.generic_visit(node)

    def _is_mode(self, node: ast.expr) -> bool:
        return self.root == "self" and syntax.is_name(node, TRAINING)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        known = on_expression(node).part
        if known is None:
            return self.generic_visit(node)  # pyright: ignore[reportReturnType]
        base = self.visit(node.value)
        modules = self.bodies.modules
        if known.module in modules.sequences:
            base = syntax.attribute(base, "layers")
        if known.how is How.ATTRIBUTE or modules.is_class(known.module):
            code = part(base, known.name)
        else:
            key = node.slice
            if isinstance(key, ast.Constant) and known.how is How.ITEM:
                key = syntax.constant(int(key.value))  # pyright: ignore[reportArgumentType]
            code = ast.Subscript(base, self.visit(key), ast.Load())
        if known.siblings is not None:
            return ast.Subscript(code, syntax.constant(...), node.ctx)
        return code

    def visit_Call(self, node: ast.Call) -> ast.AST:
        label = self._label(node.func)
        if label is not None:
            receiver, *args = [self.visit(x) for x in node.args]
            function = receiver if label == "__call__" else syntax.attribute(receiver, label)
            keywords = [k for k in node.keywords if k.arg not in (TRAINING, draws.RNG)]
            return ast.Call(function, args, [self.visit(k) for k in keywords])
        if syntax.calls(node.func, Helper.CHECKPOINT):
            return self._checkpointed(node, node.func.args[0])
        node.keywords = [k for k in node.keywords if k.arg != MODULES]
        return self.generic_visit(node)

    def _label(self, function: ast.expr) -> str | None:
        return self.bodies.labels.get(function.id) if syntax.is_written(function) else None

    def _checkpointed(self, node: ast.Call, function: ast.expr) -> ast.AST:
        """Return the call of a recomputed function; flax's form takes a module as an argument."""
        if syntax.calls(function, Helper.PARTIAL):
            function = function.args[0]
        label = self._label(function)
        if label is not None:
            receiver, *args = [self.visit(x) for x in node.args]
            method = syntax.attribute(syntax.call("type", receiver), label)
            return ast.Call(syntax.call("nnx.remat", method), [receiver, *args], [])
        if isinstance(function, ast.Lambda) and PARAMS in syntax.names_in(function):
            taken = [a.arg for a in function.args.args]
            arguments = syntax.function("_", [self.root, *taken], []).args
            inner = ast.Lambda(arguments, self.visit(function.body))
            args = [syntax.name(self.root), *(self.visit(x) for x in node.args)]
            return ast.Call(syntax.call("nnx.remat", inner), args, [])
        return self.generic_visit(node)


def part(base: ast.expr, name: str) -> ast.expr:
    """Return the expression of an attribute, whose name may be a number."""
    if name.isidentifier():
        return syntax.attribute(base, name)
    return syntax.call("getattr", base, syntax.constant(name))
