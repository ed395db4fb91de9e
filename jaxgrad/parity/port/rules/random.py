"""Operators that draw random numbers: each draw has a key of jax.random."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port.rules.creation import astype, dtype_option, shape_argument
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.value_types import Folded, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def _drawn(name: str) -> Callable[[Operation], ast.expr]:
    """Return the rule of a draw with torch's shape and dtype."""

    def rule(op: Operation) -> ast.expr:
        label = draws.key(name)
        if op.name.endswith("_like"):
            return syntax.call(f"jax.random.{name}", label, *_shape_and_dtype(op.once()))
        return syntax.call(
            f"jax.random.{name}", label, shape_argument(op, 0), *dtype_option(op).values()
        )

    return rule


def _bernoulli(op: Operation) -> ast.expr:
    """Write a draw whose probabilities are the input, or `p` for every element of the input."""
    if op.value(1, "p") is None:
        source = op.once()
        drawn = syntax.call("jax.random.bernoulli", draws.key("bernoulli"), source)
        return astype(drawn, syntax.dtype_of(source))
    shape, dtype = _form(op)
    chance = op.code(1, "p")
    return astype(syntax.call("jax.random.bernoulli", draws.key("bernoulli"), chance, shape), dtype)


_LIKE = ("empty_like", "zeros_like", "ones_like")


def _form(op: Operation) -> tuple[ast.expr, ast.expr]:
    """Return the shape and dtype of an input whose values are not read."""
    code = op.input
    if isinstance(code, ast.Call) and syntax.is_op(code, _BLANK):
        dtype = next((k.value for k in code.keywords if k.arg == "dtype"), None)
        return code.args[0], dtype or syntax.dtype("float")
    match code:
        case ast.Call(args=[ast.Name() as like], keywords=[]) if syntax.is_op(code, _LIKE):
            return _shape_and_dtype(like)
    return _shape_and_dtype(op.once())


def _shape_and_dtype(array: ast.expr) -> tuple[ast.expr, ast.expr]:
    return syntax.shape(array), syntax.dtype_of(array)


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
    drawn = syntax.call("jax.random.normal", draws.key("normal"), *_shape_and_dtype(source))
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


def _randint(op: Operation) -> ast.expr:
    """Write `torch.randint(low, high, size)`, whose lower bound may be left out."""
    like = op.name == "randint_like"
    args, keywords = (op.args[1:] if like else op.args), op.keywords
    bounds = [x for x in args if not isinstance(real_of(x), list | tuple)]
    low, high = keywords.get("low"), keywords.get("high")
    bounds = [x for x in (low, *bounds, high) if x is not None]
    first = code_of(bounds[0]) if len(bounds) > 1 else syntax.literal(0)
    if like:
        shape = syntax.shape(op.once())
    else:
        size = keywords.get("size") or next(x for x in args if x not in bounds)
        shape = code_of(size)
    options = dtype_option(op)
    return syntax.call(
        "jax.random.randint", draws.key("randint"), shape, first, code_of(bounds[-1]), **options
    )


def _random(op: Operation) -> Value:
    raise op.refuse(f"{op.name} draws numbers, which is not ported yet; pass them as an argument")


_BLANK = ("empty", "new_empty", "zeros", "new_zeros")  # made to be filled
RULES: dict[str, Callable[[Operation], Any]] = {
    "rand": _drawn("uniform"), "randn": _drawn("normal"), "randint": _randint,
    "randint_like": _randint,
    "rand_like": _drawn("uniform"), "randn_like": _drawn("normal"), "bernoulli": _bernoulli,
    "multinomial": _random, "randperm": _random, "normal": _normal, "uniform": _uniform,
}  # fmt: skip
