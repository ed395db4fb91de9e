"""Split the random key of a function once, at its first use; a key with one use is not split."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement, put_comments_above
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


def with_few_splits(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with at most one split each, without a helper that nothing calls."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            _split_once(written.node)
    called = {name for w in functions for name in syntax.names_in(w.node)}
    return [w for w in functions if w.name != draws.SPLIT or draws.SPLIT in called]


def _split_once(function: ast.FunctionDef) -> None:
    if any(_is_nested(node) for node in ast.walk(function) if node is not function):
        return  # the key is a variable of another function
    splits = list(_splits(function.body))
    if not splits:
        return
    source = splits[0].value.func  # pyright: ignore[reportAttributeAccessIssue]
    taken = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    names: list[str] = []
    _tell_loops_apart(function, taken)
    function.body = _renamed(function.body, {}, names, taken)
    keeps_rng = draws.RNG in {n for s in function.body for n in syntax.names_in(s)}
    if len(names) == 1 and not keeps_rng:
        function.body = [syntax.rename_variables(s, {names[0]: draws.RNG}) for s in function.body]
    elif names:
        names = _told_apart(names, function, taken)
        read = re.findall(r"\w+", "\n".join(map(syntax.text, function.body)))
        names.sort(key=lambda name: read.index(name) if name in read else len(read))
        targets = [draws.RNG, *names] if keeps_rng else names
        place = next(n for n, s in enumerate(function.body) if _reads_key(s))
        function.body.insert(place, _split(targets, source))


def _tell_loops_apart(function: ast.FunctionDef, taken: set[str]) -> None:
    """Rename a key that loops split in each turn if the function has a key of this name too.

    The function's own key is split at its start, and the loop would replace it.
    """
    loops = [s for s in function.body if isinstance(s, ast.For)]
    inside = {key for split in _splits(loops) for key in _keys_of(split)}
    others = [s for s in function.body if not isinstance(s, ast.For)]
    outside = {key for split in _splits(others) for key in _keys_of(split)}
    new = {key: syntax.unique(f"loop_{key}", taken) for key in sorted(inside & outside)}
    taken.update(new.values())
    for loop in loops:
        own = {key for split in _splits([loop]) for key in _keys_of(split)}
        syntax.rename_variables(loop, {key: new[key] for key in own & set(new)})


def _told_apart(names: list[str], function: ast.FunctionDef, taken: set[str]) -> list[str]:
    """Return other names for keys of one kind: what they are for, else numbers from 1."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(re.sub(r"_\d+$", "", name), []).append(name)
    new: dict[str, str] = {}
    for kind, alike in groups.items():
        if len(alike) < 2:
            continue
        labels = [f"{_purpose(name, function)}_{draws.RNG}" for name in alike]
        used = {*taken, *names, f"_{draws.RNG}"}
        known = {n: x for n, x in zip(alike, labels, strict=True)
                 if x not in used and labels.count(x) == 1}  # fmt: skip
        others = [name for name in alike if name not in known]
        numbers = [kind] if len(others) == 1 else [f"{kind}_{n}" for n in range(1, len(others) + 1)]
        new |= known | dict(zip(others, numbers, strict=True))
    function.body = [syntax.rename_variables(s, new) for s in function.body]
    return [new.get(name, name) for name in names]


