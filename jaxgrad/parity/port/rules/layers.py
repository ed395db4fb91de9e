"""Operators of layers that depend on the mode, or whose results have another form."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from torch import nn

from jaxgrad.functional import multi_head_attention_forward
from jaxgrad.parity.port.rules import functional
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.naming import snake
from jaxgrad.parity.port.values import draws, state
from jaxgrad.parity.port.values.value_types import Module


def _dropout(op: Operation) -> ast.expr:
    if not op.get(2, "training", True) or op.get(1, "p", 0.5) == 0:
        return op.input
    op.keywords.pop("training", None)
    kept = op.args[:2]
    code = functional.write(dataclasses.replace(op, args=kept), key=draws.key(_label(op)))
    if isinstance(code, ast.Call) and len(code.args) < 2:
        if all(k.arg != "p" for k in code.keywords):  # no reader knows the default
            code.keywords.insert(0, ast.keyword("p", syntax.constant(0.5)))
    return code


def _label(op: Operation) -> str:
    """Return the name of the attribute that holds a layer of dropout, if it has one."""
    module = next(iter(op.scope.values.values()), None)
    if not isinstance(module, Module) or type(module.real) not in _DROPOUTS:
        return "dropout"
    name = module.path.rpartition(".")[2]
    return snake(name) if name.isidentifier() else "dropout"


def _batch_norm(op: Operation) -> ast.expr:
    normed = functional.write(op)
    changes = op.get(5, "training", False) or op.scope.stateful
    if not changes or op.get(1, "running_mean") is None:
        return syntax.attribute(normed, "output")
    result = op.scope.assign(op.scope.fresh("normed"), normed)
    for position, name in ((1, "running_mean"), (2, "running_var")):
        state.store(op.code(position, name), syntax.attribute(result, name), op.scope, op.node)
    return syntax.attribute(result, "output")


def _attention(op: Operation) -> ast.expr:
    if op.get(4, "dropout_p", 0.0) > 0:
        return functional.write(op, dropout_key=draws.key("attention"))
    return functional.write(op)


def _multi_head_attention(op: Operation) -> ast.expr:
    drops = op.get(10, "dropout_p", 0.0) > 0
    if not drops:
        op.keywords.pop("training", None)  # it has no effect
    has_key = drops and op.get(13, "training", True)
    code = functional.write(op, **({"dropout_key": draws.key("attention")} if has_key else {}))
    return _with_keywords(code, multi_head_attention_forward, 3)


def _with_keywords(code: ast.expr, function: Callable[..., Any], by_position: int) -> ast.expr:
    """Return a call that passes all but the first arguments by name."""
    assert isinstance(code, ast.Call)
    names = list(inspect.signature(function).parameters)
    named = zip(names[by_position:], code.args[by_position:], strict=False)
    keywords = [ast.keyword(name, argument) for name, argument in named]
    code.args, code.keywords = code.args[:by_position], [*keywords, *code.keywords]
    return code


def _weight_norm(op: Operation) -> ast.expr:
    """Return `g * v / |v|`, with the norm over every dimension but one; -1 is none of them."""
    assert op.shape is not None
    v, dim = op.once(), op.get(2, "dim", 0)
    axes = tuple(n for n in range(len(op.shape)) if n != dim)
    norm = syntax.call_functional(
        "norm", v, dim=syntax.literal(axes), keepdim=syntax.constant(True)
    )
    return ast.BinOp(v, ast.Mult(), ast.BinOp(op.code(1, "g"), ast.Div(), norm))


def _hardtanh(op: Operation) -> ast.expr:
    if (op.get(1, "min_val", -1.0), op.get(2, "max_val", 1.0)) == (0, 6):
        return syntax.call_functional("relu6", op.input)
    return functional.write(op)


_DROPOUTS = (
    nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout,
)  # fmt: skip
RULES: dict[str, Callable[[Operation], Any]] = {
    "dropout": _dropout, "dropout1d": _dropout, "dropout2d": _dropout, "dropout3d": _dropout,
    "alpha_dropout": _dropout, "feature_alpha_dropout": _dropout, "batch_norm": _batch_norm,
    "scaled_dot_product_attention": _attention, "hardtanh": _hardtanh,
    "_weight_norm": _weight_norm, "multi_head_attention_forward": _multi_head_attention,
}  # fmt: skip
