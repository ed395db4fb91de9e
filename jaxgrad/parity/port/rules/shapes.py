"""Operators that rearrange values: views, joins, indexing."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable
from typing import Any

import torch

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.lengths import depends_on_sizes, is_counted, require
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.values import Items, Size, Tensor, Value, code_of, lift, real_of


def _same(op: Operation) -> Value | ast.expr:
    """Return the argument itself; a copy shares no memory with it."""
    return op.input


def _reshape(op: Operation) -> ast.expr:
    second = op.value(1, "size")
    if second is not None and isinstance(real_of(second), torch.dtype):
        return syntax.call("lax.bitcast_convert_type", op.input, code_of(second))
    parts = op.parts(1, "size" if "size" in op.keywords else "shape")
    return syntax.call(syntax.attribute(op.input, "reshape"), *parts)


def _like(op: Operation) -> ast.expr:
    other = op.value(1, "other")
    assert other is not None
    shape = syntax.attribute(code_of(other), "shape")
    if op.name == "expand_as":
        return syntax.call("jnp.broadcast_to", op.input, shape)
    return syntax.call(syntax.attribute(op.input, "reshape"), shape)


def _permute(op: Operation) -> ast.expr:
    return syntax.call(syntax.attribute(op.input, "transpose"), *op.parts(1, "dims"))


def _transpose(op: Operation) -> ast.expr:
    dims = op.code(1, "dim0"), op.code(2, "dim1")
    return syntax.call(syntax.attribute(op.input, "swapaxes"), *dims)


def _t(op: Operation) -> ast.expr:
    return syntax.attribute(op.input, "T")


def _mt(op: Operation) -> ast.expr:
    return syntax.attribute(op.input, "mT")


def _adjoint(op: Operation) -> ast.expr:
    code = syntax.call("jnp.conj", op.input) if op.real.is_complex() else op.input
    return syntax.attribute(code, "T" if op.name == "H" else "mT")


def _unsqueeze(op: Operation) -> ast.expr:
    return syntax.call("jnp.expand_dims", op.input, op.code(1, "dim"))


def _squeeze(op: Operation) -> ast.expr:
    assert op.shape is not None
    if op.value(1, "dim") is None:
        return syntax.call(syntax.attribute(op.input, "squeeze"))
    dims = op.get(1, "dim")
    dims = [dims] if isinstance(dims, int) else list(dims)
    ones = [d for d in dims if op.shape[d] == 1]
    if len(ones) < len(dims) and is_counted(op.args[0], op.scope):
        op.args[0] = Tensor(op.args[0].real, op.once())
        for d in dims:
            if d not in ones:
                length = syntax.item(syntax.attribute(op.input, "shape"), d)
                test = ast.Compare(length, [ast.NotEq()], [syntax.constant(1)])
                require(test, op.scope, op.node)
    if not ones:
        return op.input
    axis = syntax.literal(ones[0] if len(ones) == 1 else tuple(ones))
    return syntax.call(syntax.attribute(op.input, "squeeze"), axis=axis)


def _flatten(op: Operation) -> ast.expr:
    assert op.shape is not None
    start, end = op.axis(op.get(1, "start_dim", 0)), op.axis(op.get(2, "end_dim", -1))
    if start == end:
        return op.input
    source = op.input if end - start + 1 == len(op.shape) else op.once()
    shape = syntax.attribute(source, "shape")
    front = [syntax.item(shape, n) for n in range(start)]
    back = [syntax.item(shape, n) for n in range(end + 1, len(op.shape))]
    return syntax.call(syntax.attribute(source, "reshape"), *front, syntax.literal(-1), *back)


def _unflatten(op: Operation) -> ast.expr:
    assert op.shape is not None
    dim, source = op.axis(op.get(1, "dim")), op.once()
    shape = syntax.attribute(source, "shape")
    front = [syntax.item(shape, n) for n in range(dim)]
    back = [syntax.item(shape, n) for n in range(dim + 1, len(op.shape))]
    return syntax.call(syntax.attribute(source, "reshape"), *front, *op.parts(2, "sizes"), *back)


def _expand(op: Operation) -> ast.expr:
    assert op.shape is not None
    sizes = op.tail(1, "size")
    numbers, parts = list(real_of(sizes)), op.parts(1, "size")
    if len(parts) != len(numbers):
        return syntax.call("jnp.broadcast_to", op.input, ast.Tuple(parts, ast.Load()))
    source, missing = op.input, len(numbers) - len(op.shape)
    kept = [n for n, number in enumerate(numbers) if number == -1]
    if kept:
        source = op.once()
        op.args[0] = Tensor(op.args[0].real, source)
        shape = syntax.attribute(source, "shape")
        if len(kept) > 1 and kept == list(range(kept[0], len(numbers))):
            parts[kept[0] :] = [ast.Starred(_from(shape, kept[0] - missing), ast.Load())]
        else:
            for n in kept:
                parts[n] = syntax.item(shape, n - missing)
    return syntax.call("jnp.broadcast_to", source, ast.Tuple(parts, ast.Load()))


def _from(shape: ast.expr, first: int) -> ast.expr:
    """Return the sizes of a shape from one of its dims on."""
    if first == 0:
        return shape
    return ast.Subscript(shape, ast.Slice(syntax.constant(first)), ast.Load())


def _repeat(op: Operation) -> ast.expr:
    return syntax.call("jnp.tile", op.input, ast.Tuple(op.parts(1, "repeats"), ast.Load()))


def _cat(op: Operation) -> ast.expr:
    return syntax.call("jnp.concatenate", op.code(0, "tensors"), axis=op.code(1, "dim", 0))


def _stack(op: Operation) -> ast.expr:
    dim = op.code(1, "dim", 0)
    if op.get(1, "dim", 0) == 0:
        return syntax.call("jnp.stack", op.code(0, "tensors"))
    return syntax.call("jnp.stack", op.code(0, "tensors"), axis=dim)


def _unbind(op: Operation) -> ast.expr:
    return _parts_of(op, syntax.call("jnp.unstack", op.input, axis=op.code(1, "dim", 0)))


def _parts_of(op: Operation, code: ast.expr) -> ast.expr:
    """Mark the parts of a tensor, whose number depends on a size."""
    whole = op.args[0] if op.args else op.keywords["input"]
    code.__dict__["counted"] = is_counted(whole, op.scope)
    return code


def _chunk(op: Operation) -> ast.expr:
    assert op.shape is not None
    dim, count = op.get(2, "dim", 0), op.value(1, "chunks")
    assert count is not None
    if op.shape[dim] % count.real:
        source = op.once()
        whole = syntax.item(syntax.attribute(source, "shape"), dim)
        rounded = ast.BinOp(ast.UnaryOp(ast.USub(), whole), ast.FloorDiv(), op.code(1, "chunks"))
        size = op.scope.once(ast.UnaryOp(ast.USub(), rounded), "size")
        return _parts_of(op, _parts(source, whole, size, dim))
    code = syntax.call("jnp.split", op.input, op.code(1, "chunks"), axis=syntax.literal(dim))
    return _parts_of(op, code) if isinstance(count, Size) else code


def _split(op: Operation) -> ast.expr:
    assert op.shape is not None
    dim = op.get(2, "dim", 0)
    value = op.value(1, "split_size") or op.value(1, "split_size_or_sections")
    value = value or op.keywords["split_sizes"]
    sizes, axis = real_of(value), syntax.literal(dim)
    if isinstance(sizes, int):
        source = op.once()
        whole = syntax.item(syntax.attribute(source, "shape"), dim)
        if syntax.same(whole, code_of(value)):
            return ast.List([source], ast.Load())  # one part, whatever the size
        code = _parts(source, whole, code_of(value), dim)
        if not isinstance(value, Size):
            ends = syntax.literal(list(range(sizes, op.shape[dim], sizes)))
            code.__dict__["unpacked"] = syntax.call("jnp.split", source, ends, axis=axis)
        return _parts_of(op, code)
    if isinstance(value, Items) and depends_on_sizes(value):
        return syntax.call("jnp.split", op.input, _edges(value), axis=axis)
    edges = [sum(sizes[: n + 1]) for n in range(len(sizes) - 1)]
    return syntax.call("jnp.split", op.input, syntax.literal(edges), axis=axis)


def _edges(sizes: Items) -> ast.expr:
    """Return where the parts of given sizes end, all but the last one."""
    parts = [code_of(x) for x in (sizes.at(n) for n in range(len(sizes.items)))]
    edges = [functools.reduce(_plus, parts[: n + 1]) for n in range(len(parts) - 1)]
    return ast.List([copy.deepcopy(x) for x in edges], ast.Load())


def _plus(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, ast.Add(), right)


def _parts(source: ast.expr, whole: ast.expr, size: ast.expr, dim: int) -> ast.expr:
    """Return the parts of a size, the last of which is smaller."""
    edges = syntax.call("list", syntax.call("range", size, whole, size))
    return syntax.call("jnp.split", source, edges, axis=syntax.literal(dim))


def _getitem(op: Operation) -> ast.expr:
    key = op.args[1]
    if _is_mask(key):
        raise op.refuse("a mask as an index makes a size that depends on values; use torch.where")
    return ast.Subscript(op.input, _index(key), ast.Load())


def _is_mask(key: Value) -> bool:
    parts = key.items if isinstance(key, Items) and key.real is tuple else [key]
    return any(isinstance(x, Tensor) and x.real.dtype is torch.bool for x in parts)


def _index(key: Value) -> ast.expr:
    """Return an index; JAX takes arrays where torch also takes lists."""
    if isinstance(key, Items) and key.real is list:
        return syntax.call("jnp.array", code_of(key))
    if isinstance(key, Items) and key.code is None:
        return ast.Tuple([_index(x) for x in key.items], ast.Load())
    if isinstance(real_of(key), list):
        return syntax.call("jnp.array", code_of(key))
    return code_of(key)


def _size(op: Operation) -> Value:
    shape = syntax.attribute(op.input, "shape")
    dim = op.get(1, "dim")
    return lift(op.real, shape) if dim is None else Size(op.real, syntax.item(shape, dim))


def _numel(op: Operation) -> Value:
    return Size(op.real, syntax.attribute(op.input, "size"))


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


def _movedim(op: Operation) -> ast.expr:
    return syntax.call("jnp.moveaxis", op.input, op.code(1, "source"), op.code(2, "destination"))


def _masked_fill(op: Operation) -> ast.expr:
    return syntax.call("jnp.where", op.code(1, "mask"), op.code(2, "value"), op.input)


def _where(op: Operation) -> ast.expr:
    if len(op.args) + len(op.keywords) < 3:
        raise op.refuse("where with one argument makes a size that depends on values")
    condition = op.code(0, "condition") if op.args else code_of(op.keywords["condition"])
    return syntax.call("jnp.where", condition, op.code(1, "input"), op.code(2, "other"))


def _meshgrid(op: Operation) -> ast.expr:
    indexing = op.keywords.get("indexing")
    parts = op.parts(0, "tensors")
    text = "ij" if indexing is None else indexing.real
    return syntax.call("jnp.meshgrid", *parts, indexing=syntax.constant(text))


def _broadcast_tensors(op: Operation) -> ast.expr:
    return syntax.call("jnp.broadcast_arrays", *op.parts(0, "tensors"))


def _windows(op: Operation) -> ast.expr:
    """Write `x.unfold(dim, size, step)`: each window is a slice, along a new last dimension."""
    assert op.shape is not None
    dim, source = op.axis(op.get(1, "dimension")), op.once()
    size, step = op.code(2, "size"), op.code(3, "step")
    length = syntax.item(syntax.attribute(source, "shape"), dim)
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


RULES: dict[str, Callable[[Operation], Any]] = {
    "view": _reshape, "reshape": _reshape, "view_as": _like, "reshape_as": _like,
    "expand_as": _like, "permute": _permute, "transpose": _transpose, "t": _t, "T": _t, "mT": _mt,
    "H": _adjoint, "mH": _adjoint, "adjoint": _adjoint,
    "unsqueeze": _unsqueeze, "squeeze": _squeeze, "flatten": _flatten, "unflatten": _unflatten,
    "expand": _expand, "repeat": _repeat, "tile": _repeat, "cat": _cat, "stack": _stack,
    "unbind": _unbind, "chunk": _chunk, "split": _split, "split_with_sizes": _split,
    "getitem": _getitem, "size": _size, "numel": _numel, "narrow": _narrow, "select": _select,
    "movedim": _movedim, "moveaxis": _movedim, "masked_fill": _masked_fill, "where": _where,
    "contiguous": _same, "clone": _same, "identity": _same, "requires_grad": _same, "cpu": _same,
    "cuda": _same, "pin_memory": _same, "resolve_conj": _same, "resolve_neg": _same,
    "retain_grad": _same,
    "broadcast_to": _expand, "meshgrid": _meshgrid,
    "broadcast_tensors": _broadcast_tensors, "windows": _windows,
}  # fmt: skip
