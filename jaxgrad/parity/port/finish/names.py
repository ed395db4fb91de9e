"""Give an intermediate value the name of the variable that is computed from it.

`y = f(x)` and `q = y.reshape(n)` become `q = f(x)` and `q = q.reshape(n)`, and `bias = mask` and
`bias = bias + b` become `bias = mask + b`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import has_remarks, on_statement
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


def with_few_names(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with the author's names in place of the port's where possible."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            _rename(written.node)
    return list(functions)


def is_temporary(statement: ast.stmt) -> bool:
    """Return whether a statement names a value that has no name in the torch program."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    return on_statement(statement).temporary or _numbered(statement.targets[0].id) is not None


def _numbered(name: str) -> str | None:
    """Return `x` of `x_2`, and None of a name without a number."""
    match = re.fullmatch(r"(\w+?)_\d+", name)
    return match[1] if match else None


def _rename(function: ast.FunctionDef) -> None:
    parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    blocks = [function.body]
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.If):
            blocks += [node.body, node.orelse]
    for block in blocks:
        block[:] = _with_named_parts(block, function)
        for old in dict.fromkeys(s.targets[0].id for s in block if is_temporary(s)):  # pyright: ignore[reportAttributeAccessIssue]
            starts = [n for n, s in enumerate(block) if old in syntax.assigned(s)]
            if starts and old not in parameters:
                _rename_one(old, starts[0], block, function)
        _join_aliases(block)
    _drop_numbers(function, parameters)
    _reuse_names(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Lambda):
            _drop_numbers_of_arguments(node)


def _with_named_parts(block: list[ast.stmt], function: ast.FunctionDef) -> list[ast.stmt]:
    """Write `q = f(x)` and `k = g(x)` for `x_2 = f(x)`, `x_3 = g(x)` and `q, k = x_2, x_3`."""
    found: list[ast.stmt] = []
    for n, statement in enumerate(block):
        match statement:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                left = [
                    (target, value)
                    for target, value in zip(targets, values, strict=True)
                    if not _name_part(target, value, block[: n + 1], function)
                ]
                if left and len(left) < len(targets):
                    found += [ast.Assign([target], value) for target, value in left]
                elif left:
                    found.append(statement)
            case _:
                found.append(statement)
    return found


def _name_part(
    target: ast.expr, value: ast.expr, before: list[ast.stmt], function: ast.FunctionDef
) -> bool:
    """Give a numbered variable the name to which it is assigned last, and return whether it has."""
    if not (isinstance(target, ast.Name) and isinstance(value, ast.Name) and _numbered(value.id)):
        return False
    old, new = value.id, target.id
    start = next((n for n, s in enumerate(before) if old in syntax.assigned(s)), None)
    if start is None or any(_occurs(new, s) for s in before[start:-1]):
        return False
    if sum(_occurs(old, s) for s in function.body) != sum(_occurs(old, s) for s in before[start:]):
        return False
    for statement in before[start:-1]:
        _replace(statement, old, new)
    return True


def _reuse_names(function: ast.FunctionDef) -> None:
    """Write `windows` for `windows_2` if nothing needs the value that `windows` has."""
    nested = [n for n in ast.walk(function) if isinstance(n, ast.Lambda | ast.FunctionDef)]
    captured = {x for n in nested if n is not function for x in syntax.names_in(n)}
    for n, statement in enumerate(function.body):
        if not isinstance(statement, ast.Assign):
            continue
        after = function.body[n + 1 :]
        stored = [x for x in ast.walk(statement) if isinstance(x, ast.Name) and _is_store(x)]
        stored = [x for x in stored if not draws.is_key(x)]
        for target in stored:
            new = _numbered(target.id)
            others = [x.id for x in stored if x is not target]
            if new is None or new in {*others, *captured, *RESERVED} or target.id in captured:
                continue
            if any(_occurs(target.id, s) for s in function.body[:n]) or any(
                _occurs(new, s) for s in after
            ):
                continue
            if target.id in syntax.names_in(statement) or "temporary" in new:
                continue
            if any(_has_siblings(target.id, s) for s in after):
                continue
            for earlier in function.body[:n]:
                if new in syntax.assigned(earlier):
                    on_statement(earlier).temporary = False  # the name is used again
            for later in after:
                _replace(later, target.id, new)
            target.id = new


def _drop_numbers_of_arguments(function: ast.Lambda) -> None:
    """Write `lambda x: f(x)` for `lambda x_2: f(x_2)`."""
    names = {n.id for n in ast.walk(function.body) if isinstance(n, ast.Name)}
    for argument in function.args.args:
        new = _numbered(argument.arg)
        if new is not None and new not in {*names, *(a.arg for a in function.args.args)}:
            for node in ast.walk(function.body):
                if syntax.is_name(node, argument.arg):
                    node.id = new
            argument.arg = new


