"""Operators that join tensors and take them apart: cat, stack, split, chunk."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.values.lengths import depends_on_sizes, is_counted
from jaxgrad.parity.port.values.value_types import Items, Size
from jaxgrad.parity.port.values.values import code_of, real_of


def _cat(op: Operation) -> ast.expr:
    """Write `torch.cat`, which skips tensors without elements and dimensions."""
    value, tensors = op.value(0, "tensors"), op.code(0, "tensors")
    if isinstance(value, Items) and value.code is None:
        kept = [x for x in value.items if tuple(x.real.shape) != (0,)]
        if 0 < len(kept) < len(value.items) and kept[0].real.ndim > 1:
            tensors = code_of(Items(value.real, None, kept))
            if len(kept) == 1 and kept[0].real.dtype == op.real.dtype:
                return code_of(kept[0])
    return syntax.call("jnp.concatenate", tensors, axis=op.code(1, "dim", 0))


def _stack(op: Operation) -> ast.expr:
    dim = op.code(1, "dim", 0)
    if op.get(1, "dim", 0) == 0:
        return syntax.call("jnp.stack", op.code(0, "tensors"))
    return syntax.call("jnp.stack", op.code(0, "tensors"), axis=dim)


def _along(op: Operation) -> ast.expr:
    """Write `torch.hstack` and its like, which numpy has under the same names."""
    return syntax.call(f"jnp.{op.name}", op.code(0, "tensors"))


def _unbind(op: Operation) -> ast.expr:
    return _parts_of(op, syntax.call("jnp.unstack", op.input, axis=op.code(1, "dim", 0)))


def _parts_of(op: Operation, code: ast.expr) -> ast.expr:
    """Mark the parts of a tensor, whose number depends on a size."""
    whole = op.args[0] if op.args else op.keywords["input"]
    on_expression(code).counted = is_counted(whole, op.scope)
    return code


def _chunk(op: Operation) -> ast.expr:
    assert op.shape is not None
    dim, count = op.get(2, "dim", 0), op.value(1, "chunks")
    assert count is not None
    varies = _varies(op)
    if varies and count.real == 2 and not isinstance(count, Size):
        return syntax.call(
            "jnp.array_split", op.input, syntax.constant(2), axis=syntax.literal(dim)
        )
    if varies or op.shape[dim] % count.real:
        source = op.once()
        whole = syntax.item(syntax.shape(source), dim)
        rounded = ast.BinOp(ast.UnaryOp(ast.USub(), whole), ast.FloorDiv(), op.code(1, "chunks"))
        size = op.scope.once(ast.UnaryOp(ast.USub(), rounded), "size")
        return _parts_of(op, _parts(source, whole, size, dim))
    code = syntax.call("jnp.split", op.input, op.code(1, "chunks"), axis=syntax.literal(dim))
    return _parts_of(op, code) if isinstance(count, Size) else code


def _varies(op: Operation) -> bool:
    """Return whether the size of the axis that a call splits depends on the sizes of the inputs."""
    place = op.scope.place(op.node)
    first, last = getattr(op.node, "lineno", 0), getattr(op.node, "end_lineno", 0)
    lines = range(place.line, place.line + last - first + 1)
    return any(file == place.file and line in lines for file, line in op.scope.run.varying)


def _tensor_split(op: Operation) -> ast.expr:
    """Write `torch.tensor_split`, whose first parts are one larger if the parts are unequal."""
    name = next((n for n in ("indices", "sections") if n in op.keywords), "indices_or_sections")
    parts, axis = op.value(1, name), syntax.literal(op.get(2, "dim", 0))
    assert parts is not None
    is_number = isinstance(real_of(parts), int)
    function = "jnp.array_split" if is_number else "jnp.split"
    whole = code_of(parts)
    if isinstance(whole, ast.Tuple):
        whole = ast.List(whole.elts, ast.Load())
    code = syntax.call(function, op.input, whole, axis=axis)
    return _parts_of(op, code) if isinstance(parts, Size) else code


def _split(op: Operation) -> ast.expr:
    assert op.shape is not None
    dim = op.get(2, "dim", 0)
    value = op.value(1, "split_size") or op.value(1, "split_size_or_sections")
    value = value or op.keywords["split_sizes"]
    sizes, axis = real_of(value), syntax.literal(dim)
    if isinstance(sizes, int):
        source = op.once()
        whole = syntax.item(syntax.shape(source), dim)
        if syntax.same(whole, code_of(value)):
            return ast.List([source], ast.Load())  # one part, whatever the size
        code = _parts(source, whole, code_of(value), dim)
        if not isinstance(value, Size):
            ends = syntax.literal(list(range(sizes, op.shape[dim], sizes)))
            on_expression(code).unpacked = syntax.call("jnp.split", source, ends, axis=axis)
        return _parts_of(op, code)
    if isinstance(value, Items) and depends_on_sizes(value):
        return syntax.call("jnp.split", op.input, _edges(value), axis=axis)
    edges = [sum(sizes[: n + 1]) for n in range(len(sizes) - 1)]
    return syntax.call("jnp.split", op.input, syntax.literal(edges), axis=axis)


def _edges(sizes: Items) -> ast.expr:
    """Return the end of every part but the last, given the sizes of the parts."""
    parts = [code_of(x) for x in (sizes.at(n) for n in range(len(sizes.items)))]
    edges = [functools.reduce(_plus, parts[: n + 1]) for n in range(len(parts) - 1)]
    return ast.List([copy.deepcopy(x) for x in edges], ast.Load())


def _plus(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, ast.Add(), right)


def _parts(source: ast.expr, whole: ast.expr, size: ast.expr, dim: int) -> ast.expr:
    """Return the parts of a size, the last of which is smaller."""
    edges = syntax.call_helper(Helper.LIST, syntax.call("range", size, whole, size))
    return syntax.call("jnp.split", source, edges, axis=syntax.literal(dim))


RULES: dict[str, Callable[[Operation], Any]] = {
    "hstack": _along, "vstack": _along, "dstack": _along, "column_stack": _along,
    "cat": _cat, "stack": _stack, "unbind": _unbind, "chunk": _chunk, "split": _split,
    "split_with_sizes": _split, "tensor_split": _tensor_split,
}  # fmt: skip
