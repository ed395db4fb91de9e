"""Modules that a port of classes calls as they are: layers, and sequences of modules."""

from __future__ import annotations

import ast

from torch import nn

from jaxgrad.parity.port.expressions import submodules
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.parts import is_numbered
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Module, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, lift, real_of


PLACEHOLDER = "input_of_the_module"
MODULES = "functions"  # the argument with the functions of a sequence, which is not written


def is_layer(module: Module, scope: Scope) -> bool:
    """Return whether the port has a layer in the place of a module of torch."""
    classes = scope.run.classes
    return classes is not None and module.path != "" and classes.is_layer(module.real)


def call(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value | None:
    """Return the value of a call that is written as one call of the module, or None."""
    if is_layer(module, scope):
        return _layer(module, args, keywords, scope)
    if scope.run.classes is None or not _is_sequence(module.real, module.path):
        return None
    if keywords or len(args) != 1 or not isinstance(args[0], Tensor):
        return None
    return _sequence(module, args[0], scope, node)


def _layer(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope
) -> Value | None:
    try:
        codes, named = [code_of(x) for x in args], {k: code_of(x) for k, x in keywords.items()}
    except PortError:
        return None  # such as a packed sequence
    before = _versions(module.real)
    result = module.real.forward(
        *map(real_of, args), **{k: real_of(x) for k, x in keywords.items()}
    )
    for path, _ in [*module.real.named_parameters(), *module.real.named_buffers()]:
        scope.run.used.add(f"{module.path}.{path}")
    code = syntax.call(code_of(module), *codes, **named)
    changes = _versions(module.real) != before or _draws(module.real)
    place = type(module.real).forward.__code__, module.path
    on_expression(code).changes = scope.run.note_changing(place, changes)
    return lift(result, code)


def _versions(module: nn.Module) -> list[tuple[int, int]]:
    """Return what tells whether a call of a module changed one of its buffers."""
    return [(id(buffer), buffer._version) for buffer in module.buffers()]


def _draws(module: nn.Module) -> bool:
    """Return whether a layer draws random numbers, so that it counts them."""
    return any(
        isinstance(x, nn.modules.dropout._DropoutNd) and x.training for x in module.modules()
    )


def _is_sequence(module: nn.Module, path: str) -> bool:
    """Return whether each module of a sequence maps one tensor to one tensor, for all we know."""
    if type(module) is not nn.Sequential or not is_numbered(module) or not path:
        return False
    return not getattr(module[0], "inplace", False)


def _sequence(module: Module, given: Tensor, scope: Scope, node: ast.AST) -> Value | None:
    """Interpret the modules of a sequence one by one, and return the value of calling it whole."""
    classes, path = scope.run.classes, scope.run.paths[id(module.real)]
    assert classes is not None
    functions: list[ast.expr | None] = []
    methods: list[ast.expr] = []
    value, changes = given, False
    for name in module.real._modules:
        child = submodules.child(module, name)
        with scope.block() as body:
            inner = Tensor(value.real, syntax.name(PLACEHOLDER))
            result = scope.run.call(child, [inner], {}, scope, node)
        if body or not isinstance(result, Tensor) or not _maps_one(code_of(result), child):
            return None
        functions.append(_function(code_of(result), child))
        changes = changes or syntax.change_variables([code_of(result)])
        methods += _methods(code_of(result))
        value = result
    known = classes.sequences.setdefault(path, functions)
    same = [x or ast.Pass() for x in known], [x or ast.Pass() for x in functions]
    if not syntax.same(*same):
        return None
    code = syntax.call(code_of(module), code_of(given))
    if methods:
        code.keywords.append(ast.keyword(MODULES, ast.Tuple(methods, ast.Load())))
    on_expression(code).changes = changes
    return Tensor(value.real, code)


def _methods(code: ast.expr) -> list[ast.expr]:
    """Return the functions of the port that an expression names."""
    return [node for node in ast.walk(code) if syntax.is_written(node)]


def _maps_one(code: ast.expr, child: Module) -> bool:
    """Return whether an expression is the call of a module, or a function of its input alone."""
    if draws.keys(code):
        return False
    return _is_call_of(code, child) or set(syntax.names_in(code)) <= {PLACEHOLDER, *_LIBRARIES}


_LIBRARIES = ("F", "jax", "jaxgrad", "jnp", "lax", "math", "np")


def _is_call_of(code: ast.expr, child: Module) -> bool:
    if not isinstance(code, ast.Call) or any(k.arg != MODULES for k in code.keywords):
        return False
    given = code.args if syntax.is_written(code.func) else [code.func, *code.args]
    return syntax.same(given, [code_of(child), syntax.name(PLACEHOLDER)])


def _function(code: ast.expr, child: Module) -> ast.expr | None:
    """Return the function that stands for a module without tensors; None for any other module."""
    if _is_call_of(code, child):
        return None
    if isinstance(code, ast.Call) and not code.keywords:
        if syntax.same(code.args, [syntax.name(PLACEHOLDER)]):
            return code.func
    inner = syntax.substitute(code, {PLACEHOLDER: syntax.name("x")})
    return ast.Lambda(syntax.function("_", ["x"], []).args, inner)


def has_state(module: nn.Module) -> bool:
    """Return whether a module that a `forward` makes has tensors, or a behaviour of train mode."""
    tensors = [*module.parameters(), *module.buffers()]
    return bool(tensors) or isinstance(module, nn.modules.dropout._DropoutNd)
