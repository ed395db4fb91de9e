"""Write `x, p["bn"] = norm(p["bn"], x)` where a module changes its buffers.

The statements `norm_out, bn = norm(p["bn"], x)`, `p = {**p, "bn": bn}` and `x = norm_out` become
one. The function then begins with a copy of its params, because the caller's stay as they are.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import copy_remarks, on_expression
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


def with_updates_in_place(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with new buffers assigned to their place in a copy of the params."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef) and not _has_nested(written.node):
            _update(written.node)
    return list(functions)


def _has_nested(function: ast.FunctionDef) -> bool:
    return any(isinstance(n, ast.FunctionDef) for n in ast.walk(function) if n is not function)


def _update(function: ast.FunctionDef) -> None:
    reads = Counter(name for s in function.body for name in _reads(s))
    options = {a.arg for a in function.args.kwonlyargs}
    kinds: set[str] = set()
    blocks = [function.body, *_blocks(function)]
    for block in blocks:
        _merge_params(block, reads, kinds)
    if kinds <= {"dict"}:
        for block in blocks:
            _store_leaves(block, reads, kinds)
    for block in blocks:
        _merge_results(block, reads, options)
    if len(kinds) == 1:
        copied = syntax.call(kinds.pop(), param_paths.params())
        function.body.insert(0, param_paths.assigned(copied))


def _reads(node: ast.AST) -> list[str]:
    """Return the variables that a node reads; a function of the port may have the same name."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return [n.id for n in names if not syntax.is_written(n)]


def _blocks(function: ast.FunctionDef) -> list[list[ast.stmt]]:
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.If):
            found += [node.body, node.orelse]
    return found


def _merge_params(block: list[ast.stmt], reads: Counter[str], kinds: set[str]) -> None:
    """Write `a, b = f(x)` and `p = {**p, "b": b}` as `a, p["b"] = f(x)`."""
    for n in reversed(range(len(block) - 1)):
        first, second = block[n], block[n + 1]
        place = _place(second)
        if place is None or not isinstance(first, ast.Assign):
            continue
        target, value = first.targets[0], second.value  # pyright: ignore[reportAttributeAccessIssue]
        label = _new_value(value)
        names = target.elts if isinstance(target, ast.Tuple) else []
        if not names or not isinstance(label, ast.Name) or reads[label.id] != 1:
            continue
        if syntax.text(names[-1]) == label.id:
            names[-1] = place
            del block[n + 1]
            kinds.add("dict" if isinstance(value, ast.Dict) else "list")


def _store_leaves(block: list[ast.stmt], reads: Counter[str], kinds: set[str]) -> None:
    """Write `p = {**p, "a": a, "b": b}` as `p["a"], p["b"] = a, b`, or where `a` gets its value."""
    for n in reversed(range(len(block))):
        statement = block[n]
        leaves = _leaves(statement)
        if not leaves:
            continue
        kinds.add("dict")
        places = {v.id: k for k, v in leaves.items() if isinstance(v, ast.Name)}
        before = block[n - 1] if n else None
        target = before.targets[0] if isinstance(before, ast.Assign) else None
        made = target.elts if isinstance(target, ast.Tuple) else []
        if len(places) == len(leaves) and all(
            reads[name] == 1 and any(syntax.text(x) == name for x in made) for name in places
        ):
            for at, part in enumerate(made):
                if syntax.text(part) in places:
                    made[at] = _leaf(places[syntax.text(part)])
            del block[n]
            continue
        new: list[ast.stmt] = [ast.Assign([_leaf(k)], v) for k, v in leaves.items()]
        copy_remarks(statement, new[0])
        block[n : n + 1] = new