def _purpose(key: str, function: ast.FunctionDef) -> str:
    """Return the name of the module that a call with a key draws for: `self_attn`."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not any(
            isinstance(k.value, ast.Name) and k.value.id == key for k in node.keywords
        ):
            continue
        own = syntax.is_written(node.func)
        part = node if own else next(iter(node.args), None)
        if isinstance(part, ast.Name):
            values = [s.value for s in ast.walk(function) if isinstance(s, ast.Assign)
                      and syntax.text(s.targets[0]) == part.id]  # fmt: skip
            part = values[0] if len(values) == 1 else None
        return syntax.params_key(part)
    return ""


def _is_nested(node: ast.AST) -> bool:
    """Return whether a node is a nested function that splits the key."""
    return isinstance(node, ast.FunctionDef) and any(
        on_statement(inner).splits for inner in ast.walk(node)
    )


def _splits(body: Sequence[ast.stmt]) -> Iterator[ast.Assign]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and on_statement(node).splits:
                yield node


def _split(targets: Sequence[str], source: ast.expr) -> ast.Assign:
    """Return `a, b = jax.random.split(rng)`."""
    count = [syntax.constant(len(targets))] if len(targets) > 2 else []
    stored: list[ast.expr] = [ast.Name(n, ast.Store()) for n in targets]
    call = ast.Call(source, [syntax.name(draws.RNG), *count], [])
    statement = ast.Assign([ast.Tuple(stored, ast.Store())], call)
    on_statement(statement).splits = True
    return statement


def _reads_key(statement: ast.stmt) -> bool:
    return any(draws.is_key(name) for name in syntax.names_in(statement))


def _renamed(
    body: Sequence[ast.stmt], current: dict[str, str], names: list[str], taken: set[str]
) -> list[ast.stmt]:
    """Return statements without splits; each key has a name of its own, which `names` gets."""
    kept: list[ast.stmt] = []
    comments: list[str] = []
    for statement in body:
        if isinstance(statement, ast.Assign) and on_statement(statement).splits:
            comments += on_statement(statement).comments
            for old in _keys_of(statement):
                current[old] = old if old not in names else syntax.unique(old, {*taken, *names})
                names.append(current[old])
            continue
        new = _with_keys(statement, current, names, taken)
        if comments:
            put_comments_above(new, comments)
            comments = []
        kept.append(new)
    return kept


def _with_keys(
    statement: ast.stmt, current: dict[str, str], names: list[str], taken: set[str]
) -> ast.stmt:
    """Return a statement that reads the keys by their new names."""
    if isinstance(statement, ast.If):
        statement.body = _renamed(statement.body, dict(current), names, taken)
        statement.orelse = _renamed(statement.orelse, dict(current), names, taken)
        return statement
    if not isinstance(statement, ast.For):
        return syntax.rename_variables(statement, current)
    loop = _loop(statement, names, taken)
    own = {name for split in _splits([loop]) for name in _keys_of(split)}
    return syntax.rename_variables(loop, {k: v for k, v in current.items() if k not in own})


def _loop(loop: ast.For, names: list[str], taken: set[str]) -> ast.For:
    """Return a loop that splits a key of its own into one for each module that it goes over.

    A loop over anything else splits `rng` in each turn.
    """
    first = loop.body[0]
    splits = list(_splits(loop.body))
    plain = isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Name | ast.Subscript)
    if not plain or splits != [first] or len(_keys_of(splits[0])) != 1:
        return loop
    (key,) = _keys_of(splits[0])
    label = loop.iter.slice.value if isinstance(loop.iter, ast.Subscript) else loop.target.id  # pyright: ignore[reportAttributeAccessIssue]
    if label == loop.target.id:  # pyright: ignore[reportAttributeAccessIssue]
        label = f"{label}s"
    own = syntax.unique(f"{label}_rng", {*taken, *names})
    names.append(own)
    inner = f"{loop.target.id}_rng"  # pyright: ignore[reportAttributeAccessIssue]
    if inner not in {*taken, *names}:
        loop.body = [syntax.rename_variables(s, {key: inner}) for s in loop.body]
        key = inner
    count = syntax.call("len", loop.iter)
    call = ast.Call(splits[0].value.func, [syntax.name(own), count], [])  # pyright: ignore[reportAttributeAccessIssue]
    target = ast.Tuple([loop.target, ast.Name(key, ast.Store())], ast.Store())
    new = ast.For(target, syntax.call("zip", loop.iter, call), loop.body[1:], loop.orelse)
    on_statement(new).comments = (*on_statement(loop).comments, *on_statement(first).comments)
    return new


def _keys_of(split: ast.Assign) -> list[str]:
    (target,) = split.targets
    assert isinstance(target, ast.Tuple)
    return [x.id for x in target.elts if isinstance(x, ast.Name) and x.id != draws.RNG]
