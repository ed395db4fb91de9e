"""The iterations of a loop: what its variables are in each, and how the port iterates."""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
from collections.abc import Iterable
from typing import Any

from jaxgrad.parity.port.expressions import indexing, submodules
from jaxgrad.parity.port.ir import Helper, Loop
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.port_names import port_name
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values import state
from jaxgrad.parity.port.values.computed import computed_once, is_computed
from jaxgrad.parity.port.values.lengths import is_counted, pinned, require_count
from jaxgrad.parity.port.values.parts import is_numbered
from jaxgrad.parity.port.values.results import method_names, outside
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Fields,
    Folded,
    Items,
    Method,
    Module,
    Object,
    Size,
    Tensor,
    TensorMethod,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of, real_of


Lengths = tuple[tuple[ast.expr, int], ...]  # containers, and their number of elements in the run


@dataclasses.dataclass
class Iteration:
    """One iteration of a loop.

    In the torch program its variables have this iteration's values. In the port they are written by
    name, so that iterations can be compared; `resolved` has the expression that each name has here.
    """

    variables: dict[str, Value]
    resolved: dict[str, ast.expr]
    iterable: ast.expr | None  # None if the port cannot iterate over it
    pattern: ast.expr
    lengths: Lengths  # the containers whose number of elements depends on a size
    computed: tuple[ast.expr, ...] = ()  # the containers that calls make
    unpacked: list[ast.expr] = dataclasses.field(default_factory=list)  # those that it unpacks

    @property
    def fixed(self) -> bool:
        """Whether the number of iterations does not depend on a size."""
        return not self.lengths

    def enter(self, scope: Scope) -> None:
        scope.values.update(self.variables)
        scope.names.update(self.resolved)
        scope.indices.difference_update(self.resolved)
        if self.fixed:
            scope.indices.update(n for n, v in self.variables.items() if type(v) is Size)

    def target(self) -> ast.expr:
        return copy.deepcopy(self.pattern)


@dataclasses.dataclass(frozen=True)
class _Sequence:
    elements: list[Value]
    code: ast.expr | None
    lengths: Lengths = ()
    computed: tuple[ast.expr, ...] = ()


def iterations(target: ast.expr, iterable: ast.expr, scope: Scope) -> list[Iteration]:
    """Return the iterations of `for target in iterable`."""
    sequence = _sequence(iterable, scope)
    found = []
    if not sequence.elements:
        _require(sequence, scope, iterable)
    for element in sequence.elements:
        variables: dict[str, Value] = {}
        resolved: dict[str, ast.expr] = {}
        unpacked: list[ast.expr] = []
        pattern = _match(target, element, variables, resolved, unpacked, scope)
        code = sequence.code if _are_lists(target, element) else None
        found.append(
            Iteration(
                variables, resolved, code, pattern, sequence.lengths, sequence.computed, unpacked
            )
        )
    return found


def recorded(around: list[Iteration], node: ast.AST, scope: Scope) -> Loop | None:
    """Record how often a loop iterates, and return the loop if a size determines it."""
    if not around or around[0].fixed:
        return None
    place = scope.place(node)
    loop = Loop(place.file, place.line)
    scope.run.loops.setdefault(loop, set()).add(len(around))
    return loop


def _are_lists(target: ast.expr, value: Value) -> bool:
    """Return whether the modules that a target unpacks are lists in the params, not dicts."""
    if not isinstance(target, ast.Tuple | ast.List):
        return True
    if isinstance(value, Module):
        return is_numbered(value.real)
    parts = value.items if isinstance(value, Items) else []
    return all(map(_are_lists, target.elts, parts))


def _require(sequence: _Sequence, scope: Scope, node: ast.AST) -> None:
    for code, count in sequence.lengths:
        require_count(code, count, scope, node)


def _match(
    target: ast.expr,
    value: Value,
    variables: dict[str, Value],
    resolved: dict[str, ast.expr],
    unpacked: list[ast.expr],
    scope: Scope,
) -> ast.expr:
    """Bind the names of a target to an element, and return the port's target."""
    if isinstance(target, ast.Name):
        local = port_name(target.id)
        has_no_code = isinstance(value, Closure | Method | TensorMethod) or (
            isinstance(value, Object) and value.code is None
        )
        if not is_dynamic(value) or has_no_code:
            variables[target.id] = value
            return ast.Name("_", ast.Store())
        variable = variables[target.id] = renamed(value, syntax.name(local))
        if isinstance(variable, Tensor) and state.is_leaf(value.code):
            variable.view = value.code  # a change in place is a change of the params
        resolved[local] = code_of(value)
        return ast.Name(local, ast.Store())
    if isinstance(target, ast.Tuple | ast.List):
        if is_computed(value) and not is_counted(value, scope):
            parts = indexing.elements(value, scope, target)  # an unrolled iteration gives it a name
            unpacked.append(code_of(value))
        else:
            parts = indexing.iterate(value, scope, target)
        pairs = zip(target.elts, parts, strict=True)
        inner = [_match(t, v, variables, resolved, unpacked, scope) for t, v in pairs]
        return ast.Tuple(list(inner), ast.Store())
    raise scope.refuse("this target of a loop is not ported; use names, or tuples of names", target)


