"""Interpret a branch on the value of a tensor: both arms are written, as `lax.cond`."""

from __future__ import annotations

import ast
import dataclasses

import torch

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.cleaning import cleaned
from jaxgrad.parity.port.statements import arm_stores
from jaxgrad.parity.port.values.binding import bind_results
from jaxgrad.parity.port.values.leaving import Broken, Continued, Returned
from jaxgrad.parity.port.values.scope import Scope, Store
from jaxgrad.parity.port.values.unchanged import unchanged
from jaxgrad.parity.port.values.value_types import Folded, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, lift, real_of, tensors_in


@dataclasses.dataclass
class Arm:
    """One arm of a branch.

    Attributes:
        body: Its statements.
        values: The variables after it.
        returned: What it returned.
        stores: The new values of parameters and buffers.
        changed: The paths of the parameters and buffers that change in torch.
    """

    body: list[ast.stmt]
    values: dict[str, Value]
    returned: Value | None
    stores: list[Store]
    changed: list[str] = dataclasses.field(default_factory=list)


def branch(node: ast.If, test: Tensor, scope: Scope) -> None:
    """Interpret `if tensor:`; the arm that torch takes is interpreted last, on the same values.

    Raises:
        PortError: The arms cannot be two functions with results of one type.
        Returned: Both arms return.
    """
    if test.real.numel() != 1:
        raise scope.refuse(
            "the truth of more than one value is ambiguous; use torch.where on the whole tensor",
            node,
        )
    before = dict(scope.values)
    arms: dict[bool, Arm] = {}
    taken = bool(test.real)
    for which in (not taken, taken):
        scope.values.clear()
        scope.values.update(before)
        with arm_stores.watched(scope, give_back=which != taken) as changed:
            arms[which] = arm(node.body if which else node.orelse, scope, node)
        arms[which].changed += changed
    scope.begin(node)
    then, otherwise = arms[True], arms[False]
    if (then.returned is None) != (otherwise.returned is None):
        raise scope.refuse(
            "one arm of a branch on the value of a tensor returns and the other does not; let both "
            "assign the result to a variable",
            node,
        )
    if then.returned is not None and otherwise.returned is not None:
        _require_same([then.returned], [otherwise.returned], ["the result"], scope, node)
        codes = [code_of(then.returned)], [code_of(otherwise.returned)]
        stores = arm_stores.joined(then, otherwise, scope, node)
        call = _cond(test, then, otherwise, codes, [], stores, scope)
        if stores.places:
            (call,) = arm_stores.emit(stores, call, [scope.fresh("out")], scope, node)
        raise Returned(lift(real_of(arms[taken].returned or Folded(None)), call))
    names = _changed(before, then, otherwise, scope, node)
    scope.values.clear()
    scope.values.update(before)
    stores = arm_stores.joined(then, otherwise, scope, node)
    if not names and not stores.places:
        return
    results = [[code_of(arm.values[n]) for n in names] for arm in (then, otherwise)]
    operands = [n for n in names if isinstance(before.get(n), Tensor)]
    call = _cond(test, then, otherwise, (results[0], results[1]), operands, stores, scope)
    reals = [arms[taken].values[n].real for n in names]
    if not stores.places:
        bind_results(names, reals, call, scope)
        return
    parts = arm_stores.emit(stores, call, [scope.local(n) for n in names], scope, node)
    for name, real, part in zip(names, reals, parts, strict=True):
        scope.values[name] = Tensor(real, part)


def with_rest(node: ast.If, rest: list[ast.stmt]) -> ast.If:
    """Return `if test: return a` with the statements after it as its other arm.

    A branch stays as it is if both of its arms return, or neither does.
    """
    returns = [_returns(arm) for arm in (node.body, node.orelse)]
    if returns[0] == returns[1] or not _returns(rest):
        return node
    arms = (node.body, [*node.orelse, *rest]) if returns[0] else ([*node.body, *rest], node.orelse)
    return ast.copy_location(ast.If(node.test, *arms), node)


