"""Split the random key of a function once, at its first use; a key with one use is not split."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from jaxgrad.parity.port.ir import Key
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


def with_few_splits(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with at most one split each, without a helper that nothing calls."""
    split = draws.split_function(functions)
    for written in functions:
        if isinstance(written.node, ast.FunctionDef) and draws.keys(written.node):
            _split_once(written.node, split)
    called = {name for w in functions for name in syntax.names_in(w.node)}
    return [w for w in functions if w.name != draws.SPLIT or draws.SPLIT in called]


def _split_once(function: ast.FunctionDef, split: str) -> None:
    """Name the keys of a function, and split those that loops do not split.

    Args:
        function: The function, which is changed.
        split: The name of the function that splits a key.
    """
    draws.name_keys(function.body, syntax.all_names(function))
    taken = syntax.all_names(function)
    _tell_loops_apart(function, taken)
    named = _Named(taken, split)
    function.body = [named.statement(s) for s in function.body]
    keeps_rng = draws.RNG in {n for s in function.body for n in syntax.names_in(s)}
    if len(named.keys) == 1 and not keeps_rng:
        _rename(function, dict.fromkeys(named.keys, draws.RNG))
        return
    new = _told_apart(named.keys, function, taken)
    _rename(function, new)
    names = {new.get(name, name) for name in named.keys}
    written = [n for s in function.body for n in syntax.in_order(s) if draws.is_key(n)]
    own = [*{code.id: code for code in written if code.id in names}.values()]
    if own:
        place = next(n for n, s in enumerate(function.body) if _reads_key(s))
        splits = draws.split_off(own, split) if keeps_rng else draws.split(own, split)
        function.body.insert(place, splits)


def _rename(function: ast.FunctionDef, names: Mapping[str, str]) -> None:
    for statement in function.body:
        syntax.rename_variables(statement, names)


def _tell_loops_apart(function: ast.FunctionDef, taken: set[str]) -> None:
    """Rename a key that loops split in each iteration if the function has a key of this name too.

    The function's own key is split at its start, and the loop would replace it.
    """
    loops = [s for s in function.body if isinstance(s, ast.For)]
    outside = {x.id for s in function.body if not isinstance(s, ast.For) for x in draws.keys(s)}
    inside = {x.id for x in draws.keys(*loops)}
    new = {key: syntax.unique(f"loop_{key}", taken) for key in sorted(inside & outside)}
    taken.update(new.values())
    for code in draws.keys(*loops):
        code.id = new.get(code.id, code.id)


class _Named:
    """Gives each key that a function splits once a name of its own.

    Attributes:
        keys: The keys, by name.
    """

    def __init__(self, taken: set[str], split: str) -> None:
        self.taken, self.split = taken, split
        self.keys: dict[str, Key] = {}

    def statement(self, statement: ast.stmt) -> ast.stmt:
        """Return a statement with the names of its keys; a loop may split some of them itself."""
        new: dict[str, str] = {}
        for code in draws.own_keys(statement):
            if code.id not in new:
                is_new = code.id not in self.keys
                name = code.id if is_new else syntax.unique(code.id, {*self.taken, *self.keys})
                new[code.id] = name
                self.keys[name] = draws.key_of(code)
            code.id = new[code.id]
        if isinstance(statement, ast.For):
            return self._loop(statement)
        for block in draws.blocks(statement):
            block[:] = [self.statement(s) for s in block]
        return statement

    def _loop(self, loop: ast.For) -> ast.For:
        """Return a loop that goes over modules and over one key for each of them.

        A loop over anything else splits `rng` in each iteration.
        """
        keys, target = draws.keys(*loop.body), loop.target
        is_plain = isinstance(loop.iter, ast.Name | ast.Subscript) and len(keys) == 1
        is_plain = is_plain and keys == draws.own_keys(loop.body[0])
        if not is_plain or not isinstance(target, ast.Name):
            loop.body = draws.with_splits(loop.body, lambda own: draws.split_off(own, self.split))
            return loop
        label = loop.iter.slice.value if isinstance(loop.iter, ast.Subscript) else target.id  # pyright: ignore[reportAttributeAccessIssue]
        whole = draws.key(f"{label}s" if label == target.id else str(label))
        whole.id = syntax.unique(f"{draws.key_of(whole).label}_rng", {*self.taken, *self.keys})
        self.keys[whole.id] = draws.key_of(whole)
        if f"{target.id}_rng" not in {*self.taken, *self.keys}:
            keys[0].id = f"{target.id}_rng"
        call = syntax.call(self.split, whole, syntax.call("len", loop.iter))
        pair = ast.Tuple([target, draws.target(keys[0])], ast.Store())
        new = ast.For(pair, syntax.call("zip", loop.iter, call), loop.body, loop.orelse)
        on_statement(new).comments = on_statement(loop).comments
        on_statement(new).loop = on_statement(loop).loop
        return new


def _told_apart(
    keys: Mapping[str, Key], function: ast.FunctionDef, taken: set[str]
) -> dict[str, str]:
    """Return other names for keys with one label: their modules, or else numbers from 1."""
    groups: dict[Key, list[str]] = {}
    for name, key in keys.items():
        groups.setdefault(key, []).append(name)
    new: dict[str, str] = {}
    for key, alike in groups.items():
        if len(alike) < 2:
            continue
        labels = [f"{_purpose(name, function)}_{draws.RNG}" for name in alike]
        used = {*taken, *keys, f"_{draws.RNG}"}
        known = {n: x for n, x in zip(alike, labels, strict=True)
                 if x not in used and labels.count(x) == 1}  # fmt: skip
        others = [name for name in alike if name not in known]
        kind = f"{key.label}_{draws.RNG}"
        numbers = [kind] if len(others) == 1 else [f"{kind}_{n}" for n in range(1, len(others) + 1)]
        new |= known | dict(zip(others, numbers, strict=True))
    return new


def _purpose(key: str, function: ast.FunctionDef) -> str:
    """Return the name of the module that a call with a key draws for: `self_attn`."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not any(
            syntax.is_name(k.value, key) for k in node.keywords
        ):
            continue
        own = syntax.is_written(node.func)
        part = node if own else next(iter(node.args), None)
        if isinstance(part, ast.Name):
            values = [s.value for s in ast.walk(function) if isinstance(s, ast.Assign)
                      and syntax.is_name(s.targets[0], part.id)]  # fmt: skip
            part = values[0] if len(values) == 1 else None
        return syntax.params_key(part)
    return ""


def _reads_key(statement: ast.stmt) -> bool:
    return bool(draws.keys(statement)) or draws.RNG in syntax.names_in(statement)
