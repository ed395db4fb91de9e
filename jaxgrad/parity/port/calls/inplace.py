"""Re-express what torch changes in place: the name gets a new value.

Every other name of the same memory is then out of date. Reading one is refused, because JAX's
arrays share no memory.
"""

from __future__ import annotations

import ast
from typing import Any

import torch

from jaxgrad.parity.port.calls.elements import renew
from jaxgrad.parity.port.calls.memory import Data, named, require_no_parameter, shares, unrecorded
from jaxgrad.parity.port.expressions import operators
from jaxgrad.parity.port.expressions.positions import axis_of
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.param_paths import is_params
from jaxgrad.parity.port.source.refusals import OutOfReach
from jaxgrad.parity.port.source.views import replaced
from jaxgrad.parity.port.values import state
from jaxgrad.parity.port.values.binding import stopped
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Fields, Items, Span, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def augmented(
    left: Tensor, op: ast.operator, right: Value, scope: Scope, node: ast.AugAssign
) -> None:
    """Write `x += y`: in torch it changes x's memory."""
    _require_own(left, scope, node)
    code = operators.binary_code(op, left, right)
    compute = operators.IN_PLACE[type(op)]
    real = compute(left.real, real_of(right))
    if isinstance(node.target, ast.Name) and isinstance(left.code, ast.Name) and type(op) in _PLAIN:
        if scope.no_grad:
            scope.emit(ast.Assign([_store(left.code)], unrecorded(left, left.code, code)))
        else:
            scope.emit(ast.AugAssign(_store(left.code), op, _right(code)))
        _outdate(real, scope, keep=left.code.id, node=node)
        changed = Tensor(real, syntax.name(left.code.id), view=left.view)
        scope.values[node.target.id] = changed
        _write_through(changed, scope, node)
        renew(changed, scope)
        return
    write(left, code, real, scope, node)


def _right(code: ast.expr) -> ast.expr:
    return code.right if isinstance(code, ast.BinOp) else code


_PLAIN = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def set_item(owner: Tensor, key: Value, value: Value, scope: Scope, node: ast.AST) -> None:
    """Write `x[key] = value`."""
    found = axis_of(owner, key, scope, node)
    if found is not None:
        _set_span(owner, *found, value, scope, node)
        return
    mask = _mask(key)
    value = _without_leading_ones(value, owner.real[real_of(key)].ndim)
    owner.real[real_of(key)] = real_of(value)
    if mask is not None and not _has_value_for_each(value, mask, owner):
        code = _where(owner, mask, code_of(value))
    elif mask is not None:
        raise scope.refuse(
            "a masked assignment of as many values as the mask has; use torch.where", node
        )
    else:
        place = ast.Subscript(syntax.attribute(code_of(owner), "at"), code_of(key), ast.Load())
        code = syntax.call(syntax.attribute(place, "set"), code_of(value))
    write(owner, code, owner.real, scope, node)


def _set_span(
    owner: Tensor, axis: int, part: Span, value: Value, scope: Scope, node: ast.AST
) -> None:
    """Write `x[start : start + n] = value`, where `start` is a tensor."""
    place = owner.real[(slice(None),) * axis + (part.real,)]
    if not isinstance(value, Tensor) or (place.shape, place.dtype) != (
        value.real.shape, value.real.dtype
    ):  # fmt: skip
        raise scope.refuse(
            "a slice that begins at a tensor gets a value of another shape or dtype"
            "; expand the value to the slice",
            node,
        )
    place.copy_(value.real)
    code = syntax.call(
        "lax.dynamic_update_slice_in_dim", code_of(owner), code_of(value), code_of(part.start),
        axis=syntax.literal(axis),
    )  # fmt: skip
    write(owner, code, owner.real, scope, node)


def _without_leading_ones(value: Value, ndim: int) -> Value:
    """Leave out the axes of size 1 that a value has before those of the place where it is put."""
    extra = value.real.ndim - ndim if isinstance(value, Tensor) else 0
    if extra <= 0:
        return value
    zeros: list[ast.expr] = [syntax.constant(0) for _ in range(extra)]
    index = zeros[0] if extra == 1 else ast.Tuple(zeros, ast.Load())
    real = value.real.reshape(value.real.shape[extra:])
    return Tensor(real, ast.Subscript(code_of(value), index, ast.Load()))


def set_masked(
    owner: Tensor, mask: Value, right: Value, whole: Tensor, scope: Scope, node: ast.AST
) -> None:
    """Write `x[mask] += y`, where `whole` is `x + y`.

    Raises:
        PortError: `y` has a value for each element that the mask chooses.
    """
    assert isinstance(mask, Tensor)
    if _has_value_for_each(right, mask, owner):
        raise scope.refuse(
            "a masked assignment of as many values as the mask has; use torch.where", node
        )
    code = _where(owner, mask, code_of(whole))
    owner.real[mask.real] = whole.real[mask.real]
    write(owner, code, owner.real, scope, node)


def _has_value_for_each(value: Value, mask: Tensor, owner: Tensor) -> bool:
    """Return whether a value differs between the places that a mask chooses."""
    if not isinstance(value, Tensor) or value.real.numel() == 1:
        return False
    inside = owner.real.ndim - mask.real.ndim  # dimensions of each place
    return any(n != 1 for n in value.real.shape[: value.real.ndim - inside])


