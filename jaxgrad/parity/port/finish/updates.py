"""Let a function that updates its params change a copy, because the caller's stay as they are.

The update `norm_out, p["norm"] = norm(p["norm"], x)` and `x = norm_out` become one statement after
`p = dict(p)`, which copies the outermost dict, or all of them if the update is inside an inner one.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from jaxgrad.parity.port.finish.names import reads_whole
from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


def with_copied_params(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with a copy of the params that they update."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            _write(written.node)
    return list(functions)


def _write(function: ast.FunctionDef) -> None:
    reads = Counter(name for s in function.body for name in syntax.variables_read(s))
    options = {a.arg for a in function.args.kwonlyargs}
    blocks = [function.body, *_blocks(function)]
    if not any(isinstance(n, ast.FunctionDef) for n in ast.walk(function) if n is not function):
        for block in blocks:
            _merge_results(block, reads, options)
    for block in blocks:
        _join(block, reads)
    _copy(function.body, {a.arg for a in function.args.args})
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            on_statement(node).update = None


def _blocks(function: ast.FunctionDef) -> list[list[ast.stmt]]:
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.If):
            found += [node.body, node.orelse]
        elif isinstance(node, ast.FunctionDef) and node is not function:
            found.append(node.body)
    return found


def _join(block: list[ast.stmt], reads: Counter[str]) -> None:
    """Write `a, b = f(x)` and `p["b"] = b` as `a, p["b"] = f(x)`."""
    kept: list[ast.stmt] = []
    for statement in block:
        before = kept[-1] if kept else None
        target = before.targets[0] if isinstance(before, ast.Assign) else None
        parts = target.elts if isinstance(target, ast.Tuple) else []
        names = [x.id if isinstance(x, ast.Name) else "" for x in parts]
        match statement:
            case ast.Assign([ast.Subscript() as place], ast.Name(new)) if (
                on_statement(statement).update is not None and new in names and reads[new] == 1
            ):
                parts[names.index(new)] = place
                on_statement(kept[-1]).update = on_statement(statement).update
            case _:
                kept.append(statement)
    block[:] = kept


_Places = dict[str, list[ast.expr]]  # by the variable of the params


def _copy(body: list[ast.stmt], bound: set[str]) -> _Places:
    """Copy the params that a block updates, where their variable gets its value.

    Args:
        body: The block.
        bound: The variables that the block gets from its loop or its function.

    Returns:
        The updates whose params are to be copied outside of the block.
    """
    places: _Places = defaultdict(list)
    for statement in body:
        for variable, keys in _updates(statement).items():
            places[variable] += keys
    for variable in list(places):
        given = [variable in syntax.assigned(s) - syntax.updated(s) for s in body]
        if variable in bound or any(given):  # `y, p = carry` begins the function of a scan
            start = 0 if variable in bound else given.index(True) + 1
            while _names_again(body[start], variable):
                start += 1
            copied = param_paths.copied(variable, places.pop(variable))
            body.insert(start, ast.Assign([ast.Name(variable, ast.Store())], copied))
    return places


def _updates(statement: ast.stmt) -> _Places:
    """Return the updates in a statement, without those whose params are copied in its blocks."""
    match statement:
        case ast.For():
            return _copy(statement.body, syntax.assigned(statement.target))
        case ast.FunctionDef():
            return _copy(statement.body, {a.arg for a in statement.args.args})
        case ast.If():
            arms = _copy(statement.body, set()), _copy(statement.orelse, set())
            return {x: [*arms[0].get(x, []), *arms[1].get(x, [])] for x in {**arms[0], **arms[1]}}
        case ast.Assign([target]) if on_statement(statement).update is not None:
            found: _Places = defaultdict(list)
            for place in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(place, ast.Subscript):
                    found[syntax.root(place)].append(place)
            return found
    return {}


def _names_again(statement: ast.stmt, variable: str) -> bool:
    """Return whether a statement is `given = p`, which keeps the params of the caller."""
    match statement:
        case ast.Assign([ast.Name()], ast.Name(name)):
            return name == variable
    return False


def _merge_results(block: list[ast.stmt], reads: Counter[str], options: set[str]) -> None:
    """Give the result of a call that returns its params too the name under which it is used."""
    for n in reversed(range(len(block) - 1)):
        statement = block[n]
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple):
            continue
        result = statement.targets[0].elts[0]
        if on_statement(statement).update is None or not isinstance(result, ast.Name):
            continue
        if reads[result.id] != sum(syntax.variables_read(s).count(result.id) for s in block):
            continue  # another block reads it
        rest = list(_until_assigned(result.id, block[n + 1 :]))
        if any(result.id in syntax.variables_read(s) for s in block[n + 1 + len(rest) :][:1]):
            continue
        new = _name_for(statement, result.id, rest)
        if new is None or new in options:
            continue
        reads[result.id] -= sum(syntax.variables_read(s).count(result.id) for s in rest)
        for later in rest:
            syntax.rename_variables(later, {result.id: new})
        result.id = new
        if rest and syntax.is_itself(rest[0]):
            block.remove(rest[0])


def _until_assigned(name: str, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that can read a value of a variable."""
    for statement in body:
        if name in syntax.assigned(statement):
            break
        yield statement


def _name_for(statement: ast.Assign, result: str, rest: Sequence[ast.stmt]) -> str | None:
    """Return the variable of the next statement, or an argument that is not read any more."""
    last = max((n for n, s in enumerate(rest) if result in syntax.variables_read(s)), default=-1)
    if last < 0:
        return None
    following = rest[: last + 1]
    if on_statement(statement).elements and not any(reads_whole(result, s) for s in following):
        return None
    reads = {name for s in following for name in syntax.variables_read(s)}
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
    names = [n for n in syntax.variables_read(statement.value) if n not in keys]
    return next((n for n in names if _is_free(n, following)), None)


def _is_free(name: str, following: Sequence[ast.stmt]) -> bool:
    """Return whether a variable is an array whose value is not needed any more."""
    if name in RESERVED or name == TRAINING:
        return False
    return all(name not in {*syntax.variables_read(s), *syntax.assigned(s)} for s in following)
