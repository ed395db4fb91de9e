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
from jaxgrad.parity.port.values.kinds_of_values import Value


RULES: dict[str, Any] = {
    **shapes.RULES, **joins.RULES, **selections.RULES, **creation.RULES, **random.RULES,
    **mathematics.RULES, **equal_forms.RULES, **layers.RULES,
}  # fmt: skip


def write(operation: Operation) -> Value | ast.expr:
    """Return the code of an operator, or its value if it is not computed by the port.

    Raises:
        PortError: The operator has no counterpart.
    """
    rule = RULES.get(operation.name)
    written = None if rule is None else rule(operation)
    return functional.write(operation) if written is None else written
