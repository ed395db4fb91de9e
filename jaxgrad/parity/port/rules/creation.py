"""Operators that make tensors or change their dtype."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from jaxgrad.parity.port.expressions import attributes, positions
from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.fixed import buffers_of, is_fixed
from jaxgrad.parity.port.values.value_types import Folded, Items, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def dtype_option(op: Operation) -> dict[str, ast.expr]:
    """Return the `dtype=` of a new array, unless it is JAX's own default."""
    given = op.keywords.get("dtype")
    if given is not None and given.real is not None and not _is_usual(given, op):
        return {"dtype": code_of(given)}
    like = op.args[0] if op.name.startswith("new_") else None
    if isinstance(like, Tensor):
        return {"dtype": syntax.dtype_of(code_of(like))}
    real: torch.Tensor = op.real
    if real.dtype in (torch.get_default_dtype(), torch.int64):
        return {}
    return {"dtype": syntax.literal(real.dtype)}


def _is_usual(dtype: Value, op: Operation) -> bool:
    """Return whether JAX makes the same dtype unasked: an int64 range."""
    return op.name == "arange" and dtype.real is torch.int64


def shape_argument(op: Operation, position: int) -> ast.expr:
    value = op.tail(position, "size")
    return (
        code_of(value)
        if value.code is not None
        else ast.Tuple(op.parts(position, "size"), ast.Load())
    )


def _filled(op: Operation) -> ast.expr:
    name = op.name.removeprefix("new_")
    shape = shape_argument(op, 1 if op.name.startswith("new_") else 0)
    return syntax.call(f"jnp.{name}", shape, **dtype_option(op))


def _new(op: Operation) -> ast.expr:
    """Write the old `x.new(2, 3)`, an array of x's dtype, or `x.new([1.0, 2.0])`."""
    dtype = syntax.dtype_of(op.input)
    if len(op.args) == 1 or any(isinstance(x, Items) and x.code for x in op.args[1:]):
        raise op.refuse("new() of a shape, or of nothing; write new_empty(shape)")
    if all(isinstance(x.real, int) for x in op.args[1:]):
        empty = syntax.call("jnp.empty", shape_argument(op, 1), dtype=dtype)
        return syntax.computing("new_empty", empty)
    return syntax.call_helper(Helper.ARRAY, op.code(1, "data"), dtype=dtype)


def _full(op: Operation) -> ast.expr:
    first = 1 if op.name.startswith("new_") else 0
    size, value = op.value(first, "size"), op.code(first + 1, "fill_value")
    assert size is not None
    return syntax.call("jnp.full", code_of(size), value, **dtype_option(op))


def _like(op: Operation) -> ast.expr:
    name, dtype = op.name, op.keywords.get("dtype")
    extra = [op.code(1, "fill_value")] if name == "full_like" else []
    kept = {} if dtype is None or dtype.real is None else {"dtype": code_of(dtype)}
    return syntax.call(f"jnp.{name}", op.input, *extra, **kept)


def _arange(op: Operation) -> ast.expr:
    names = [n for n in ("start", "end", "step") if n in op.keywords]
    args = [*map(code_of, op.args), *(code_of(op.keywords[n]) for n in names)]
    return syntax.call("jnp.arange", *args, **dtype_option(op))


def _linspace(op: Operation) -> ast.expr:
    parts = op.code(0, "start"), op.code(1, "end"), op.code(2, "steps")
    return syntax.call("jnp.linspace", *parts, **dtype_option(op))


def _eye(op: Operation) -> ast.expr:
    return syntax.call("jnp.eye", *map(code_of, op.args), **dtype_option(op))


def _tensor(op: Operation) -> Value | ast.expr:
    value = op.args[0]
    if isinstance(value, Tensor):
        return code_of(value)
    return syntax.call_helper(Helper.ARRAY, code_of(value), **dtype_option(op))


def _new_tensor(op: Operation) -> ast.expr:
    data, own = op.code(1, "data"), syntax.dtype_of(op.input)
    given = op.keywords.get("dtype")
    if given is None or given.real is None:
        return syntax.call_helper(Helper.ARRAY, data, dtype=own)
    return syntax.call_helper(Helper.ARRAY, data, **dtype_option(op))


def _cast(dtype: torch.dtype) -> Callable[[Operation], ast.expr]:
    def rule(op: Operation) -> ast.expr:
        return astype(op.input, syntax.literal(dtype), op.dtype)

    return rule


_FILLED = ("zeros", "ones")


def astype(code: ast.expr, dtype: ast.expr, before: torch.dtype | None = None) -> ast.expr:
    """Return a cast; zeros, a range and classes of integers are made in the new dtype at once."""
    if isinstance(code, ast.Call) and syntax.is_op(code, _FILLED):
        if len(code.args) == 1 and not code.keywords:
            code.keywords.append(ast.keyword("dtype", dtype))
            return code
    if isinstance(code, ast.Call) and before is torch.int64:
        given = next((k for k in code.keywords if k.arg == "dtype"), None)
        if syntax.is_op(code, ("one_hot",)) and given is not None:
            given.value = dtype
            return code
        if syntax.is_op(code, ("arange",)) and given is None:
            code.keywords.append(ast.keyword("dtype", dtype))
            return code
    return syntax.call(syntax.attribute(code, "astype"), dtype)