def _sequence(node: ast.expr, scope: Scope) -> _Sequence:
    if isinstance(node, ast.Call):
        function = scope.run.evaluate(node.func, scope)
        if function.real in _BUILTINS and isinstance(function, Folded) and _is_simple(node):
            return _BUILTINS[function.real](node, scope)
        kind = getattr(function, "owner", None)
        if function.real in ("items", "values", "keys") and isinstance(kind, Fields):
            return _of_dict(computed_once(kind, scope), function.real)
        method = getattr(function.real, "__name__", "")
        if isinstance(kind, Module) and method in _OF_MODULES:
            return _of_modules(kind, method)
    return _plain(scope.run.evaluate(node, scope), scope, node)


def _is_simple(node: ast.Call) -> bool:
    options = [k for k in node.keywords if k.arg not in ("strict", "start")]
    return not options and not any(isinstance(x, ast.Starred) for x in node.args)


def _plain(value: Value, scope: Scope, node: ast.AST) -> _Sequence:
    elements = indexing.elements(value, scope, node)
    computed = (code_of(value),) if is_computed(value) else ()
    if isinstance(value, Tensor | Items) and is_counted(value, scope):
        code = code_of(value)
        return _Sequence(elements, code, ((code, len(elements)),), computed)
    if isinstance(value, Tensor):
        return _Sequence(elements, code_of(value))
    if isinstance(value, Module):
        return _Sequence(elements, code_of(value) if is_numbered(value.real) else None)
    if isinstance(value, Items) and value.code is not None:
        code = code_of(value)
        match code:
            case ast.Call(ast.Name("list"), [ast.Call(ast.Name("zip")) as zipped]):
                code = zipped  # a loop needs no list
        return _Sequence(elements, code, computed=computed)
    if isinstance(value, Items) and elements and all(map(is_dynamic, elements)):
        with contextlib.suppress(PortError):  # functions have no code
            return _Sequence(elements, code_of(value))
    return _Sequence(elements, None)


def _range(node: ast.Call, scope: Scope) -> _Sequence:
    args = [scope.run.evaluate(x, scope) for x in node.args]
    if any(isinstance(x, Tensor) for x in args):
        raise scope.refuse(
            "the number of iterations depends on the values of a tensor"
            "; loop over a size, and mask the rest",
            node,
        )
    numbers = range(*(real_of(x) for x in args))
    fixed = not any(isinstance(x, Size) and not scope.is_index(code_of(x)) for x in args)
    code = syntax.call("range", *(code_of(x) for x in args))
    lengths = () if fixed else ((code, len(numbers)),)
    return _Sequence([Size(n, syntax.constant(n)) for n in numbers], code, lengths)


def _enumerate(node: ast.Call, scope: Scope) -> _Sequence:
    inner = _sequence(node.args[0], scope)
    given = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "start")]
    start = pinned(scope.run.evaluate(given[0], scope), scope, node) if given else 0
    pairs: list[Value] = [
        Items(tuple, None, [Size(n, syntax.constant(n)), x])
        for n, x in enumerate(inner.elements, start)
    ]
    extra = [syntax.constant(start)] if start else []
    code = None if inner.code is None else syntax.call_helper(Helper.ENUMERATE, inner.code, *extra)
    return _Sequence(pairs, code, inner.lengths, inner.computed)


def _zip(node: ast.Call, scope: Scope) -> _Sequence:
    inner = [_sequence(x, scope) for x in node.args]
    pairs: list[Value] = [
        Items(tuple, None, list(x)) for x in zip(*(s.elements for s in inner), strict=False)
    ]
    codes = [s.code for s in inner if s.code is not None]
    code = syntax.call("zip", *codes) if len(codes) == len(inner) else None
    lengths = tuple(x for s in inner for x in s.lengths)
    if code is None:
        for sequence in inner:
            _require(sequence, scope, node)
    computed = tuple(x for s in inner for x in s.computed)
    return _Sequence(pairs, code, () if code is None else lengths, computed)


def _reversed(node: ast.Call, scope: Scope) -> _Sequence:
    inner = _sequence(node.args[0], scope)
    code = None if inner.code is None else syntax.call("reversed", inner.code)
    return _Sequence(inner.elements[::-1], code, inner.lengths, inner.computed)


def _of_dict(value: Any, which: str) -> _Sequence:
    return _Sequence(_chosen(which, ((Folded(k), value.at(k)) for k in value.fields)), None)


def _of_modules(value: Module, which: str) -> _Sequence:
    # As in torch, children() has a module with two names once, and skips a name without a module.
    names = dict(value.real.named_children()) if "children" in which else value.real._modules
    which = {"children": "values", "named_children": "items"}.get(which, which)
    pairs = ((Folded(n), submodules.child(value, n)) for n in names)
    return _Sequence(_chosen(which, pairs), None)


def _chosen(which: str, pairs: Iterable[tuple[Value, Value]]) -> list[Value]:
    if which == "items":
        return [Items(tuple, None, [key, value]) for key, value in pairs]
    return [pair[which == "values"] for pair in pairs]


def resolve(value: Value, parts: dict[str, ast.expr]) -> Value:
    """Return a value that does not name a loop's variables."""
    if method_names(value) & set(parts):
        value = outside(value, parts)
    if value.code is not None and set(syntax.names_in(value.code)) & set(parts):
        new = copy.copy(value)
        new.code = syntax.substitute(value.code, parts)
        return new
    if isinstance(value, Items) and value.code is None:
        value.items[:] = [resolve(x, parts) for x in value.items]
    if isinstance(value, Fields) and value.code is None:
        value.fields.update({k: resolve(x, parts) for k, x in value.fields.items()})
    return value


_OF_MODULES = ("items", "values", "keys", "children", "named_children")
_BUILTINS: dict[Any, Any] = {
    range: _range, enumerate: _enumerate, zip: _zip, reversed: _reversed,
}  # fmt: skip
