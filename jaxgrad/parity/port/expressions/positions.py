"""Numbers read from a tensor that the port keeps as arrays, such as the pointer of a queue.

`ptr = int(self.ptr)` has no value while JAX traces. It needs none where it is computed with, stored
again, and the start of slices of a fixed length, as in `self.queue[:, ptr : ptr + n] = keys`.
"""

from __future__ import annotations

import ast

import torch

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Items, Size, Span, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def position(value: Value, node: ast.AST, scope: Scope) -> Tensor | None:
    """Return the integer that a call reads from a tensor, or None if the port needs its number.

    Args:
        value: The tensor.
        node: The call, such as `int(self.ptr)`.
        scope: The function with the call.
    """
    if not isinstance(value, Tensor) or value.real.numel() != 1 or not _is_integer(value.real):
        return None
    if not _Uses(scope.source.node).need_no_number(node):
        return None
    code = code_of(value)
    for _ in range(value.real.ndim):
        code = syntax.item(code, 0)
    return Tensor(value.real.detach().clone().reshape(()), code)


def _is_integer(x: torch.Tensor) -> bool:
    return not (x.is_floating_point() or x.is_complex() or x.dtype is torch.bool)


def span(node: ast.Slice, start: Value, scope: Scope) -> Span | None:
    """Return the slice that begins at a tensor, or None if its length is not fixed."""
    length = _Uses(scope.source.node).length(node)
    if length is None or node.upper is None:
        return None
    count = scope.run.evaluate(length, scope)
    if not isinstance(count, Folded | Size) or type(count.real) is not int:
        return None
    first = int(real_of(start))
    return Span(slice(first, first + count.real), None, start, count, syntax.text(node.upper))


def axis_of(owner: Value, key: Value, scope: Scope, node: ast.AST) -> tuple[int, Span] | None:
    """Return the axis on which a slice in an index begins at a tensor, and the slice, or None.

    Raises:
        PortError: The index has other parts than whole slices, or it is not that of a tensor.
    """
    parts = key.items if isinstance(key, Items) and key.code is None else [key]
    found = [(axis, x) for axis, x in enumerate(parts) if isinstance(x, Span)]
    if not found:
        return None
    others = [real_of(x) for x in parts if not isinstance(x, Span)]
    if len(found) > 1 or any(x != slice(None) for x in others) or not isinstance(owner, Tensor):
        raise scope.refuse(
            "a slice that begins at a tensor, beside another index; slice one axis alone", node
        )
    axis, part = found[0]
    if isinstance(node, ast.Subscript):  # where it does not fit, JAX moves its start
        scope.assume(node, f"{part.end} <= {syntax.text(node.value)}.shape[{axis}]")
    return axis, part


class _Uses:
    """The uses of numbers in a function of torch.

    Attributes:
        function: The function.
        parents: What each node is a part of.
        names: The variables that hold a number which the port does not know.
    """

    def __init__(self, function: ast.AST) -> None:
        self.function = function
        self.parents = {
            child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)
        }
        self.names: set[str] = set()

    def need_no_number(self, node: ast.AST) -> bool:
        """Return whether what is made of an expression is right if it is an array."""
        match parent := self.parents.get(node):
            case ast.BinOp(_, ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod(), _):
                return self.need_no_number(parent)
            case ast.Call(ast.Name("int"), [_], []) if node in parent.args:
                return self.need_no_number(parent)
            case ast.Slice():
                return node is not parent.step and self.length(parent) is not None
            case ast.Assign(targets):
                return all(map(self._holds, targets))
            case ast.AugAssign(target) if node is parent.value:
                return self._holds(target)
            case ast.Tuple(parts):
                return self._unpacked(parts.index(node), parent)  # pyright: ignore[reportArgumentType]
        return False

    def _unpacked(self, number: int, parts: ast.Tuple) -> bool:
        """Return whether an element of `n, ptr = keys.shape[0], int(self.ptr)` may be an array."""
        match self.parents.get(parts):
            case ast.Assign([ast.Tuple(targets)]) if len(targets) == len(parts.elts):
                return self._holds(targets[number])
        return False

    def _holds(self, target: ast.expr) -> bool:
        """Return whether the target of an assignment may hold an array."""
        if isinstance(target, ast.Subscript):
            return True  # an element of a tensor
        if not isinstance(target, ast.Name):
            return False
        if target.id in self.names:
            return True
        self.names.add(target.id)
        uses = [n for n in ast.walk(self.function) if syntax.is_name(n, target.id)]
        return all(self.need_no_number(n) for n in uses if isinstance(n.ctx, ast.Load))

    def length(self, node: ast.Slice) -> ast.expr | None:
        """Return the length of `x[start : start + length]`, which may have a name for its end."""
        start, end = node.lower, node.upper
        if isinstance(end, ast.Name) and isinstance(start, ast.Name):
            once = [self._assigned(x.id) for x in (start, end)]
            end = once[1] if None not in once else None
        if start is None or not isinstance(end, ast.BinOp) or not isinstance(end.op, ast.Add):
            return None
        for one, other in ((end.left, end.right), (end.right, end.left)):
            if syntax.same(one, start) and not self.names & set(syntax.names_in(other)):
                return other
        return None

    def _assigned(self, name: str) -> ast.expr | None:
        """Return the value of a variable that is assigned once, or None for other ones."""
        stores = [n for n in ast.walk(self.function) if syntax.is_name(n, name)]
        stores = [n for n in stores if isinstance(n.ctx, ast.Store)]
        parent = self.parents[stores[0]] if len(stores) == 1 else None
        if isinstance(parent, ast.Tuple) and isinstance(self.parents[parent], ast.Assign):
            value = self.parents[parent].value  # pyright: ignore[reportAttributeAccessIssue]
            if isinstance(value, ast.Tuple) and len(value.elts) == len(parent.elts):
                return value.elts[parent.elts.index(stores[0])]
        return parent.value if isinstance(parent, ast.Assign) else None
