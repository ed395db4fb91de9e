"""Tied weights: one leaf of the params, which the entry reads in each of its places."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxgrad.parity.port.ir import UpdateBuffer
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.written import Written


TIED = "# tied"


LIKE = "without_tied"
LIKE_SOURCE = f"""
def {LIKE}(p, given):
    if isinstance(given, dict):
        return {{k: {LIKE}(p[k], x) for k, x in given.items()}}
    if isinstance(given, list):
        return [{LIKE}(x, y) for x, y in zip(p, given, strict=True)]
    return p
"""
LIKE_DOC = "Return params without the tied leaves that the given params do not have."


def tie(entry: Written, ties: Mapping[str, str], tree: Any, *, stateful: bool) -> list[Written]:
    """Let the entry read the first leaf of tied ones in the place of the others.

    Where it passes a module with a tied leaf on, a statement before puts the leaf in its place. If
    the entry returns its params, it returns them without the leaves that were put there.

    Args:
        entry: The entry of the port.
        ties: The path of each tied leaf that has an earlier path: alias -> first.
        tree: The params of the port, which have the first leaves alone.
        stateful: Whether the entry returns its params too.

    Returns:
        The helpers that the entry calls.
    """
    statements: list[ast.stmt] = []
    added: list[list[int | str]] = []
    own, tree = tree, copy.deepcopy(tree)
    for alias, first in ties.items():
        body = [_read_first(s, alias, first) for s in entry.node.body]
        leaf = param_paths.of(param_paths.reach(alias))
        if not any(leaf.is_in(part) for s in body for part in param_paths.parts(s)):
            entry.node.body[:] = body
            continue
        statements.append(_put(param_paths.keys_of(alias), param_paths.reach(first), tree))
        added.append(_first_new(param_paths.keys_of(alias), own))
    entry.node.body[:0] = statements
    if not (stateful and added):
        return []
    if all(len(path) == 1 for path in added):
        keys = list(dict.fromkeys(str(path[0]) for path in added))
        _Returned(lambda params: _without(params, keys)).visit(entry.node)
        return []
    given = syntax.unique("given", syntax.assigned(entry.node) | set(syntax.names_in(entry.node)))
    entry.node.body.insert(0, ast.Assign([ast.Name(given, ast.Store())], param_paths.params()))
    _Returned(lambda params: syntax.call(LIKE, params, syntax.name(given))).visit(entry.node)
    return [Written.helper(LIKE_SOURCE, LIKE_DOC, tie)]


def _put(keys: list[int | str], leaf: ast.expr, tree: Any) -> ast.stmt:
    """Return the statement that puts a leaf into the params and into `tree`, which has no such."""
    new = _first_new(keys, tree)
    for key in new[:-1]:
        tree = tree[key]
    value: Any = True
    for key in reversed(keys[len(new) :]):
        leaf, value = ast.Dict([syntax.constant(key)], [leaf]), {key: value}
    tree[new[-1]] = value
    place = functools.reduce(syntax.item, new, param_paths.params())
    statement = ast.Assign([syntax.as_target(place)], leaf)
    known = on_statement(statement)
    known.trailing, known.update = TIED, UpdateBuffer()
    return statement


def _first_new(keys: list[int | str], tree: Any) -> list[int | str]:
    """Return the shortest start of a path that the tree does not have."""
    for n, key in enumerate(keys):
        if isinstance(tree, dict) and key not in tree:
            return keys[: n + 1]
        tree = tree[key]
    return keys


class _Returned(ast.NodeTransformer):
    """Change the params that the entry returns beside its result."""

    def __init__(self, change: Callable[[ast.expr], ast.expr]) -> None:
        self.change, self.depth = change, 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        new = self.generic_visit(node) if self.depth == 1 else node
        self.depth -= 1
        return new

    def visit_Return(self, node: ast.Return) -> ast.Return:
        assert isinstance(node.value, ast.Tuple)
        node.value.elts[1] = self.change(node.value.elts[1])
        return node


def _without(tree: ast.expr, keys: Sequence[str]) -> ast.expr:
    """Return `{k: x for k, x in tree.items() if k != key}`."""
    test = f"k != {keys[0]!r}" if len(keys) == 1 else f"k not in {tuple(keys)!r}"
    code = ast.parse(f"{{k: x for k, x in tree.items() if {test}}}", mode="eval").body
    return syntax.substitute(code, {"tree": tree})


def _read_first(statement: ast.stmt, alias: str, first: str) -> ast.stmt:
    """Return a statement that reads another leaf; `**p["head"]` becomes `p["embedding"]["weight"]`.

    That is for a call which takes nothing else of the module.
    """
    new = _Read(alias, first).visit(copy.deepcopy(statement))
    if not syntax.same(new, statement):
        on_statement(new).trailing = on_statement(new).trailing or TIED
    return new


class _Read(ast.NodeTransformer):
    def __init__(self, alias: str, first: str) -> None:
        self.alias = param_paths.of(param_paths.reach(alias))
        self.leaf = alias.rpartition(".")[2]
        self.first = first

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if param_paths.of(node) == self.alias:
            return param_paths.reach(self.first)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        whole = [k for k in node.keywords if self._is_alone(k)]
        if not whole or self.leaf not in list(syntax.parameters_of(node))[len(node.args) :][:1]:
            return node
        node.keywords.remove(whole[0])
        node.args.append(param_paths.reach(self.first))
        return node

    def _is_alone(self, keyword: ast.keyword) -> bool:
        """Return whether a keyword passes the params of a module that has the leaf alone."""
        alone = on_expression(keyword).tensors == {self.leaf}
        return alone and param_paths.of(keyword.value).at(self.leaf) == self.alias