def _returns(body: list[ast.stmt]) -> bool:
    """Return whether the last statement of a block returns on every path."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _returns(last.body) and _returns(last.orelse)
    return isinstance(last, ast.Return)


def arm(body: list[ast.stmt], scope: Scope, node: ast.AST) -> Arm:
    """Interpret one arm; it may change variables, parameters and buffers, and nothing in place."""
    returned, before = None, len(scope.stores)
    with unchanged(scope, node), scope.block() as written:
        try:
            scope.run.execute(body, scope)
        except Returned as result:
            returned = result.value
        except (Broken, Continued) as how:
            word = "break" if isinstance(how, Broken) else "continue"
            raise scope.refuse(
                f"a `{word}` in a branch on the value of a tensor: JAX traces every iteration of a "
                "loop; choose the result with torch.where",
                node,
            ) from None
    stores = scope.stores[before:]
    del scope.stores[before:]
    return Arm(written, dict(scope.values), returned, stores)


def _changed(
    before: dict[str, Value], then: Arm, otherwise: Arm, scope: Scope, node: ast.AST
) -> list[str]:
    """Return the variables that differ after the branch and have a value in both arms."""
    names = [
        n
        for n in [*then.values, *(k for k in otherwise.values if k not in then.values)]
        if any(arm.values.get(n) is not before.get(n) for arm in (then, otherwise))
    ]
    both = [n for n in names if n in then.values and n in otherwise.values]
    left, right = [then.values[n] for n in both], [otherwise.values[n] for n in both]
    _require_same(left, right, both, scope, node)
    return [n for n in both if isinstance(then.values[n], Tensor)]


def _require_same(
    left: list[Value], right: list[Value], names: list[str], scope: Scope, node: ast.AST
) -> None:
    """Raise if an arm gives a value of another type, shape or dtype than the other arm."""
    for a, b, name in zip(left, right, names, strict=True):
        if _type(a) != _type(b):
            raise scope.refuse(
                f"{name} is {_type(a)} in one arm of a branch on the value of a tensor and "
                f"{_type(b)} in the other"
                "; give it one shape and one dtype in both arms",
                node,
            )


def _type(value: Value) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.real.dtype).removeprefix('torch.')}{list(value.real.shape)}"
    if tensors_in(value):
        return " and ".join(_type(t) for t in tensors_in(value))
    return repr(real_of(value))


def _cond(
    test: Tensor,
    then: Arm,
    otherwise: Arm,
    results: tuple[list[ast.expr], list[ast.expr]],
    operands: list[str],
    stores: arm_stores.Stores,
    scope: Scope,
) -> ast.Call:
    """Emit the functions of both arms, and return the call of `lax.cond`."""
    locals_ = [*(scope.local(n) for n in operands), *stores.roots]
    labels: list[ast.expr] = []
    pairs = zip(results, (stores.then, stores.otherwise), strict=True)
    whole = [[*codes, *new] for codes, new in pairs]
    for arm, codes, word in zip((then, otherwise), whole, ("then", "otherwise"), strict=True):
        result = codes[0] if len(codes) == 1 else ast.Tuple(codes, ast.Load())
        body = cleaned([*arm.body, ast.Return(result)])
        function = syntax.function(word, locals_, body)
        if len(body) == 1:
            labels.append(ast.Lambda(function.args, result))
            continue
        function.name = scope.fresh(word)
        scope.emit(function)
        labels.append(syntax.name(function.name))
    code = (
        code_of(test)
        if test.real.ndim == 0
        else syntax.call(syntax.attribute(code_of(test), "squeeze"))
    )
    if test.real.dtype is not torch.bool:
        code = ast.Compare(code, [ast.NotEq()], [syntax.constant(0)])
    return syntax.call_helper(Helper.COND, code, *labels, *map(syntax.name, locals_))
