"""Choose how an operator is written: JAX's own form, or `jaxgrad.functional`."""

from __future__ import annotations

import ast
from typing import Any

from jaxgrad.parity.port.rules import (
    creation,
    equal_forms,
    functional,
    joins,
    layers,
    mathematics,
    random,
    selections,
    shapes,
)
from jaxgrad.parity.port.rules.operation import Operation as Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.values.value_types import Tensor, Value


RULES: dict[str, Any] = {
    **shapes.RULES, **joins.RULES, **selections.RULES, **creation.RULES, **random.RULES,
    **mathematics.RULES, **equal_forms.RULES, **layers.RULES,
}  # fmt: skip


def write(operation: Operation) -> Value | ast.expr:
    """Return the code of an operator, or its value if it is not computed by the port.

    The code has the operator's name as its `Op`, unless the rule gives it another one.

    Raises:
        PortError: The operator has no counterpart.
    """
    rule = RULES.get(operation.name)
    written = None if rule is None else rule(operation)
    if written is None:
        return functional.write(operation)
    if isinstance(written, ast.expr) and on_expression(written).computes is None:
        if not _is_argument(written, operation):
            syntax.computing(operation.name, written)
    return written


def _is_argument(code: ast.expr, operation: Operation) -> bool:
    """Return whether a rule returns an argument as it is, such as dropout in eval mode."""
    values = [*operation.args, *operation.keywords.values()]
    codes = [x.code for x in values if isinstance(x, Tensor) and x.code is not None]
    return any(type(x) is type(code) and syntax.same(x, code) for x in codes)
