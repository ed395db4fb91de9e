"""Write a `torch.autograd.Function` as a class for `jaxgrad.from_function`."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import torch

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.cleaning import cleaned
from jaxgrad.parity.port.source.port_names import port_name
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import source_of
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.leaving import Returned
from jaxgrad.parity.port.values.scope import CallSite, Scope
from jaxgrad.parity.port.values.value_types import (
    Folded,
    Items,
    Size,
    Tensor,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of, lift, real_of
from jaxgrad.parity.prove.record.torch_side.trees import is_inexact


class Context(Value):
    """The `ctx` of a Function, and what its forward keeps in it (`real`).

    Attributes:
        needs: Whether each argument is a tensor that can have a gradient.
    """

    needs: tuple[bool, ...] = ()


def apply(
    kind: type, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret `Function.apply(...)`: both of its passes are written in a class."""
    if keywords:
        raise scope.refuse(
            f"{kind.__name__}.apply() takes no keyword arguments; pass them by position", node
        )
    context, versions = Context({}, syntax.name("ctx")), _versions(args)
    context.needs = tuple(isinstance(x, Tensor) and is_inexact(x.real) for x in args)
    split = kind.__dict__.get("setup_context") is not None
    forward, result = _method(kind, "forward", args if split else [context, *args], scope)
    methods = [forward]
    if split:
        inputs = Items(tuple, syntax.name("inputs"), args)
        output = renamed(result, syntax.name("output"))
        setup, _ = _method(kind, "setup_context", [context, inputs, output], scope)
        methods.append(setup)
    outputs = [result] if isinstance(result, Tensor) else list(_tensors(result))
    grads: list[Value] = [Tensor(torch.ones_like(x.real)) for x in outputs]
    backward, _ = _method(kind, "backward", [context, *grads], scope)
    methods.append(backward)
    written = _class(kind, methods, scope)
    real = _with_graph(kind, args, real_of(result), versions)
    return lift(real, syntax.call_written(written.name, *map(code_of, args)))


def _versions(args: list[Value]) -> list[int]:
    return [x.real._version for x in args if isinstance(x, Tensor)]


def _with_graph(kind: Any, args: list[Value], real: Any, versions: list[int]) -> Any:
    """Return the result as torch computes it, which `torch.autograd.grad` can differentiate."""
    needs_grad = any(isinstance(x, Tensor) and x.real.requires_grad for x in args)
    if not needs_grad or _versions(args) != versions:
        return real  # or it has changed an argument in place
    with torch.random.fork_rng(devices=[]):
        return kind.apply(*map(real_of, args))


def _tensors(result: Value) -> list[Tensor]:
    return [x for x in getattr(result, "items", []) if isinstance(x, Tensor)]


def _method(
    kind: type, name: str, args: list[Value], scope: Scope
) -> tuple[ast.FunctionDef, Value]:
    """Interpret one static method, and return it as written and what it returned."""
    function: Any = _undecorated(getattr(kind, name))
    source = source_of(function)
    inner = Scope(scope.run, source, {})
    parameters = list(inspect.signature(function).parameters.values())
    names: list[str] = []
    star: str | None = None
    for n, parameter in enumerate(parameters):
        local = port_name(parameter.name)
        if parameter.kind == parameter.VAR_POSITIONAL:
            star = local
            rest = [renamed(v, syntax.item(syntax.name(local), k)) for k, v in enumerate(args[n:])]
            inner.values[parameter.name] = Items(tuple, None, rest)
            break
        value = args[n] if n < len(args) else Folded(parameter.default)
        names.append(local)
        inner.values[parameter.name] = renamed_any(value, syntax.name(local))
    scope.run.scopes.append(inner)
    try:
        with torch.no_grad():
            try:
                scope.run.execute(source.node.body, inner)  # pyright: ignore[reportArgumentType]
                result: Value = Folded(None)
            except Returned as returned:
                result = returned.value
    except PortError as error:
        raise PortError(error.reason, error.place or inner.place()) from error
    finally:
        scope.run.scopes.pop()
    body: list[ast.stmt] = inner.body
    if name != "setup_context":
        body = [*body, ast.Return(code_of(result))]
    if any(draws.RNG in syntax.names_in(statement) for statement in body):
        raise scope.refuse(
            f"{name} of {kind.__name__} draws random numbers, and its port gets no key; draw them "
            "in the module, and pass them to apply()"
        )
    node = syntax.function(name, names, cleaned(body) or [ast.Pass()], star)
    node.decorator_list.append(syntax.name("staticmethod"))
    return node, result


_DECORATORS: tuple[Any, ...] = (torch.amp.custom_fwd, torch.amp.custom_bwd)
_AMP = {decorate(lambda: None, device_type="cpu").__code__ for decorate in _DECORATORS}


def _undecorated(function: Any) -> Any:
    """Return what `custom_fwd` and `custom_bwd` decorate: they do nothing without autocast."""
    while getattr(function, "__code__", None) in _AMP and not torch.is_autocast_enabled("cpu"):
        function = function.__wrapped__
    return function


def renamed_any(value: Value, code: ast.expr) -> Value:
    """Return an argument of a method under the name of its parameter.

    A number or bool has its name too, because a caller may pass another one.
    """
    if isinstance(value, Context):
        return value
    if isinstance(value, Folded) and isinstance(value.real, bool | int | float):
        return Size(value.real, code)
    return renamed(value, code) if is_dynamic(value) or isinstance(value, Tensor) else value


def _class(kind: type, methods: list[ast.FunctionDef], scope: Scope) -> Written:
    """Return the class in the port, which is written once."""
    run = scope.run
    for other in run.written:
        if other.owner is kind and syntax.same(other.node.body, methods):
            return other
    name = syntax.unique(kind.__name__, {w.name for w in run.written})
    node = syntax.class_definition(name, [], methods, [syntax.dotted("jaxgrad.from_function")])
    written = Written(name, kind.forward, node, kind)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
    run.written.append(written)
    return written


def read(context: Context, name: str, scope: Scope, node: ast.AST) -> Value:
    """Return an attribute of `ctx`."""
    kept: dict[str, Value] = context.real
    if name in kept:
        value = kept[name]
        return renamed(value, syntax.attribute(code_of(context), name))
    if name == "needs_input_grad":
        return Items(tuple, None, list(map(Folded, context.needs)))
    if name in _METHODS:
        return Folded(ContextCall(context, name))
    raise scope.refuse(
        f"ctx.{name} is not ported"
        "; use ctx.save_for_backward, or an attribute of ctx with a name of your own",
        node,
    )


def store(context: Context, name: str, value: Value, scope: Scope) -> None:
    """Interpret `ctx.name = value`."""
    context.real[name] = value
    if is_dynamic(value):
        place = ast.Attribute(code_of(context), name, ast.Store())
        scope.emit(ast.Assign([place], code_of(value)))


class ContextCall:
    """A method of `ctx`, which is written as it is."""

    def __init__(self, context: Context, name: str) -> None:
        self.context, self.name = context, name

    def __call__(self, site: CallSite) -> Value:
        if self.name == "save_for_backward":
            self.context.real["saved_tensors"] = Items(tuple, None, list(site.args))
        elif self.name == "mark_dirty":
            return Folded(None)
        method = syntax.attribute(code_of(self.context), self.name)
        site.scope.emit(ast.Expr(syntax.call(method, *map(code_of, site.args))))
        return Folded(None)


_METHODS = (
    "save_for_backward",
    "mark_non_differentiable",
    "set_materialize_grads",
    "mark_dirty",
)
