"""Interpret a branch on a size: both arms are written, as `if`."""

from __future__ import annotations

import ast
import copy

from jaxgrad.parity.port.expressions.conditions import opposite
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.statements import branches
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.size_tests import are_alike, are_one_number
from jaxgrad.parity.port.values.value_types import Size, Tensor, Value
from jaxgrad.parity.port.values.values import code_of


_ALONE = (
    ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.Global, ast.Nonlocal,
    ast.FunctionDef, ast.Lambda,
)  # fmt: skip


def can_be_written(node: ast.If) -> bool:
    """Return whether the arms of a branch assign variables, and do nothing else."""
    inner = [n for statement in (*node.body, *node.orelse) for n in ast.walk(statement)]
    targets = [n for n in inner if isinstance(n, ast.Attribute | ast.Subscript)]
    stores = any(isinstance(n.ctx, ast.Store | ast.Del) for n in targets)
    return not stores and not any(isinstance(n, _ALONE) for n in inner)


def branch(node: ast.If, test: Size, scope: Scope) -> None:
    """Interpret `if size > 1:`; the arm that torch takes is interpreted last, on the same values.

    Raises:
        PortError: The other arm cannot be written, or the arms change more than variables.
    """
    remarks = [*scope.pending_comments, *scope.comments_above(node.lineno)]
    before, taken = dict(scope.values), bool(test.real)
    arms: dict[bool, branches.Arm] = {}
    for which in (not taken, taken):
        scope.drop_comments(until=node.lineno)
        scope.values.clear()
        scope.values.update(before)
        try:
            arms[which] = branches.arm(node.body if which else node.orelse, scope, node)
        except PortError as error:
            if which == taken:
                raise
            raise scope.refuse(f"the other arm cannot be written: {error}", node.test) from None
    if any(PARAMS in syntax.assigned(s) for arm in arms.values() for s in arm.body):
        raise scope.refuse(
            "a buffer changes in one arm of a branch on a size; update it after the branch",
            node.test,
        )
    scope.begin(node)
    scope.drop_comments(until=node.end_lineno or node.lineno)
    after = _joined(before, arms, taken, scope)
    scope.values.clear()
    scope.values.update(after)
    then, otherwise = arms[True].body, arms[False].body
    if not then and not otherwise:
        return
    code = code_of(test)
    scope.emit(ast.If(code, then, otherwise) if then else ast.If(opposite(code), otherwise, []))
    on_statement(scope.body[-1]).comments = tuple(remarks)


def _joined(
    before: dict[str, Value], arms: dict[bool, branches.Arm], taken: bool, scope: Scope
) -> dict[str, Value]:
    """Return the variables after a branch, and let each arm assign those that change.

    A variable that has no value in one arm, or one of another kind, has none after the branch.
    """
    after = dict(before)
    added: dict[bool, list[tuple[str, ast.expr]]] = {True: [], False: []}
    for name in dict.fromkeys([*before, *arms[taken].values, *arms[not taken].values]):
        values = {which: arm.values.get(name) for which, arm in arms.items()}
        found, other = values[taken], values[not taken]
        if found is not None and (found is other or are_one_number(found, other)):
            after[name] = found
        elif found is None or other is None or not are_alike(found, other):
            after.pop(name, None)
        else:
            local = scope.local(name)
            for which, value in ((taken, found), (not taken, other)):
                code = code_of(value)
                if not syntax.is_name(code, local):
                    added[which].append((local, code))
            kind = Tensor if isinstance(found, Tensor) else Size
            after[name] = kind(found.real, syntax.name(local))
    for which, pairs in added.items():
        arms[which].body += _assignment(pairs)
    return after


def _assignment(pairs: list[tuple[str, ast.expr]]) -> list[ast.stmt]:
    """Return `a, b = x, y`."""
    if not pairs:
        return []
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name, _ in pairs]
    codes = [copy.deepcopy(code) for _, code in pairs]
    if len(pairs) == 1:
        return [ast.Assign(targets, codes[0])]
    return [ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(codes, ast.Load()))]
