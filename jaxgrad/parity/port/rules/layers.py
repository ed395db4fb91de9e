"""Operators of layers that depend on the mode, or whose results have another form."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port import draws, state, syntax
from jaxgrad.parity.port.rules import functional
from jaxgrad.parity.port.rules.operation import Operation


def _dropout(op: Operation) -> ast.expr:
    if not op.get(2, "training", True) or op.get(1, "p", 0.5) == 0:
        return op.input
    op.keywords.pop("training", None)
    kept = op.args[:2]
    return functional.write(dataclasses.replace(op, args=kept), key=draws.key("dropout"))


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
    if op.get(10, "dropout_p", 0.0) > 0 and op.get(13, "training", True):
        return functional.write(op, dropout_key=draws.key("attention"))
    if op.get(10, "dropout_p", 0.0) == 0:
        op.keywords.pop("training", None)  # it has no effect
    return functional.write(op)


def _weight_norm(op: Operation) -> ast.expr:
    """Return `g * v / |v|`, with the norm over every dimension but one."""
    assert op.shape is not None
    v, dim = op.once(), op.get(2, "dim", 0)
    axes = tuple(n for n in range(len(op.shape)) if n != dim % len(op.shape))
    norm = syntax.call("F.norm", v, dim=syntax.literal(axes), keepdim=syntax.constant(True))
    return ast.BinOp(v, ast.Mult(), ast.BinOp(op.code(1, "g"), ast.Div(), norm))


def _hardtanh(op: Operation) -> ast.expr:
    if (op.get(1, "min_val", -1.0), op.get(2, "max_val", 1.0)) == (0, 6):
        return syntax.call("F.relu6", op.input)
    return functional.write(op)


RULES: dict[str, Callable[[Operation], Any]] = {
    "dropout": _dropout, "dropout1d": _dropout, "dropout2d": _dropout, "dropout3d": _dropout,
    "alpha_dropout": _dropout, "feature_alpha_dropout": _dropout, "batch_norm": _batch_norm,
    "scaled_dot_product_attention": _attention, "hardtanh": _hardtanh,
    "_weight_norm": _weight_norm, "multi_head_attention_forward": _multi_head_attention,
}  # fmt: skip