def _to(op: Operation) -> ast.expr:
    """Return `x.to(...)`; devices do not occur in the port."""
    for value in [*op.args[1:], *(op.keywords[k] for k in ("dtype", "other") if k in op.keywords)]:
        real = real_of(value)
        if isinstance(real, torch.dtype):
            return astype(op.input, code_of(value), op.dtype)
        if isinstance(value, Tensor):
            return astype(op.input, syntax.dtype_of(code_of(value)), op.dtype)
    return op.input


def _type_as(op: Operation) -> ast.expr:
    return astype(op.input, syntax.dtype_of(op.code(1, "other")), op.dtype)


def _type(op: Operation) -> ast.expr | Value:
    """Return the name of the dtype, or the tensor in a dtype that may be given by its old name."""
    given = op.value(1, "dtype")
    if given is None:
        return Folded(op.real)
    is_dtype = isinstance(given.real, torch.dtype)
    return astype(op.input, op.code(1, "dtype") if is_dtype else syntax.literal(op.dtype), op.dtype)


def _item(op: Operation) -> Value:
    """Return the numbers of a tensor that depends on sizes and configuration alone."""
    if is_fixed(op.args[0].real):
        op.scope.assume(op.node, f"{syntax.text(op.node)} == {op.real!r}")
        return attributes.constant_value(_shortest(op.real, op.dtype), "", op.scope)
    if op.name == "item":
        found = positions.position(op.args[0], op.node, op.scope)
        if found is not None:
            return found
    flags = buffers_of(op.args[0].real)
    if op.name == "item" and flags and not op.args[0].real.is_floating_point():
        op.scope.assume(op.node, f"{syntax.text(op.node)} == {op.real!r}")
        for name in flags:
            op.scope.run.flags.setdefault(name, op.scope.place(op.node))
        return Folded(op.real)
    raise _unknown(op)


def _numpy(op: Operation) -> Value:
    """Return integers as the tensor that they are, such as the lengths of sequences."""
    if op.real.dtype.kind == "f":
        raise _unknown(op)
    return op.args[0]


def _unknown(op: Operation) -> PortError:
    return op.refuse(
        f"{op.name}() reads the value of a tensor, which is not known when JAX traces; keep it as "
        "a tensor, or pass the number as an argument"
    )


def _shortest(number: Any, dtype: torch.dtype | None) -> Any:
    """Return 0.8 for the number of a float32 tensor that was made of 0.8; it rounds to the same."""
    if isinstance(number, float) and dtype is torch.float32:
        return float(str(np.float32(number)))
    return number


def _positions(op: Operation) -> Value:
    raise op.refuse(
        f"{op.name}() makes a size that depends on values, which JAX cannot trace; compute with a "
        "mask and torch.where on the whole tensor"
    )


def _copy(op: Operation) -> ast.expr:
    """Write `x.copy_(y)`: the values of y in the shape and dtype of x."""
    other = op.value(1, "other") or op.keywords["src"]
    code, target = code_of(other), op.args[0]
    if other.real.dtype != target.real.dtype:
        code = astype(code, syntax.dtype_of(op.once()))
    if other.real.shape != target.real.shape:
        return syntax.call("jnp.broadcast_to", code, syntax.shape(op.once()))
    return code


def _zero(op: Operation) -> ast.expr:
    return syntax.call("jnp.zeros_like", op.input)


def _fill(op: Operation) -> ast.expr:
    return syntax.call("jnp.full_like", op.input, op.code(1, "value"))


def _dim(op: Operation) -> Value:
    return attributes.read(op.args[0], "ndim", op.scope, op.node)


def _fact(op: Operation) -> Value:
    return Folded(op.real)


CASTS = (
    "to", "type_as", "type", "float", "double", "half", "bfloat16", "bool", "byte", "char", "short",
    "int", "long",
)  # fmt: skip
RULES: dict[str, Callable[[Operation], Any]] = {
    "zeros": _filled, "ones": _filled, "empty": _filled, "new_zeros": _filled,
    "new_ones": _filled, "new_empty": _filled, "new": _new, "full": _full, "new_full": _full,
    "zeros_like": _like, "ones_like": _like, "full_like": _like, "empty_like": _like,
    "arange": _arange, "linspace": _linspace, "eye": _eye, "tensor": _tensor,
    "as_tensor": _tensor, "new_tensor": _new_tensor, "to": _to,
    "type_as": _type_as, "type": _type, "float": _cast(torch.float32),
    "double": _cast(torch.float64), "half": _cast(torch.float16),
    "bfloat16": _cast(torch.bfloat16), "bool": _cast(torch.bool),
    "byte": _cast(torch.uint8), "char": _cast(torch.int8), "short": _cast(torch.int16),
    "int": _cast(torch.int32), "long": _cast(torch.int64), "item": _item, "tolist": _item,
    "numpy": _numpy, "nonzero": _positions, "unique": _positions, "argwhere": _positions,
    "masked_select": _positions, "copy": _copy, "zero": _zero, "fill": _fill, "dim": _dim,
    "ndimension": _dim, "is_floating_point": _fact, "is_complex": _fact, "is_contiguous": _fact,
    "get_device": _fact,
}  # fmt: skip