def _leaves(statement: ast.stmt) -> dict[str, ast.expr]:
    """Return the new values of `p = {**p, "a": a, "b": b}`, unless one depends on another."""
    value = param_paths.new_params(statement)
    if not isinstance(value, ast.Dict) or value.keys[0] is not None:
        return {}
    if not param_paths.is_params(value.values[0]) or not all(
        isinstance(k, ast.Constant) and isinstance(k.value, str) for k in value.keys[1:]
    ):
        return {}
    leaves = {k.value: v for k, v in zip(value.keys[1:], value.values[1:], strict=True)}  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    several = len(leaves) > 1 and any(PARAMS in _reads(v) for v in leaves.values())
    return {} if several else leaves


def _leaf(key: str) -> ast.Subscript:
    return ast.Subscript(param_paths.params(), syntax.constant(key), ast.Store())


def _place(statement: ast.stmt) -> ast.Subscript | None:
    """Return `p["b"]` of `p = {**p, "b": b}`, and `p[1]` of `p = [*p[:1], b, *p[2:]]`."""
    params = param_paths.params()
    value = param_paths.new_params(statement)
    match value:
        case ast.Dict([None, ast.expr() as key], [whole, _]) if param_paths.is_params(whole):
            return ast.Subscript(params, key, ast.Store())
        case ast.List([*_, new, ast.Starred(ast.Subscript(slice=ast.Slice(ast.Constant(int(n)))))]):
            if syntax.same(value, param_paths.replaced([n - 1], params, new)):
                return ast.Subscript(params, syntax.constant(n - 1), ast.Store())
    return None


def _new_value(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Dict):
        return value.values[1]
    assert isinstance(value, ast.List)
    return value.elts[-2]


def _merge_results(block: list[ast.stmt], reads: Counter[str], options: set[str]) -> None:
    """Give the result of a call that returns its params too the name under which it is used."""
    for n in reversed(range(len(block) - 1)):
        statement = block[n]
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple):
            continue
        result = statement.targets[0].elts[0]
        if not isinstance(result, ast.Name) or not on_expression(result).result:
            continue
        if reads[result.id] != sum(_reads(s).count(result.id) for s in block):
            continue  # another block reads it
        rest = list(_until_assigned(result.id, block[n + 1 :]))
        if any(result.id in _reads(s) for s in block[n + 1 + len(rest) :][:1]):
            continue
        new = _name_for(statement, result.id, rest)
        if new is None or new in options:
            continue
        reads[result.id] -= sum(_reads(s).count(result.id) for s in rest)
        for later in rest:
            syntax.rename_variables(later, {result.id: new})
        result.id = new
        if rest and _is_same_name(rest[0]):
            block.remove(rest[0])


def _until_assigned(name: str, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that can read a value of a variable."""
    for statement in body:
        if name in syntax.assigned(statement):
            break
        yield statement


def _is_same_name(statement: ast.stmt) -> bool:
    is_assign = isinstance(statement, ast.Assign)
    return is_assign and syntax.text(statement.targets[0]) == syntax.text(statement.value)


def _name_for(statement: ast.Assign, result: str, rest: Sequence[ast.stmt]) -> str | None:
    """Return the variable of the next statement, or an argument that is not read any more."""
    last = max((n for n, s in enumerate(rest) if result in _reads(s)), default=-1)
    if last < 0:
        return None
    following = rest[: last + 1]
    reads = {name for s in following for name in _reads(s)}
    final = following[-1]
    target = final.targets[0] if isinstance(final, ast.Assign) else None
    target = syntax.result_target(target)
    if isinstance(target, ast.Name):
        name = target.id
        if name not in reads and not any(name in syntax.assigned(s) for s in following[:-1]):
            return name
    if not isinstance(final, ast.Return):
        return None
    keys = {code.id for code in draws.keys(statement.value)}
    names = [n for n in _reads(statement.value) if n not in keys]
    return next((n for n in names if _is_free(n, following)), None)


def _is_free(name: str, following: Sequence[ast.stmt]) -> bool:
    """Return whether a variable is an array whose value is not needed any more."""
    if name in RESERVED or name == TRAINING:
        return False
    return all(name not in {*_reads(s), *syntax.assigned(s)} for s in following)
