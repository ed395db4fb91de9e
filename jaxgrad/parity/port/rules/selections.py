"""Operators that select values: indices, slices, masks and windows."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import torch

from jaxgrad.parity.port.expressions.positions import axis_of
from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.rules.masks import traced_mask
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.value_types import Folded, Items, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def _getitem(op: Operation) -> ast.expr:
    key = op.args[1]
    found = axis_of(op.args[0], key, op.scope, op.node)
    if found is not None:
        start, length = code_of(found[1].start), code_of(found[1].length)
        axis = syntax.literal(found[0])
        return syntax.call("lax.dynamic_slice_in_dim", op.input, start, length, axis=axis)
    parts = key.items if isinstance(key, Items) and key.real is tuple and not key.code else [key]
    slices = [_slice_of(x) for x in parts]
    others = [x for x, found in zip(parts, slices, strict=True) if found is None]
    if len(others) == len(parts) - 1 and all(map(_is_basic, others)):
        codes = [found or code_of(x) for x, found in zip(parts, slices, strict=True)]
        index = codes[0] if parts[0] is key else ast.Tuple(codes, ast.Load())
        return ast.Subscript(op.input, index, ast.Load())
    return ast.Subscript(op.input, _index(key, op), ast.Load())


def _is_basic(key: Value) -> bool:
    """Return whether a part of an index takes a whole range: a slice, `...` or None."""
    real = real_of(key)
    return real is None or real is ... or isinstance(real, slice)


def _slice_of(key: Value) -> ast.Slice | None:
    """Return `2:3` for the list `[2]` and `-1:` for `[-1]`; None for every other index."""
    parts = key.items if isinstance(key, Items) and key.real is list else []
    place = parts[0].real if len(parts) == 1 and isinstance(parts[0], Folded) else None
    if type(place) is not int:
        return None
    return ast.Slice(syntax.literal(place), None if place == -1 else syntax.literal(place + 1))


def _index(key: Value, op: Operation) -> ast.expr:
    """Return an index; JAX takes arrays where torch also takes lists."""
    if isinstance(key, Tensor) and key.real.dtype is torch.bool:
        return traced_mask(key, op.scope, op.node)
    if isinstance(key, Items) and key.real is list:
        return syntax.call_helper(Helper.ARRAY, code_of(key))
    if isinstance(key, Items) and key.code is None:
        return ast.Tuple([_index(x, op) for x in key.items], ast.Load())
    if isinstance(real_of(key), list):
        return syntax.call_helper(Helper.ARRAY, code_of(key))
    return code_of(key)


def _narrow(op: Operation) -> ast.expr:
    return syntax.call(
        "lax.dynamic_slice_in_dim", op.input, op.code(2, "start"), op.code(3, "length"),
        axis=op.code(1, "dim"),
    )  # fmt: skip


def _select(op: Operation) -> ast.expr:
    dim = op.axis(op.get(1, "dim"))
    parts: list[ast.expr] = [ast.Slice() for _ in range(dim)]
    index = ast.Tuple([*parts, op.code(2, "index")], ast.Load()) if parts else op.code(2, "index")
    return ast.Subscript(op.input, index, ast.Load())


def _masked_fill(op: Operation) -> ast.expr:
    return syntax.call("jnp.where", op.code(1, "mask"), op.code(2, "value"), op.input)


def _where(op: Operation) -> ast.expr:
    if len(op.args) + len(op.keywords) < 3:
        raise op.refuse(
            "where with one argument makes a size that depends on values"
            "; use torch.where(mask, x, y)"
        )
    if op.function is torch.Tensor.where:  # `x.where(condition, other)`
        return syntax.call("jnp.where", op.code(1, "condition"), op.input, op.code(2, "other"))
    condition = op.code(0, "condition") if op.args else code_of(op.keywords["condition"])
    return syntax.call("jnp.where", condition, op.code(1, "input"), op.code(2, "other"))


def _windows(op: Operation) -> ast.expr:
    """Write `x.unfold(dim, size, step)`: each window is a slice, along a new last dimension."""
    assert op.shape is not None
    dim, source = op.axis(op.get(1, "dimension")), op.once()
    size, step = op.code(2, "size"), op.code(3, "step")
    length = syntax.item(syntax.shape(source), dim)
    end = ast.BinOp(ast.BinOp(length, ast.Sub(), size), ast.Add(), syntax.constant(1))
    starts = syntax.call("jnp.arange", syntax.constant(0), end, step)
    column = ast.Subscript(
        starts, ast.Tuple([ast.Slice(), syntax.constant(None)], ast.Load()), ast.Load()
    )
    index = ast.BinOp(column, ast.Add(), syntax.call("jnp.arange", op.code(2, "size")))
    places = op.scope.assign(op.scope.fresh("windows"), index)
    taken = syntax.call("jnp.take", source, places, axis=syntax.literal(dim))
    if dim == len(op.shape) - 1:
        return taken
    return syntax.call("jnp.moveaxis", taken, syntax.literal(dim + 1), syntax.literal(-1))


def _fill_diagonal(op: Operation) -> ast.expr:
    if op.get(2, "wrap", False):
        raise op.refuse("fill_diagonal_ with wrap=True; fill the rows that wrap by an index")
    value = op.code(1, "fill_value")
    return syntax.call("jnp.fill_diagonal", op.input, value, inplace=syntax.constant(False))


RULES: dict[str, Callable[[Operation], Any]] = {
    "getitem": _getitem, "narrow": _narrow, "select": _select, "masked_fill": _masked_fill,
    "where": _where, "windows": _windows,
    "fill_diagonal": _fill_diagonal,
}  # fmt: skip
