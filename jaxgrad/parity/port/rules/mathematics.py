"""Operators whose JAX form has torch's gradient, written as a reader of JAX expects them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port.expressions import indexing
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.lengths import depends_on_sizes
from jaxgrad.parity.port.values.value_types import Items
from jaxgrad.parity.port.values.values import code_of


def _function(name: str) -> Callable[[Operation], ast.expr]:
    def rule(op: Operation) -> ast.expr:
        return syntax.call(name, op.input)

    return rule


def _operator(symbol: type[ast.operator]) -> Callable[[Operation], ast.expr | None]:
    def rule(op: Operation) -> ast.expr | None:
        alpha, mode = op.keywords.get("alpha"), op.keywords.get("rounding_mode")
        if (alpha is not None and alpha.real != 1) or (mode is not None and mode.real is not None):
            return None
        return ast.BinOp(op.input, symbol(), op.code(1, "other"))

    return rule


def _comparison(symbol: type[ast.cmpop]) -> Callable[[Operation], ast.expr]:
    def rule(op: Operation) -> ast.expr:
        return ast.Compare(op.input, [symbol()], [op.code(1, "other")])

    return rule


def _matmul(op: Operation) -> ast.expr:
    names = {"bmm": "mat2", "mm": "mat2", "mv": "vec"}
    return ast.BinOp(op.input, ast.MatMult(), op.code(1, names.get(op.name, "other")))


def _einsum(op: Operation) -> ast.expr:
    equation, *operands = op.args
    if len(operands) == 1 and isinstance(operands[0], Items):  # `einsum(equation, [a, b])`
        operands = indexing.iterate(operands[0], op.scope, op.node)
    return syntax.call("jnp.einsum", *map(code_of, [equation, *operands]))


def _pow(op: Operation) -> ast.expr | None:
    exponent = op.value(1, "exponent")
    if exponent is None or not isinstance(exponent.real, int | float):
        return None
    return ast.BinOp(op.input, ast.Pow(), code_of(exponent))


def _reduction(name: str) -> Callable[[Operation], ast.expr | None]:
    def rule(op: Operation) -> ast.expr | None:
        if op.keywords.get("dtype") is not None:
            return None
        keywords: dict[str, ast.expr] = {}
        if op.has(1, "dim"):
            if len(op.args) > 2 and not isinstance(op.args[2].real, bool):
                return None
            keywords["axis"] = op.code(1, "dim")
        if op.get(2, "keepdim", False):
            keywords["keepdims"] = syntax.constant(True)
        return syntax.call(syntax.attribute(op.input, name), **keywords)

    return rule


def _softmax(name: str) -> Callable[[Operation], ast.expr | None]:
    def rule(op: Operation) -> ast.expr | None:
        dim, dtype = op.value(1, "dim"), op.keywords.get("dtype")
        if dim is None or dim.real is None:
            return None
        source = op.input
        if dtype is not None and dtype.real is not None:
            source = syntax.call(syntax.attribute(source, "astype"), code_of(dtype))
        return syntax.call(name, source, axis=code_of(dim))

    return rule


def _logical(name: str) -> Callable[[Operation], ast.expr]:
    def rule(op: Operation) -> ast.expr:
        return syntax.call(name, *map(code_of, op.args))

    return rule


def _position(name: str) -> Callable[[Operation], ast.expr]:
    def rule(op: Operation) -> ast.expr:
        keywords = {"axis": op.code(1, "dim")} if op.has(1, "dim") else {}
        if op.get(2, "keepdim", False):
            keywords["keepdims"] = syntax.constant(True)
        return syntax.call(syntax.attribute(op.input, name), **keywords)

    return rule


def _cumsum(op: Operation) -> ast.expr | None:
    if op.keywords.get("dtype") is not None:
        return None
    return syntax.call("jnp.cumsum", op.input, axis=op.code(1, "dim"))


def _histogram(op: Operation) -> ast.expr:
    """Write `x.histc(bins, min, max)`, which has no gradient in torch."""
    first, last = op.get(2, "min", 0), op.get(3, "max", 0)
    if first == last:
        raise op.refuse("histc over the range of the values; give it min= and max=")
    if op.args[0].real.requires_grad:
        raise op.refuse("histc has no gradient in torch; detach its input")
    ends = ast.Tuple([op.code(2, "min", 0), op.code(3, "max", 0)], ast.Load())
    bins = op.code(1, "bins", 100)
    counts = syntax.item(syntax.call("jnp.histogram", op.input, bins, range=ends), 0)
    return syntax.call(syntax.attribute(counts, "astype"), syntax.literal(op.dtype))


def _triangle(name: str) -> Callable[[Operation], ast.expr]:
    def rule(op: Operation) -> ast.expr:
        value = op.value(1, "diagonal")
        usual = value is None or (not depends_on_sizes(value) and value.real == 0)
        extra = [] if usual else [op.code(1, "diagonal")]
        return syntax.call(name, op.input, *extra)

    return rule


def _negative(op: Operation) -> ast.expr:
    return ast.UnaryOp(ast.USub(), op.input)


def _detach(op: Operation) -> ast.expr:
    return syntax.stopped(op.input)


def _softmax_backward(op: Operation) -> ast.expr:
    """Write the gradient of a softmax, `y * (g - (g * y).sum())`, in the dtype of its input."""
    grad = op.scope.once(op.code(0, "grad_output"), "grad")
    output = op.scope.once(op.code(1, "output"), "y")
    product = ast.BinOp(grad, ast.Mult(), output)
    total = syntax.call(
        syntax.attribute(product, "sum"), axis=op.code(2, "dim"), keepdims=syntax.constant(True)
    )
    code = ast.BinOp(output, ast.Mult(), ast.BinOp(grad, ast.Sub(), total))
    return syntax.call(syntax.attribute(code, "astype"), op.code(3, "input_dtype"))


RULES: dict[str, Callable[[Operation], Any]] = {
    "_softmax_backward_data": _softmax_backward,
    "exp": _function("jnp.exp"), "log": _function("jnp.log"), "sin": _function("jnp.sin"),
    "cos": _function("jnp.cos"), "tanh": _function("jnp.tanh"), "expm1": _function("jnp.expm1"),
    "log1p": _function("jnp.log1p"), "sigmoid": _function("jax.nn.sigmoid"),
    "relu": _function("jax.nn.relu"), "silu": _function("jax.nn.silu"),
    "rsqrt": _function("lax.rsqrt"), "square": _function("jnp.square"),
    "floor": _function("jnp.floor"), "ceil": _function("jnp.ceil"), "neg": _negative,
    "logical_not": _function("jnp.logical_not"), "isnan": _function("jnp.isnan"),
    "isinf": _function("jnp.isinf"), "isfinite": _function("jnp.isfinite"),
    "logical_and": _logical("jnp.logical_and"), "logical_or": _logical("jnp.logical_or"),
    "logical_xor": _logical("jnp.logical_xor"),
    "bitwise_and": _operator(ast.BitAnd), "bitwise_or": _operator(ast.BitOr),
    "add": _operator(ast.Add), "sub": _operator(ast.Sub), "mul": _operator(ast.Mult),
    "div": _operator(ast.Div), "true_divide": _operator(ast.Div), "multiply": _operator(ast.Mult),
    "subtract": _operator(ast.Sub), "divide": _operator(ast.Div),
    "floor_divide": _operator(ast.FloorDiv), "eq": _comparison(ast.Eq),
    "ne": _comparison(ast.NotEq),
    "lt": _comparison(ast.Lt), "le": _comparison(ast.LtE), "gt": _comparison(ast.Gt),
    "ge": _comparison(ast.GtE), "matmul": _matmul, "bmm": _matmul, "mm": _matmul, "mv": _matmul,
    "einsum": _einsum, "pow": _pow, "sum": _reduction("sum"), "mean": _reduction("mean"),
    "softmax": _softmax("jax.nn.softmax"), "log_softmax": _softmax("jax.nn.log_softmax"),
    "cumsum": _cumsum, "histc": _histogram,
    "tril": _triangle("jnp.tril"), "triu": _triangle("jnp.triu"),
    "argmax": _position("argmax"), "argmin": _position("argmin"), "detach": _detach,
    "real": _function("jnp.real"), "imag": _function("jnp.imag"),
}  # fmt: skip
