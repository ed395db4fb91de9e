"""Operators that make tensors or change their dtype."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from jaxgrad.parity.port import attributes, draws, syntax
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.values import Folded, Tensor, Value, code_of, real_of


def _dtype(op: Operation) -> dict[str, ast.expr]:
    """Return the `dtype=` of a new array, unless it is JAX's own default."""
    given = op.keywords.get("dtype")
    if given is not None and given.real is not None and not _is_usual(given, op):
        return {"dtype": code_of(given)}
    like = op.args[0] if op.name.startswith("new_") else None
    if isinstance(like, Tensor):
        return {"dtype": syntax.attribute(code_of(like), "dtype")}
    real: torch.Tensor = op.real
    if real.dtype in (torch.get_default_dtype(), torch.int64):
        return {}
    return {"dtype": syntax.literal(real.dtype)}


def _is_usual(dtype: Value, op: Operation) -> bool:
    """Return whether JAX makes the same dtype unasked: an int64 range."""
    return op.name == "arange" and dtype.real is torch.int64


def _shape(op: Operation, position: int) -> ast.expr:
    value = op.tail(position, "size")
    return (
        code_of(value)
        if value.code is not None
        else ast.Tuple(op.parts(position, "size"), ast.Load())
    )


def _filled(op: Operation) -> ast.expr:
    name = op.name.removeprefix("new_")
    shape = _shape(op, 1 if op.name.startswith("new_") else 0)
    return syntax.call(f"jnp.{name}", shape, **_dtype(op))


def _full(op: Operation) -> ast.expr:
    first = 1 if op.name.startswith("new_") else 0
    size, value = op.value(first, "size"), op.code(first + 1, "fill_value")
    assert size is not None
    return syntax.call("jnp.full", code_of(size), value, **_dtype(op))


def _like(op: Operation) -> ast.expr:
    name, dtype = op.name, op.keywords.get("dtype")
    extra = [op.code(1, "fill_value")] if name == "full_like" else []
    kept = {} if dtype is None or dtype.real is None else {"dtype": code_of(dtype)}
    return syntax.call(f"jnp.{name}", op.input, *extra, **kept)


def _arange(op: Operation) -> ast.expr:
    names = [n for n in ("start", "end", "step") if n in op.keywords]
    args = [*map(code_of, op.args), *(code_of(op.keywords[n]) for n in names)]
    return syntax.call("jnp.arange", *args, **_dtype(op))


def _linspace(op: Operation) -> ast.expr:
    parts = op.code(0, "start"), op.code(1, "end"), op.code(2, "steps")
    return syntax.call("jnp.linspace", *parts, **_dtype(op))


def _eye(op: Operation) -> ast.expr:
    return syntax.call("jnp.eye", *map(code_of, op.args), **_dtype(op))


def _tensor(op: Operation) -> Value | ast.expr:
    value = op.args[0]
    if isinstance(value, Tensor):
        return code_of(value)
    return syntax.call("jnp.array", code_of(value), **_dtype(op))


def _new_tensor(op: Operation) -> ast.expr:
    return syntax.call("jnp.array", op.code(1, "data"), dtype=syntax.attribute(op.input, "dtype"))


def _cast(dtype: torch.dtype) -> Callable[[Operation], ast.expr]:
    def rule(op: Operation) -> ast.expr:
        return _astype(op.input, syntax.literal(dtype))

    return rule


def _astype(code: ast.expr, dtype: ast.expr) -> ast.expr:
    return syntax.call(syntax.attribute(code, "astype"), dtype)


def _to(op: Operation) -> ast.expr:
    """Return `x.to(...)`; devices do not occur in the port."""
    for value in [*op.args[1:], *(op.keywords[k] for k in ("dtype", "other") if k in op.keywords)]:
        real = real_of(value)
        if isinstance(real, torch.dtype):
            return _astype(op.input, code_of(value))
        if isinstance(value, Tensor):
            return _astype(op.input, syntax.attribute(code_of(value), "dtype"))
    return op.input


def _type_as(op: Operation) -> ast.expr:
    return _astype(op.input, syntax.attribute(op.code(1, "other"), "dtype"))


def _type(op: Operation) -> ast.expr:
    return op.input if op.value(1, "dtype") is None else _astype(op.input, op.code(1, "dtype"))


def _item(op: Operation) -> Value:
    raise op.refuse(
        f"{op.name}() reads the value of a tensor, which is not known when JAX traces; keep it as "
        "a tensor, or pass the number as an argument"
    )


def _drawn(name: str) -> Callable[[Operation], ast.expr]:
    """Return the rule of a draw with torch's shape and dtype."""

    def rule(op: Operation) -> ast.expr:
        label = draws.key(name)
        if op.name.endswith("_like"):
            parts = [syntax.attribute(op.once(), x) for x in ("shape", "dtype")]
            return syntax.call(f"jax.random.{name}", label, *parts)
        return syntax.call(f"jax.random.{name}", label, _shape(op, 0), *_dtype(op).values())

    return rule


