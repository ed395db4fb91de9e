"""Operators that rearrange values: views, joins, indexing."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import torch

from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.lengths import is_counted, require
from jaxgrad.parity.port.values.value_types import Items, Size, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, lift, real_of


def _same(op: Operation) -> Value | ast.expr:
    """Return the argument itself; a copy shares no memory with it."""
    return op.input


def _reshape(op: Operation) -> ast.expr:
    second = op.value(1, "size")
    if second is not None and isinstance(real_of(second), torch.dtype):
        code = syntax.call("lax.bitcast_convert_type", op.input, code_of(second))
        return syntax.computing("view.dtype", code)
    parts = op.parts(1, "size" if "size" in op.keywords else "shape")
    return syntax.call(syntax.attribute(op.input, "reshape"), *parts)


def _like(op: Operation) -> ast.expr:
    other = op.value(1, "other")
    assert other is not None
    shape = syntax.shape(code_of(other))
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
        op.scope.run.ranks.note_varying()
        return syntax.call(syntax.attribute(op.input, "squeeze"))
    dims = op.get(1, "dim")
    dims = [dims] if isinstance(dims, int) else list(dims)
    ones = [d for d in dims if op.shape[d] == 1]
    if len(ones) < len(dims) and is_counted(op.args[0], op.scope):
        op.args[0] = Tensor(op.args[0].real, op.once())
        for d in dims:
            if d not in ones:
                length = syntax.item(syntax.shape(op.input), d)
                test = ast.Compare(length, [ast.NotEq()], [syntax.constant(1)])
                require(test, op.scope, op.node)
    if not ones:
        return op.input
    axis = syntax.literal(ones[0] if len(ones) == 1 else tuple(ones))
    return syntax.call(syntax.attribute(op.input, "squeeze"), axis=axis)


def _flatten(op: Operation) -> ast.expr:
    assert op.shape is not None
    first, last = op.get(1, "start_dim", 0), op.get(2, "end_dim", -1)
    start, end = op.axis(first), op.axis(last)
    if start == end:
        return op.input
    source = op.input if end - start + 1 == len(op.shape) else op.once()
    front, back = _around(source, len(op.shape), (start, end), from_end=(first < 0, last < 0))
    return syntax.call(syntax.attribute(source, "reshape"), *front, syntax.literal(-1), *back)


def _unflatten(op: Operation) -> ast.expr:
    assert op.shape is not None
    given, source = op.get(1, "dim"), op.once()
    dim = op.axis(given)
    front, back = _around(source, len(op.shape), (dim, dim), from_end=(given < 0, given < 0))
    return syntax.call(syntax.attribute(source, "reshape"), *front, *op.parts(2, "sizes"), *back)


def _around(
    source: ast.expr, rank: int, dims: tuple[int, int], *, from_end: tuple[bool, bool]
) -> tuple[list[ast.expr], list[ast.expr]]:
    """Return the sizes before and after some dims: `x.shape[0]`, or `*x.shape[:-2]` for several.

    Args:
        source: The array.
        rank: The number of its dims.
        dims: The first and the last of the dims.
        from_end: Whether torch's call counts the first and the last of them from the end.
    """
    shape, (start, end) = syntax.shape(source), dims
    front: list[ast.expr] = [syntax.item(shape, n) for n in range(start)]
    back: list[ast.expr] = [syntax.item(shape, n) for n in range(end + 1, rank)]
    if len(front) > 1:
        stop = syntax.literal(start - rank if from_end[0] else start)
        front = [ast.Starred(ast.Subscript(shape, ast.Slice(None, stop), ast.Load()), ast.Load())]
    if len(back) > 1:
        first = end + 1 - rank if from_end[1] else end + 1
        back = [ast.Starred(_from(shape, first), ast.Load())]
    return front, back


def _expand(op: Operation) -> ast.expr:
    assert op.shape is not None
    sizes = op.tail(1, "size")
    numbers, parts = list(real_of(sizes)), op.parts(1, "size")
    if -1 in numbers and isinstance(sizes, Items) and not sizes.counted:
        parts = [code_of(sizes.at(n)) for n in range(len(numbers))]  # a variable may hold the tuple
    if len(parts) != len(numbers):
        return syntax.call("jnp.broadcast_to", op.input, ast.Tuple(parts, ast.Load()))
    source, missing = op.input, len(numbers) - len(op.shape)
    kept = [n for n, number in enumerate(numbers) if number == -1]
    if kept:
        source = op.once()
        op.args[0] = Tensor(op.args[0].real, source)
        shape = syntax.shape(source)
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
    return ast.Subscript(shape, ast.Slice(syntax.literal(first)), ast.Load())


def _repeat(op: Operation) -> ast.expr:
    return syntax.call("jnp.tile", op.input, ast.Tuple(op.parts(1, "repeats"), ast.Load()))


def _size(op: Operation) -> Value:
    shape = syntax.shape(op.input)
    dim = op.get(1, "dim")
    return lift(op.real, shape) if dim is None else Size(op.real, syntax.item(shape, dim))


def _numel(op: Operation) -> Value:
    return Size(op.real, syntax.size(op.input))


def _movedim(op: Operation) -> ast.expr:
    return syntax.call("jnp.moveaxis", op.input, op.code(1, "source"), op.code(2, "destination"))


def _meshgrid(op: Operation) -> ast.expr:
    indexing = op.keywords.get("indexing")
    parts = op.parts(0, "tensors")
    text = "ij" if indexing is None else indexing.real
    return syntax.call("jnp.meshgrid", *parts, indexing=syntax.constant(text))


def _broadcast_tensors(op: Operation) -> ast.expr:
    return syntax.call("jnp.broadcast_arrays", *op.parts(0, "tensors"))


RULES: dict[str, Callable[[Operation], Any]] = {
    "view": _reshape, "reshape": _reshape, "view_as": _like, "reshape_as": _like,
    "expand_as": _like, "permute": _permute, "transpose": _transpose, "t": _t, "T": _t, "mT": _mt,
    "H": _adjoint, "mH": _adjoint, "adjoint": _adjoint, "unsqueeze": _unsqueeze,
    "squeeze": _squeeze, "flatten": _flatten, "unflatten": _unflatten, "expand": _expand,
    "repeat": _repeat, "tile": _repeat, "size": _size, "numel": _numel, "movedim": _movedim,
    "moveaxis": _movedim, "contiguous": _same, "clone": _same, "identity": _same,
    "requires_grad": _same, "cpu": _same, "cuda": _same, "pin_memory": _same,
    "resolve_conj": _same, "resolve_neg": _same, "retain_grad": _same, "broadcast_to": _expand,
    "meshgrid": _meshgrid, "broadcast_tensors": _broadcast_tensors,
}  # fmt: skip
