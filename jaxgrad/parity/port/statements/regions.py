"""Write a region under autocast as a function that `jaxgrad.autocast` runs."""

from __future__ import annotations

import ast

import torch

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.cleaning import cleaned
from jaxgrad.parity.port.values.binding import bind_results
from jaxgrad.parity.port.values.leaving import Returned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Tensor, Value
from jaxgrad.parity.port.values.values import code_of, lift, real_of


def autocast(node: ast.With, context: torch.autocast, scope: Scope) -> None:
    """Interpret `with torch.autocast(...)`: its statements become a nested function.

    Raises:
        Returned: The region returns.
    """
    if not context._enabled:
        with context:
            scope.run.execute(node.body, scope)
        return
    before, returned = dict(scope.values), None
    with context, scope.block() as body:
        try:
            scope.run.execute(node.body, scope)
        except Returned as result:
            returned = result.value
    scope.begin(node)
    names = [n for n, v in scope.values.items() if v is not before.get(n) and isinstance(v, Tensor)]
    operands = [n for n in names if isinstance(before.get(n), Tensor)]
    values: list[Value] = [scope.values[n] for n in names] if returned is None else [returned]
    if not values:
        return
    codes = [code_of(v) for v in values]
    result = codes[0] if len(codes) == 1 else ast.Tuple(codes, ast.Load())
    label = scope.fresh("autocast_region")
    locals_ = [scope.local(n) for n in operands]
    scope.emit(syntax.function(label, locals_, cleaned([*body, ast.Return(result)])))
    code = ast.Call(_transformed(label, context), [syntax.name(n) for n in locals_], [])
    if returned is not None:
        raise Returned(lift(real_of(returned), code))
    bind_results(names, [v.real for v in values], code, scope)


def _transformed(label: str, context: torch.autocast) -> ast.Call:
    options = {} if context.device == "cpu" else {"device_type": syntax.constant(context.device)}
    dtype = syntax.literal(context.fast_dtype)
    return syntax.call("jaxgrad.autocast", syntax.name(label), dtype, **options)