def _bernoulli(op: Operation) -> ast.expr:
    """Write a draw whose probabilities are the input, or `p` for every element of the input."""
    if op.value(1, "p") is None:
        source = op.once()
        drawn = syntax.call("jax.random.bernoulli", draws.key("bernoulli"), source)
        return _astype(drawn, syntax.attribute(source, "dtype"))
    shape, dtype = _form(op)
    chance = op.code(1, "p")
    return _astype(
        syntax.call("jax.random.bernoulli", draws.key("bernoulli"), chance, shape), dtype
    )


def _form(op: Operation) -> tuple[ast.expr, ast.expr]:
    """Return the shape and dtype of an input whose values are not read."""
    code = op.input
    if isinstance(code, ast.Call) and syntax.text(code.func) in ("jnp.empty", "jnp.zeros"):
        dtype = next((k.value for k in code.keywords if k.arg == "dtype"), None)
        return code.args[0], dtype or syntax.dotted("float")
    source = op.once()
    return syntax.attribute(source, "shape"), syntax.attribute(source, "dtype")


def _normal(op: Operation) -> ast.expr:
    """Write `x.normal_(mean, std)`, which fills x, and `torch.normal(mean, std)` of tensors."""
    if op.name == "normal" and getattr(op.function, "__name__", "") == "normal_":
        shape, dtype = _form(op)
        drawn = syntax.call("jax.random.normal", draws.key("normal"), shape, dtype)
        return _shifted(drawn, op.value(1, "mean"), op.value(2, "std"))
    mean, std = op.value(0, "mean"), op.value(1, "std")
    if not isinstance(mean, Tensor):
        raise op.refuse("normal with numbers as arguments; write mean + std * torch.randn(...)")
    op = dataclasses.replace(op, args=[mean])
    source = op.once()
    form = [syntax.attribute(source, x) for x in ("shape", "dtype")]
    drawn = syntax.call("jax.random.normal", draws.key("normal"), *form)
    return _shifted(drawn, Tensor(mean.real, source), std)


def _shifted(drawn: ast.expr, mean: Value | None, std: Value | None) -> ast.expr:
    if std is not None and not (isinstance(std, Folded) and std.real == 1):
        drawn = ast.BinOp(code_of(std), ast.Mult(), drawn)
    if mean is None or (isinstance(mean, Folded) and mean.real == 0):
        return drawn
    return ast.BinOp(code_of(mean), ast.Add(), drawn)


def _uniform(op: Operation) -> ast.expr:
    shape, dtype = _form(op)
    low, high = op.value(1, "from"), op.value(2, "to")
    bounds = {
        name: code_of(x)
        for name, x, usual in (("minval", low, 0), ("maxval", high, 1))
        if x is not None and real_of(x) != usual
    }
    return syntax.call("jax.random.uniform", draws.key("uniform"), shape, dtype, **bounds)


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
        code = _astype(code, syntax.attribute(op.once(), "dtype"))
    if other.real.shape != target.real.shape:
        return syntax.call("jnp.broadcast_to", code, syntax.attribute(op.once(), "shape"))
    return code


def _zero(op: Operation) -> ast.expr:
    return syntax.call("jnp.zeros_like", op.input)


def _fill(op: Operation) -> ast.expr:
    return syntax.call("jnp.full_like", op.input, op.code(1, "value"))


def _random(op: Operation) -> Value:
    raise op.refuse(f"{op.name} draws numbers, which is not ported yet; pass them as an argument")


def _dim(op: Operation) -> Value:
    return attributes.read(op.args[0], "ndim", op.scope, op.node)


def _fact(op: Operation) -> Value:
    return Folded(op.real)


RULES: dict[str, Callable[[Operation], Any]] = {
    "zeros": _filled, "ones": _filled, "empty": _filled, "new_zeros": _filled,
    "new_ones": _filled, "new_empty": _filled, "full": _full, "new_full": _full,
    "zeros_like": _like, "ones_like": _like, "full_like": _like, "empty_like": _like,
    "arange": _arange, "linspace": _linspace, "eye": _eye, "tensor": _tensor,
    "as_tensor": _tensor, "new_tensor": _new_tensor, "to": _to, "type_as": _type_as,
    "type": _type, "float": _cast(torch.float32), "double": _cast(torch.float64),
    "half": _cast(torch.float16), "bfloat16": _cast(torch.bfloat16), "bool": _cast(torch.bool),
    "int": _cast(torch.int32), "long": _cast(torch.int64), "item": _item, "tolist": _item,
    "numpy": _item, "nonzero": _positions, "unique": _positions, "argwhere": _positions,
    "masked_select": _positions, "copy": _copy, "zero": _zero, "fill": _fill,
    "rand": _drawn("uniform"),
    "randn": _drawn("normal"),
    "randint": _random, "rand_like": _drawn("uniform"), "randn_like": _drawn("normal"),
    "bernoulli": _bernoulli,
    "multinomial": _random, "randperm": _random, "normal": _normal, "uniform": _uniform,
    "dim": _dim, "ndimension": _dim, "is_floating_point": _fact, "is_complex": _fact,
    "is_contiguous": _fact, "get_device": _fact,
}  # fmt: skip
