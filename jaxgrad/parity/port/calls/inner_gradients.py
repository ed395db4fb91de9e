"""Write `torch.autograd.grad` inside of a module as the gradient of a nested function."""

from __future__ import annotations

import ast
from typing import Any

import torch

from jaxgrad.parity.port.expressions import indexing
from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.values.scope import CallSite, Scope
from jaxgrad.parity.port.values.value_types import Folded, Items, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


_NAMES = (
    "outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs",
    "allow_unused",
)  # fmt: skip


def grad(site: CallSite) -> Value:
    """Interpret `torch.autograd.grad(outputs, inputs, ...)`.

    Raises:
        PortError: An input or the output is not a variable of the function that calls it, or the
            output was computed from the inputs outside of this function.
    """
    given = dict(zip(_NAMES, site.args, strict=False)) | site.keywords
    (output,) = _listed(given["outputs"], site)
    inputs = _listed(given["inputs"], site)
    cotangent = given.get("grad_outputs", Folded(None))
    if isinstance(cotangent, Items):
        (cotangent,) = indexing.iterate(cotangent, site.scope, site.node)
    if not all(isinstance(x.code, ast.Name) for x in inputs):
        raise site.refuse(
            "autograd.grad with respect to something that is not a local variable; assign it first"
        )
    names = [x.code.id for x in inputs]  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    reals = torch.autograd.grad(
        real_of(output), [x.real for x in inputs], real_of(cotangent), create_graph=True
    )
    if syntax.change_variables([code_of(output)]):  # torch has run this call once
        output = Tensor(output.real, site.scope.once(code_of(output), "outputs"))
    label = site.scope.fresh("value")
    summed = output.real.ndim > 0 and _is_ones(cotangent, output)
    result = code_of(output)
    result = syntax.call(syntax.attribute(result, "sum")) if summed else result
    sliced = _slice(names, output, site.scope)
    body = [*sliced, ast.Return(result)]
    if not {name for statement in body for name in syntax.names_in(statement)} & set(names):
        raise site.refuse(
            f"autograd.grad of `{syntax.text(code_of(output))}`, which was computed from "
            f"`{', '.join(names)}` outside of this function: JAX differentiates a function, and "
            "not a value; compute it again inside of this function"
        )
    function = syntax.function(label, names, body)
    if site.scope.run.classes is None:
        _begin_with_earlier_params(function, sliced, site.scope)
    else:
        _begin_with_earlier_module(function, sliced, site.scope)
    site.scope.emit(function)
    code = _gradient(label, names, output, cotangent, summed=summed)
    if not given.get("create_graph", Folded(False)).real:
        code = syntax.stopped(code)
    parts: list[Value] = [Tensor(x, syntax.item(code, n)) for n, x in enumerate(reals)]
    return Items(tuple, code, parts)


def _listed(value: Value, site: CallSite) -> list[Value]:
    if isinstance(value, Items):
        return indexing.iterate(value, site.scope, site.node)
    return [value]


def _is_ones(cotangent: Value, output: Value) -> bool:
    """Return whether a gradient is that of the sum of an output."""
    if output.real.is_complex():
        return False
    if cotangent.real is None:
        return True
    are_ones = syntax.is_op(cotangent.code, ("ones", "ones_like", "new_ones"))
    return are_ones and cotangent.real.shape == output.real.shape


def _gradient(
    label: str, names: list[str], output: Value, cotangent: Value, *, summed: bool
) -> ast.expr:
    """Return the expression of the tuple of gradients."""
    args = [syntax.name(n) for n in names]
    if summed or (cotangent.real is None and output.real.ndim == 0):
        places = syntax.literal(tuple(range(len(names))))
        return ast.Call(syntax.call_helper(Helper.GRAD, syntax.name(label), places), list(args), [])
    pulled = syntax.item(syntax.call("jax.vjp", syntax.name(label), *args), 1)
    seed = syntax.call("jnp.ones_like", code_of(output)) if cotangent.real is None else None
    return ast.Call(pulled, [seed or code_of(cotangent)], [])


def _slice(names: list[str], output: Value, scope: Scope) -> list[ast.stmt]:
    """Return the statements that compute the output from the inputs."""
    needed = set(syntax.names_in(code_of(output))) - set(names)
    kept: list[ast.stmt] = []
    for statement in reversed(scope.body):
        stored = _stored(statement)
        if stored & set(names):
            break  # here an input gets its value
        if stored & needed:
            kept.insert(0, statement)
            needed = (needed - stored) | (set(syntax.names_in(statement)) - set(names))
    return kept


def _begin_with_earlier_params(
    function: ast.FunctionDef, sliced: list[ast.stmt], scope: Scope
) -> None:
    """Let a nested function that updates params begin with those from before their update.

    Its statements are in the enclosing function too, which has updated its params already.
    """
    for variable in sorted({x for statement in sliced for x in syntax.updated(statement)}):
        updates = [s for s in sliced if variable in syntax.updated(s)]
        places = [syntax.update_place(n) for s in updates for n in ast.walk(s)]
        earlier = scope.fresh("earlier")
        parts = [x for x in places if isinstance(x, ast.Subscript)]
        copied = param_paths.copied(variable, parts) if parts else syntax.name(variable)
        start = next(n for n, s in enumerate(scope.body) if s is updates[0])
        scope.body.insert(start, ast.Assign([ast.Name(earlier, ast.Store())], copied))
        function.args.args.append(ast.arg(variable))
        function.args.defaults.append(syntax.name(earlier))


def _begin_with_earlier_module(
    function: ast.FunctionDef, sliced: list[ast.stmt], scope: Scope
) -> None:
    """Let a nested function call a copy of the module, if its calls change the module's variables.

    flax does not change variables in a function that is differentiated. Each copy is as the module
    was before the first of these calls, so that it draws the same random numbers.
    """
    first = next((s for s in sliced if syntax.change_variables([s])), None)
    if first is None:
        return
    earlier = scope.fresh("earlier")
    start = next(n for n, s in enumerate(scope.body) if s is first)
    copied = syntax.call_helper(Helper.NNX_CLONE, syntax.name(PARAMS))
    scope.body.insert(start, ast.Assign([ast.Name(earlier, ast.Store())], copied))
    own = syntax.call_helper(Helper.NNX_CLONE, syntax.name(earlier))
    function.body.insert(0, ast.Assign([ast.Name(PARAMS, ast.Store())], own))


def _stored(statement: ast.stmt) -> set[str]:
    names = syntax.assigned(statement)
    return names | ({statement.name} if isinstance(statement, ast.FunctionDef) else set())


SPECIAL: dict[Any, Any] = {torch.autograd.grad: grad}
