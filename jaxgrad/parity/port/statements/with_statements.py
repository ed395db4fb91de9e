"""Interpret `with` statements: gradient modes, autocast and the user's context managers."""

from __future__ import annotations

import ast

import torch

from jaxgrad.parity.port.functions import context_managers
from jaxgrad.parity.port.statements import regions
from jaxgrad.parity.port.values.binding import bind
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Value
from jaxgrad.parity.port.values.values import folded


def with_statement(node: ast.With, scope: Scope) -> None:
    """Interpret a `with` statement; its managers are entered one after the other."""
    item, *rest = node.items
    body: list[ast.stmt] = (
        [ast.copy_location(ast.With(rest, node.body), node)] if rest else node.body
    )
    context = scope.run.evaluate(item.context_expr, scope)

    def block(value: Value) -> None:
        if isinstance(item.optional_vars, ast.Name):
            bind(item.optional_vars.id, value, scope)
        elif item.optional_vars is not None:
            raise scope.refuse("`with ... as` takes one name; unpack it inside of the block", node)
        scope.run.execute(body, scope)

    if isinstance(context, context_managers.Manager):
        context_managers.enter(context, block, scope, node)
    elif isinstance(context.real, torch.autocast):
        regions.autocast(ast.copy_location(ast.With([item], body), node), context.real, scope)
    else:
        scope.hold_comments_above(node)
        with context_managers.entered(context.real, scope, node) as value:
            block(folded(value))
