"""What a call is: of a module, an operator, a Python function or a builtin."""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import types
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.calls import (
    arrays,
    builtin_calls,
    container_methods,
    foreach,
    func_gradients,
    functional_calls,
    hooks,
    inner_gradients,
    inplace,
    iteration_calls,
    module_methods,
    packing,
    recomputation,
    vectorized,
)
from jaxgrad.parity.port.functions import (
    autograd_functions,
    closures,
    context_managers,
    inlined,
    made_objects,
    objects,
    rearranging,
)
from jaxgrad.parity.port.functions.configuration import folded_call, has_tensor, run
from jaxgrad.parity.port.functions.constructions import construct
from jaxgrad.parity.port.functions.functions import call_function
from jaxgrad.parity.port.interpretation import module_calls
from jaxgrad.parity.port.modules import whole_modules
from jaxgrad.parity.port.rules import names, table
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.statements import stores
from jaxgrad.parity.port.values.lengths import pinned
from jaxgrad.parity.port.values.scope import CallSite, Scope
from jaxgrad.parity.port.values.value_types import (
    Chain,
    Closure,
    Differentiated,
    Fields,
    Folded,
    Items,
    Mapped,
    Method,
    Module,
    Object,
    Partial,
    Size,
    Tensor,
    TensorMethod,
    Value,
    is_dynamic,
)
from jaxgrad.parity.port.values.values import is_computed, lift, real_of