def is_mask(key: Value) -> bool:
    return _mask(key) is not None


def _mask(key: Value) -> Tensor | None:
    if isinstance(key, Tensor) and key.real.dtype is torch.bool:
        return key
    return None


def _where(owner: Tensor, mask: Tensor, value: ast.expr) -> ast.expr:
    code = code_of(mask)
    missing = owner.real.ndim - mask.real.ndim
    if missing:
        parts: list[ast.expr] = [
            syntax.constant(...),
            *(syntax.constant(None) for _ in range(missing)),
        ]
        code = ast.Subscript(code, ast.Tuple(parts, ast.Load()), ast.Load())
    return syntax.call("jnp.where", code, value, code_of(owner))


def write(target: Tensor, code: ast.expr, real: torch.Tensor, scope: Scope, node: ast.AST) -> Value:
    """Give a tensor a new value: assign its name, or the part of the name that it is a view of."""
    if syntax.same(code, code_of(target)):
        return target  # `requires_grad_` changes no number
    _require_own(target, scope, node)
    if state.is_leaf(target.code):
        if scope.no_grad or not torch.is_grad_enabled():  # in a caller of the function
            code = stopped(Tensor(real), code)
        state.store(code_of(target), code, scope, node)
        return Tensor(real, code_of(target))
    data = Data(real, scope)
    own = data.visit(code_of(target))
    place, new = replaced(own, data.visit(code) if data.found else code, real.ndim)
    base = None if place is None else named(place.id, scope)
    if place is None or base is None or not shares(scope.values[base].real, real):
        _outdate(real, scope, keep="", node=node)
        return renew(Tensor(real, stopped(Tensor(real), code) if scope.no_grad else code), scope)
    if scope.no_grad or data.found:
        new = unrecorded(scope.values[base], place, new)
    scope.emit(ast.Assign([_store(place)], new))
    _outdate(real, scope, keep=place.id, node=node)
    changed = Tensor(scope.values[base].real, syntax.name(place.id), view=_view(base, scope))
    scope.values[base] = changed
    _write_through(changed, scope, node)
    return renew(Tensor(real, own, view=changed.view), scope)


def _require_own(target: Tensor, scope: Scope, node: ast.AST) -> None:
    """Require that a buffer which changes in place is not an argument of the function.

    Raises:
        OutOfReach: It is one; the function has to be interpreted where it is called.
    """
    require_no_parameter(target.real, scope, node)
    code = target.code
    while isinstance(code, ast.Subscript | ast.Attribute):
        code = code.value
    if not isinstance(code, ast.Name) or is_params(code) or code.id not in scope.passed:
        return
    if scope.code is None or scope.run.classes is not None or state.is_leaf(target.code):
        return
    if any(shares(target.real, x) for x in scope.run.module.buffers() if x.numel()):
        raise OutOfReach(
            "a buffer that is an argument is changed; change it where the module is known",
            scope.place(node),
            scope.code,
        )


def _view(name: str, scope: Scope) -> ast.expr | None:
    value = scope.values[name]
    return value.view if isinstance(value, Tensor) else None


def _write_through(changed: Tensor, scope: Scope, node: ast.AST) -> None:
    """Give the variable that a changed variable is a part of its new value too."""
    if changed.view is None:
        return
    if state.is_leaf(changed.view):
        new = code_of(changed)
        if not scope.no_grad and not torch.is_grad_enabled():  # in a caller of the function
            new = stopped(changed, new)
        state.store(changed.view, new, scope, node)
        return
    place, new = replaced(changed.view, code_of(changed), changed.real.ndim)
    base = None if place is None else named(place.id, scope)
    if place is None or base is None:
        return
    whole = scope.values[base]
    if not isinstance(whole, Tensor) or not shares(whole.real, changed.real):
        return
    if scope.no_grad:
        new = unrecorded(whole, place, new)
    scope.emit(ast.Assign([_store(place)], new))
    scope.values[base] = Tensor(whole.real, syntax.name(place.id), view=whole.view)
    _write_through(scope.values[base], scope, node)  # pyright: ignore[reportArgumentType]


def _store(code: Any) -> ast.Name:
    return ast.Name(code.id, ast.Store())


def _outdate(changed: torch.Tensor, scope: Scope, keep: str, node: ast.AST) -> None:
    """Mark every other value of the same memory as out of date."""
    memory, line = changed.untyped_storage().data_ptr(), scope.place(node).line
    variables = [(s, name, x) for s in scope.run.scopes for name, x in s.values.items()]
    attributes = [(s, n, x) for own in scope.run.stored.values() for n, (x, s) in own.items()]
    for other, name, value in (*variables, *attributes):
        kept = other is scope and syntax.is_name(value.code, keep)
        if not kept:
            _mark(value, memory, f"{name!r} shares memory with a tensor that line {line} "
                  "changes in place; copy one of them first")  # fmt: skip


def _mark(value: Value, memory: int, why: str) -> None:
    if isinstance(value, Tensor) and value.real.untyped_storage().data_ptr() == memory:
        value.outdate(why)
    elif isinstance(value, Items):
        for item in value.items:
            _mark(item, memory, why)
    elif isinstance(value, Fields):
        for item in value.fields.values():
            _mark(item, memory, why)
