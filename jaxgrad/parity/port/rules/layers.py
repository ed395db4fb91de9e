"""Operators of layers that depend on the mode, or whose results have another form."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.rules import functional
from jaxgrad.parity.port.rules.operation import Operation


def _dropout(op: Operation) -> ast.expr:
    if op.get(2, "training", True) and op.get(1, "p", 0.5) > 0:
        raise op.refuse("dropout in train mode is not ported yet; call module.eval() first")
    return op.input


def _batch_norm(op: Operation) -> ast.expr:
    if op.get(5, "training", False):
        raise op.refuse("batch norm in train mode is not ported yet; call module.eval() first")
    return syntax.attribute(functional.write(op), "output")


def _attention(op: Operation) -> ast.expr:
    if op.get(4, "dropout_p", 0.0) > 0:
        raise op.refuse("dropout in attention is not ported yet; call module.eval() first")
    return functional.write(op)


RULES: dict[str, Callable[[Operation], Any]] = {
    "dropout": _dropout, "dropout1d": _dropout, "dropout2d": _dropout, "dropout3d": _dropout,
    "alpha_dropout": _dropout, "feature_alpha_dropout": _dropout, "batch_norm": _batch_norm,
    "scaled_dot_product_attention": _attention,
}  # fmt: skip
