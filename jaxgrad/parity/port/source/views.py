"""Write a change of a view in torch as a new value of the variable that the view is part of."""

from __future__ import annotations

import ast
import copy

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.param_paths import is_params


def replaced(place: ast.expr, new: ast.expr, ndim: int) -> tuple[ast.Name | None, ast.expr]:
    """Return the name that a view is part of, and the whole value with the part replaced.

    Args:
        place: The expression of the view.
        new: The new value of the view.
        ndim: The number of dimensions of the view.
    """
    if isinstance(place, ast.Name):
        return place, new
    if isinstance(place, ast.Subscript):
        inner = syntax.attribute(place.value, "at")
        spot = ast.Subscript(inner, copy.deepcopy(place.slice), ast.Load())
        return replaced(place.value, syntax.call(syntax.attribute(spot, "set"), new), _UNKNOWN)
    if isinstance(place, ast.Attribute) and syntax.is_op(place, TRANSPOSED):
        return replaced(place.value, syntax.attribute(new, place.attr), _UNKNOWN)
    if not isinstance(place, ast.Call):
        return None, new
    if syntax.is_op(place, _SLICE):
        whole, start, _ = place.args
        axis = {k.arg or "": k.value for k in place.keywords}
        code = syntax.call("lax.dynamic_update_slice_in_dim", whole, new, start, **axis)
        return replaced(whole, code, _UNKNOWN)
    alone = len(place.args) == 1 and not place.keywords
    if syntax.is_op(place, _DIAGONAL) and alone and ndim == 1:
        keep = syntax.constant(False)  # of a matrix: its diagonal has one dimension
        code = syntax.call("jnp.fill_diagonal", place.args[0], new, inplace=keep)
        return replaced(place.args[0], code, _UNKNOWN)
    method = place.func
    if isinstance(method, ast.Attribute) and syntax.is_op(place, _SWAPPED):
        code = syntax.call(syntax.attribute(new, "swapaxes"), *place.args)
        return replaced(method.value, code, _UNKNOWN)
    if isinstance(method, ast.Attribute) and syntax.is_op(place, RESHAPED):
        if isinstance(method.value, ast.Name):
            shape = syntax.shape(method.value)
            return method.value, syntax.call(syntax.attribute(new, "reshape"), shape)
    return None, new


def is_part(code: ast.expr) -> bool:
    """Return whether an expression is a part of a variable, at places that are constants."""
    if isinstance(code, ast.Subscript):
        whole, places = code.value, [code.slice]
    elif isinstance(code, ast.Call) and syntax.is_op(code, (*_SLICE, *_DIAGONAL)):
        whole, places = code.args[0], [*code.args[1:], *(k.value for k in code.keywords)]
    else:
        return False
    if not isinstance(whole, ast.Name) or is_params(whole):
        return False
    return not any(map(syntax.names_in, places))


_UNKNOWN = -1
_SLICE, _DIAGONAL = ("getitem", "narrow"), ("diagonal",)  # a call: `lax.dynamic_slice_in_dim`
_SWAPPED = ("transpose",)
TRANSPOSED = ("t", "T", "mT", "H", "mH", "adjoint")  # an attribute: `x.T` or `x.mT`
RESHAPED = ("view", "reshape", "view_as", "reshape_as", "flatten", "unflatten")
