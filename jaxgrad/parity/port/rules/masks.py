"""Masks that depend on sizes alone, which the port makes with numpy while JAX traces.

An index by a mask has as many values as the mask has ones, so JAX has to know the mask when it
traces. `torch.eye(n, dtype=torch.bool)` is known then, and `np.eye(n, dtype=bool)` writes it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.rules.creation import CASTS
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.views import RESHAPED, TRANSPOSED
from jaxgrad.parity.port.values.fixed import is_fixed
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Size, Tensor
from jaxgrad.parity.port.values.values import code_of


class _Unknown(Exception):
    """An expression has no counterpart in numpy that is the same while JAX traces."""


def traced_mask(mask: Tensor, scope: Scope, node: ast.AST) -> ast.expr:
    """Return the code of a mask with a value while JAX traces.

    Raises:
        PortError: The mask depends on values, or numpy cannot make it.
    """
    if not is_fixed(mask.real):
        raise _refusal(scope, node, "a mask as an index makes a size that depends on values")
    try:
        return _in_numpy(code_of(mask), scope, len(scope.body))
    except _Unknown:
        reason = (
            "this mask as an index depends on sizes alone, but it is not made by operators that "
            "numpy has too in the function that uses it"
        )
        raise _refusal(scope, node, reason) from None


def _refusal(scope: Scope, node: ast.AST, reason: str) -> PortError:
    return scope.refuse(f"{reason}; use torch.where", node)


def _in_numpy(code: ast.expr, scope: Scope, end: int) -> ast.expr:
    """Return an expression in numpy, as it is before the statement number `end` of the scope."""

    def inner(part: ast.expr) -> ast.expr:
        return _in_numpy(part, scope, end)

    if on_expression(code).numpy or _is_known(code, scope):
        return code
    if isinstance(code, ast.Name):
        return _variable(code, scope, end)
    if isinstance(code, ast.UnaryOp):
        return ast.UnaryOp(code.op, inner(code.operand))
    if isinstance(code, ast.BinOp) and isinstance(code.op, _EXACT):
        return ast.BinOp(inner(code.left), code.op, inner(code.right))
    if isinstance(code, ast.Compare):
        return ast.Compare(inner(code.left), code.ops, [inner(x) for x in code.comparators])
    if isinstance(code, ast.Subscript) and _is_known(code.slice, scope):
        return ast.Subscript(inner(code.value), code.slice, ast.Load())
    if isinstance(code, ast.Attribute) and syntax.is_op(code, TRANSPOSED):
        return ast.Attribute(inner(code.value), code.attr, ast.Load())
    if isinstance(code, ast.Call):
        return _call(code, scope, inner)
    raise _Unknown


def _call(code: ast.Call, scope: Scope, inner: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """Return a call of a function or a method that numpy has too."""
    keywords = {k.arg or "": k.value for k in code.keywords}
    if not all(_is_known(x, scope) for x in keywords.values()):
        raise _Unknown
    op = on_expression(code).computes
    name = "array" if syntax.calls(code, Helper.ARRAY) else "" if op is None else op.name
    if name in _FILLED:
        dtype = {"dtype": syntax.dtype_of(code.args[0])}
        shape = syntax.shape(code.args[0])
        if not isinstance(code.args[0], ast.Name):
            raise _Unknown
        return _numpy(syntax.call(_FILLED[name], shape, *code.args[1:], **dtype | keywords))
    if name in _FUNCTIONS:
        return _numpy(syntax.call(_FUNCTIONS[name], *map(inner, code.args), **keywords))
    if isinstance(code.func, ast.Attribute) and name in _METHODS:
        if all(_is_known(x, scope) for x in code.args):
            method = ast.Attribute(inner(code.func.value), code.func.attr, ast.Load())
            return _numpy(ast.Call(method, code.args, code.keywords))
    raise _Unknown


def _numpy(call: ast.Call) -> ast.Call:
    on_expression(call).numpy = True
    return call


def _variable(code: ast.Name, scope: Scope, end: int) -> ast.expr:
    """Return a mask whose assignment becomes numpy's, or what is assigned to another variable."""
    for number in reversed(range(end)):
        statement = scope.body[number]
        if code.id not in syntax.assigned(statement):
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
            raise _Unknown
        value = _in_numpy(statement.value, scope, number)
        if _is_bool(code.id, scope):
            statement.value = value
            return code
        later = scope.body[number:end]  # the dtype of numpy may differ, so that only masks stay
        if any(set(syntax.names_in(value)) & syntax.assigned(x) for x in later):
            raise _Unknown
        return value
    raise _Unknown


def _is_bool(local: str, scope: Scope) -> bool:
    found = _value(local, scope)
    return isinstance(found, Tensor) and syntax.DTYPES.get(found.real.dtype) == "bool"


def _value(local: str, scope: Scope) -> object:
    """Return the value of a local variable of the port."""
    values = scope.values.values()
    return next((x for x in values if syntax.is_name(x.code, local)), None)


def _is_known(code: ast.expr, scope: Scope) -> bool:
    """Return whether JAX knows the value of an expression when it traces: a number or a shape."""
    if isinstance(code, ast.Attribute) and on_expression(code).array_property is not None:
        return isinstance(code.value, ast.Name)
    if isinstance(code, ast.Constant) or on_expression(code).dtype:
        return True
    if isinstance(code, ast.Name):
        return isinstance(_value(code.id, scope), Size | Folded) or code.id in scope.indices
    if isinstance(code, ast.Tuple | ast.List | ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Slice):
        parts = [x for x in ast.iter_child_nodes(code) if isinstance(x, ast.expr)]
        return all(_is_known(x, scope) for x in parts)
    return False


_EXACT = (
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor,
)  # fmt: skip
# torch's operators, whose code in JAX has the arguments of these functions and methods of numpy.
_FILLED = {
    "ones_like": "np.ones",
    "zeros_like": "np.zeros",
    "full_like": "np.full",
    "zero": "np.zeros",
    "fill": "np.full",
}
_FUNCTIONS = {
    "eye": "np.eye", "ones": "np.ones", "zeros": "np.zeros", "full": "np.full",
    "new_ones": "np.ones", "new_zeros": "np.zeros", "new_full": "np.full", "arange": "np.arange",
    "tril": "np.tril", "triu": "np.triu", "roll": "np.roll", "cat": "np.concatenate",
    "stack": "np.stack", "repeat": "np.tile", "tile": "np.tile", "repeat_interleave": "np.repeat",
    "logical_not": "np.logical_not", "logical_and": "np.logical_and",
    "logical_or": "np.logical_or", "array": "np.array", "outer": "np.outer",
}  # fmt: skip
_METHODS = (*CASTS, *RESHAPED, "transpose", "permute", "sum")
