"""Interpret augmented assignments, such as `x += y` and `x[ids] += y`."""

from __future__ import annotations

import ast
import copy
from typing import Any

from jaxgrad.parity.port.calls import inplace, memory
from jaxgrad.parity.port.expressions import arithmetic, indexing
from jaxgrad.parity.port.functions import rearranging
from jaxgrad.parity.port.statements.assignments import store
from jaxgrad.parity.port.values.lengths import is_counted
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Items, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def augmented(node: ast.AugAssign, scope: Scope) -> None:
    """Interpret `x += y`, where `x` is a variable, an attribute or an element."""
    target = node.target
    if isinstance(target, ast.Subscript):
        owner = scope.run.evaluate(target.value, scope)
        key = scope.run.evaluate(target.slice, scope)
        if isinstance(owner, Tensor) and _is_copy(owner, key):
            _change_copy(owner, key, node, scope)
            return
        left = indexing.index(owner, key, scope, target)
    else:
        load = copy.copy(target)
        load.ctx = ast.Load()
        left = scope.run.evaluate(load, scope)
    right = scope.run.evaluate(node.value, scope)
    if isinstance(left, Tensor):
        rearranging.note_operator("AugAssign", scope)
        inplace.augmented(left, node.op, right, scope, node)
    elif isinstance(left, Items) and left.real is list:
        if isinstance(right, Items) and not right.items and not is_counted(right, scope):
            return
        if left.code is None:
            left.items += indexing.iterate(right, scope, node)
            return
        left.items += indexing.elements(right, scope, node)
        left.counted = left.counted or is_counted(right, scope)
        scope.emit(ast.AugAssign(_stored(code_of(left)), node.op, code_of(right)))
    else:
        store(target, arithmetic.binary(node.op, left, right, scope, node), scope)


def _is_copy(owner: Tensor, key: Value) -> bool:
    """Return whether elements of a tensor are a copy, as with indices or a mask."""
    return not memory.shares(owner.real[real_of(key)], owner.real)


def _change_copy(owner: Tensor, key: Value, node: ast.AugAssign, scope: Scope) -> None:
    """Interpret `x[ids] += y`, which puts the changed copy back into `x`."""
    right = scope.run.evaluate(node.value, scope)
    if inplace.is_mask(key):
        whole = arithmetic.binary(node.op, owner, right, scope, node)
        assert isinstance(whole, Tensor)
        inplace.set_masked(owner, key, right, whole, scope, node)
        return
    left = indexing.index(owner, key, scope, node)
    inplace.set_item(owner, key, arithmetic.binary(node.op, left, right, scope, node), scope, node)


def _stored(code: ast.expr) -> Any:
    code.ctx = ast.Store()  # pyright: ignore[reportAttributeAccessIssue]
    return code