def call(
    function: Value, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Return the value of a call.

    Raises:
        PortError: The function cannot be written in JAX.
    """
    if isinstance(function, Module):
        return module_calls.call(function, args, keywords, scope, node)
    if isinstance(function, Chain):
        for module in function.items:
            args, keywords = [call(module, args, keywords, scope, node)], {}
        return args[0]
    if isinstance(function, Object):
        return objects.call(function, args, keywords, scope, node)
    if isinstance(function, TensorMethod):
        if function.real == "register_hook":
            assert isinstance(function.owner, Tensor)
            return hooks.register_hook(function.owner, args[0], scope, node)
        name = names.of_method(function.real)
        real = getattr(torch.Tensor, function.real)
        if not callable(real):
            real = operator.attrgetter(function.real)  # `x.T`
        return _operator(name, real, [function.owner, *args], keywords, scope, node)
    if isinstance(function, Partial):
        args, keywords = [*function.args, *args], function.keywords | keywords
        return call(function.function, args, keywords, scope, node)
    if isinstance(function, Mapped):
        return vectorized.call(function, args, keywords, scope, node)
    if isinstance(function, Differentiated):
        return func_gradients.call(function, args, keywords, scope, node)
    if isinstance(function, Closure):
        return closures.call(function, args, keywords, scope, node)
    if isinstance(function, Method):
        return _method(function, args, keywords, scope, node)
    return _callable(function.real, args, keywords, scope, node)


def _method(
    method: Method, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    owner = method.owner
    if isinstance(owner, Size):
        return arrays.call_method(owner, method.real, args, keywords, scope, node)
    if isinstance(method.real, str):
        assert isinstance(owner, Items | Fields)
        return container_methods.call_method(owner, method.real, args, keywords, scope, node)
    if isinstance(owner, Object):
        return objects.call_method(method, args, keywords, scope, node)
    if isinstance(owner, Module) and method.real is nn.Module.__call__:
        return module_calls.call_hooked(owner, args, keywords, scope, node)
    if isinstance(owner, Module):
        found = module_methods.of_base(owner, method.real.__name__, args, scope, node)
        if found is not None:
            return found
    else:
        folded = folded_call(method.real, [owner, *args], keywords, scope, node)
        if folded is not None:
            return folded
        if made_objects.is_made(owner.real, scope.run) and not is_torch(type(owner.real)):
            return inlined.run(method.real, [owner, *args], keywords, scope, node)
    kind = method.kind or type(owner.real)
    return call_function(method.real, [owner, *args], keywords, scope, node, kind)


def _callable(
    real: Any, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    if isinstance(real, functools.partial):
        first = [Folded(x) for x in real.args]
        rest = {k: Folded(x) for k, x in real.keywords.items()} | keywords
        return _callable(real.func, [*first, *args], rest, scope, node)
    if real is functools.partial and any(map(is_dynamic, [*args, *keywords.values()])):
        return Partial(None, None, scope, function=args[0], args=args[1:], keywords=keywords)
    if (mapped := vectorized.of_function(real, scope)) is not None:
        return vectorized.call(mapped, args, keywords, scope, node)
    manager = context_managers.of_call(real, args, keywords)
    if manager is not None:
        return manager
    real = getattr(real, "_torchdynamo_inline", real)  # the function that was scripted
    if isinstance(real, functools._lru_cache_wrapper):
        keywords = {k: _fixed(x, scope, node) for k, x in keywords.items()}
        real = real.__wrapped__ if any(map(is_computed, args)) else real
    special = builtin_calls.special(real) or _special(real) or iteration_calls.mapping(real)
    if special is not None:
        return special(CallSite(args, keywords, scope, node))
    name = names.of_function(real)
    if name is not None:
        return _operator(name, real, args, keywords, scope, node)
    owner = getattr(real, "__self__", None)  # `apply` is a method up to torch 2.13, then a builtin
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
        return recomputation.apply(owner, args, keywords, scope, node)
    if isinstance(real, nn.Module) and not whole_modules.has_state(real):
        inputs: list[Value] = [Folded(real), *args]
        return call_function(type(real).forward, inputs, keywords, scope, node, type(real))  # pyright: ignore[reportArgumentType]
    if isinstance(real, types.MethodType):
        return call(Method(real.__func__, None, Folded(real.__self__)), args, keywords, scope, node)
    array = arrays.call(real, args, keywords, scope)
    if array is not None:
        return array
    if isinstance(real, types.FunctionType):
        folded = folded_call(real, args, keywords, scope, node)
        return folded or call_function(real, args, keywords, scope, node)
    method = inspect.getattr_static(type(real), "__call__", None)
    if isinstance(method, types.FunctionType) and not isinstance(real, type):
        return _method(Method(method, None, Folded(real)), args, keywords, scope, node)
    if isinstance(real, type) and any(map(is_computed, [*args, *keywords.values()])):
        return construct(real, args, keywords, scope, node)
    return run(real, args, keywords, scope, node)


def _fixed(value: Value, scope: Scope, node: ast.AST) -> Value:
    """Return a size, such as the number of dimensions, as the number that the port asserts."""
    return Folded(pinned(value, scope, node)) if isinstance(value, Size) else value


def _special(real: Any) -> Any:
    if isinstance(real, autograd_functions.ContextCall):
        return real
    try:
        return _SPECIAL.get(real)
    except TypeError:
        return None


_SPECIAL = stores.SPECIAL | hooks.SPECIAL | inner_gradients.SPECIAL | vectorized.SPECIAL
_SPECIAL |= arrays.SPECIAL | foreach.SPECIAL | functional_calls.SPECIAL | func_gradients.SPECIAL
_SPECIAL |= packing.SPECIAL


def _operator(
    name: str, real: Any, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Run one of torch's operators, and write it by its rule."""
    changes = name.endswith("_") and not name.endswith("__")
    name = name.removesuffix("_") if changes else name
    keywords = names.in_torch_words(keywords)
    inplace_option = keywords.pop("inplace", None)
    changes = changes or (inplace_option is not None and bool(inplace_option.real))
    out = keywords.pop("out", Folded(None))
    if out.real is not None and not isinstance(out, Tensor):
        raise scope.refuse("`out=` of several tensors is not ported; assign the results", node)
    operation = table.Operation(name, args, keywords, scope, node, real)
    operation.before()
    rearranging.note_operator(name, scope)
    try:
        extra = {} if inplace_option is None else {"inplace": inplace_option.real}
        extra |= {} if out.real is None else {"out": out.real}
        values = {k: real_of(v) for k, v in keywords.items()} | extra
        operation.real = real(*map(real_of, args), **values)
    except PortError:
        raise
    except Exception as error:
        raise scope.refuse(
            f"{name} raised {type(error).__name__}: {error}; pass inputs on which it does not", node
        ) from error
    if not any(map(is_computed, [*args, *keywords.values()])) and not has_tensor(operation.real):
        return Folded(operation.real)
    written = table.write(operation)
    if isinstance(written, Value):
        return written
    if changes or out.real is not None:
        target = args[0] if changes else out
        assert isinstance(target, Tensor)
        return inplace.write(target, written, operation.real, scope, node)
    return lift(operation.real, written)
