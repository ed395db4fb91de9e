"""Tensors that share memory in torch, and changes of them that torch does not record."""

from __future__ import annotations

import ast

import torch

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.binding import bind, stopped
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Tensor, Value


def shares(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors are in the same memory."""
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def current(value: Value, scope: Scope) -> Value:
    """Return a variable's value; if a call has changed it in place, the value after the call.

    After `y = relu(x)` in place, `x` has the value of `y`.
    """
    if not isinstance(value, Tensor) or not value.stale:
        return value
    same = (
        other
        for other in scope.values.values()
        if isinstance(other, Tensor) and not other.stale and isinstance(other.code, ast.Name)
    )
    return next((other for other in same if _is_same(other.real, value.real)), value)


def keep_change(value: Value, scope: Scope) -> None:
    """Give a variable that a call without an assignment has changed in place its new value."""
    if isinstance(value, Tensor):
        for name, old in list(scope.values.items()):
            if isinstance(old, Tensor) and old.stale and _is_same(old.real, value.real):
                bind(name, value, scope)
                return


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    same_layout = one.shape == other.shape and one.stride() == other.stride()
    return same_layout and one.dtype == other.dtype and one.data_ptr() == other.data_ptr()


def named(local: str, scope: Scope) -> str | None:
    """Return torch's name of a local variable of the port that holds a tensor."""
    for name, value in scope.values.items():
        if (
            isinstance(value, Tensor)
            and isinstance(value.code, ast.Name)
            and value.code.id == local
        ):
            return name
    return None


class Data(ast.NodeTransformer):
    """Read a variable itself where `x.data` of it, which is the same memory, is read."""

    def __init__(self, real: torch.Tensor, scope: Scope) -> None:
        self.real, self.scope, self.found = real, scope, False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        inner = syntax.inside_stop(node)
        if isinstance(inner, ast.Name):
            name = named(inner.id, self.scope)
            if name is not None and shares(self.scope.values[name].real, self.real):
                self.found = True
                return inner
        return self.generic_visit(node)


def unrecorded(old: Value, place: ast.Name, new: ast.expr) -> ast.expr:
    """Return the code of a change that torch does not record, in `no_grad` or through `x.data`.

    The changed value has the gradient of the old one.
    """
    if not isinstance(old, Tensor) or not old.real.requires_grad:
        return stopped(Tensor(old.real), new)
    function = ast.Lambda(syntax.function("_", [place.id], []).args, new)
    return syntax.call(syntax.call("jaxgrad.straight_through", function), syntax.name(place.id))


def require_no_parameter(changed: torch.Tensor, scope: Scope, node: ast.AST) -> None:
    """Require that a tensor which changes in place is not the memory of a trained parameter.

    Raises:
        PortError: It is, as in `self.weight.data *= self.mask`.
    """
    with torch._C.DisableTorchFunction():  # a mode that marks tensors is slow for many parameters
        name = next(
            (
                name
                for name, x in scope.run.module.named_parameters()
                if x.requires_grad and x.numel() and shares(changed, x)
            ),
            None,
        )
    if name is not None:
        raise scope.refuse(
            f"the parameter {name!r} is changed while the module runs, so the next call starts "
            "from another value; compute a changed copy and use it (`self.weight * mask`), or "
            "change the parameter after the optimizer's step; if only the first call changes "
            "it, run the module once before porting",
            node,
        )
