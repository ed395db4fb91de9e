"""Give a hooked parameter a name: `slow_weight = jaxgrad.hook(p["slow"]["weight"], f)`.

The interpretation puts the hooked parameter into a copy of the params, from which every function
reads it. Where the function itself is the only reader, a variable does.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence

from jaxgrad import functional
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import copy_remarks, on_expression
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values.param_paths import keys_of


Keys = tuple[int | str, ...]
HOOK = "jaxgrad.hook"


def with_hooked_names(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with a variable for each hooked parameter that only they read."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            _name_hooked(written.node)
    return list(functions)


def _name_hooked(function: ast.FunctionDef) -> None:
    taken = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    taken |= {a.arg for a in function.args.args}
    for number, statement in enumerate(function.body):
        path, code = _hooked(statement)
        others = [s for n, s in enumerate(function.body) if n != number and not _hooked(s)[0]]
        if not path or any(
            path[: len(keys)] == keys for s in others for keys in _covering(s, path)
        ):
            continue
        name = syntax.unique("_".join(map(str, path)), taken)
        taken.add(name)
        place = syntax.text(_innermost(code))
        for n, other in enumerate(function.body):
            if n != number and not _hooked(other)[0]:
                function.body[n] = _Named(place, name, str(path[-1])).visit(other)
        new = ast.Assign([ast.Name(name, ast.Store())], code)
        copy_remarks(statement, new)
        function.body[number] = new


def _hooked(statement: ast.stmt) -> tuple[Keys, ast.expr]:
    """Return the path of the parameter that `p = {**p, "a": jaxgrad.hook(p["a"], f)}` hooks."""
    none: tuple[Keys, ast.expr] = ((), syntax.constant(None))
    if not isinstance(statement, ast.Assign) or syntax.text(statement.targets[0]) != "p":
        return none
    code = statement.value
    while isinstance(code, ast.Dict | ast.List):
        code = code.values[-1] if isinstance(code, ast.Dict) else _element(code)
    if not isinstance(code, ast.Call) or syntax.text(code.func) != HOOK:
        return none
    return _keys(_innermost(code)), code


def _element(code: ast.List) -> ast.expr:
    """Return the new element of `[*p[:2], x, *p[3:]]`."""
    return next(x for x in code.elts if not isinstance(x, ast.Starred))


def _innermost(code: ast.expr) -> ast.expr:
    """Return the parameter that one hook or several are on."""
    while isinstance(code, ast.Call):
        code = code.args[0]
    return code


def _keys(code: ast.expr) -> Keys:
    """Return the keys of `p["layers"][0]`."""
    keys: list[int | str] = []
    while isinstance(code, ast.Subscript) and isinstance(code.slice, ast.Constant):
        keys += keys_of(str(code.slice.value))
        code = code.value
    return tuple(reversed(keys))


def _covering(statement: ast.stmt, path: Keys) -> Iterator[Keys]:
    """Yield the keys of each read of the params that is not of one parameter: `p` and `p["a"]`."""
    inner = {
        id(n.value)
        for n in ast.walk(statement)
        if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant)
    }
    inner |= {id(k.value) for n in ast.walk(statement) for k in _whole(n)}
    for node in ast.walk(statement):
        if not isinstance(node, ast.Name | ast.Subscript) or id(node) in inner:
            continue
        root: ast.expr = node
        while isinstance(root, ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name) and root.id == "p":
            keys = _keys(node)
            if len(keys) < len(path):
                yield keys


def _whole(node: ast.AST) -> list[ast.keyword]:
    """Return `**p["linear"]` of a call of `F` that takes each tensor of a module by its name."""
    if not isinstance(node, ast.Call) or not syntax.text(node.func).startswith("F."):
        return []
    return [k for k in node.keywords if k.arg is None and on_expression(k.value).leaves is not None]


class _Named(ast.NodeTransformer):
    """Read a variable in the place of a parameter, which a call may get with its siblings."""

    def __init__(self, place: str, name: str, leaf: str) -> None:
        self.place, self.name, self.leaf = place, name, leaf

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and syntax.text(node) == self.place:
            return syntax.name(self.name)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        for keyword in _whole(node):
            leaves = on_expression(keyword.value).leaves or frozenset()
            if syntax.text(syntax.item(keyword.value, self.leaf)) == self.place:
                node.keywords.remove(keyword)
                _pass_each(node, keyword.value, leaves)
        self.generic_visit(node)
        return node


def _pass_each(call: ast.Call, base: ast.expr, leaves: frozenset[str]) -> None:
    """Pass the tensors of a module one by one, by position as long as none is left out."""
    function = getattr(functional, syntax.text(call.func).removeprefix("F."))
    names = list(inspect.signature(function).parameters)
    named: list[ast.keyword] = []
    for name in (n for n in names if n in leaves):
        if name == names[len(call.args)]:
            call.args.append(syntax.item(base, name))
        else:
            named.append(ast.keyword(name, syntax.item(base, name)))
    call.keywords[:0] = named