def _drop_numbers(function: ast.FunctionDef, parameters: set[str]) -> None:
    """Write `logits` for `logits_2` if nothing else has this name."""
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} | parameters
    kept = {code.id for code in draws.keys(function)}
    kept |= {n.name for n in ast.walk(function) if isinstance(n, ast.FunctionDef)}
    for old in sorted(names - parameters - kept):
        new = _numbered(old)
        alike = [n for n in names if n == new or _numbered(n) == new]
        if new is not None and alike == [old] and new not in RESERVED and "temporary" not in new:
            for statement in function.body:
                _replace(statement, old, new)
            names = (names - {old}) | {new}


def _is_store(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _rename_one(old: str, start: int, block: list[ast.stmt], function: ast.FunctionDef) -> None:
    """Rename a variable that one block assigns and reads."""
    readers = [n for n, s in enumerate(block) if n > start and _occurs(old, s)]
    total = sum(_occurs(old, s) for s in function.body)
    within = sum(_occurs(old, block[n]) for n in (start, *readers))
    if not readers or total != within or _has_siblings(old, block[readers[-1]]):
        return
    between = block[start + 1 : readers[-1] + 1]
    if on_statement(block[start]).elements and not any(reads_whole(old, s) for s in between):
        return
    if any(isinstance(n, ast.Lambda | ast.FunctionDef) for s in between for n in ast.walk(s)):
        return
    new = _target(block[readers[-1]]) or _free(old, block, start, readers[-1], function)
    if new is None or new in RESERVED or any(_occurs(new, s) for s in between[:-1]):
        return
    last = between[-1]
    if new in syntax.names_in(last):
        return
    for statement in block[start : readers[-1] + 1]:
        _replace(statement, old, new)
    if new == _target(last) and not is_temporary(last):
        for statement in between[:-1]:
            if new in syntax.assigned(statement):
                on_statement(statement).temporary = False  # the name is the torch program's
        on_statement(block[start]).temporary = False


def reads_whole(name: str, statement: ast.stmt) -> bool:
    """Return whether a statement reads a tuple or list as a whole, and not only its elements."""
    nodes = list(ast.walk(statement))
    parts = [n for n in nodes if isinstance(n, ast.Subscript) and syntax.is_name(n.value, name)]
    return sum(syntax.is_name(n, name) for n in nodes) > len(parts)


def _has_siblings(name: str, statement: ast.stmt) -> bool:
    """Return whether a variable is in a list with others of its name: `[head_0, head_1]`."""
    for node in ast.walk(statement):
        elements = [x.id for x in getattr(node, "elts", []) if isinstance(x, ast.Name)]
        alike = [x for x in elements if _numbered(x) == _numbered(name)]
        if name in elements and len(alike) > 1:
            return True
    return False


def _occurs(name: str, node: ast.AST) -> int:
    return sum(syntax.is_name(n, name) for n in ast.walk(node))


def _replace(statement: ast.stmt, old: str, new: str) -> None:
    syntax.rename_variables(statement, {old: new})


def _target(statement: ast.stmt) -> str | None:
    """Return the variable that a statement assigns, if it assigns one."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    target = syntax.result_target(target)
    return target.id if isinstance(target, ast.Name) else None


def _free(
    old: str, block: list[ast.stmt], start: int, end: int, function: ast.FunctionDef
) -> str | None:
    """Return a variable whose value nothing needs any more: `x` in place of `x_2`."""
    if block is not function.body:
        return None
    base = _numbered(old)
    known = [a.arg for a in function.args.args] + [
        name for s in block[:start] for name in sorted(syntax.assigned(s))
    ]
    names = [base] if base is not None else _rearranged(block[start])
    rest = block[start + 1 :]
    if not isinstance(block[end], ast.Return):
        return None
    return next((n for n in names if n in known and not any(_occurs(n, s) for s in rest)), None)


def _rearranged(statement: ast.stmt) -> list[str]:
    """Return `x` if a statement reads it, and `h` of `h.reshape(...)`."""
    match statement:
        case ast.Assign([_], ast.Call(ast.Attribute(ast.Name("h")))):
            return ["h"]
    return [n for n in syntax.names_in(statement) if n == "x"]


def _join_aliases(block: list[ast.stmt]) -> None:
    """Write `bias = mask` and `bias = bias + b` as `bias = mask + b`."""
    for n in reversed(range(len(block) - 1)):
        first, second = block[n], block[n + 1]
        if not (isinstance(first, ast.Assign) and isinstance(second, ast.Assign)):
            continue
        target, value = first.targets[0], first.value
        if not (isinstance(target, ast.Name) and isinstance(value, ast.Name)):
            continue
        same = syntax.is_name(second.targets[0], target.id)
        if same and not has_remarks(first) and not syntax.is_written(value):
            second.value = syntax.substitute(second.value, {target.id: value})
            del block[n]
