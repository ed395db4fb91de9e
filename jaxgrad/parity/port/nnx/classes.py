"""One class for the modules of one torch class; what differs between them becomes an argument."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.nnx.instances import Instance
from jaxgrad.parity.port.nnx.submodules import with_submodules
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.unify import Hole, literals, unify


def alike(instances: Sequence[Instance]) -> list[list[Instance]]:
    """Return the groups of modules that can have one class."""
    groups: list[list[Instance]] = []
    for instance in instances:
        group = next((g for g in groups if _are_alike(g[0], instance)), None)
        if group is None:
            groups.append(group := [])
        group.append(instance)
    return with_submodules(groups)


def _are_alike(one: Instance, other: Instance) -> bool:
    same = type(one.module) is type(other.module) and list(one.numbers) == list(other.numbers)
    return same and unify(one.nodes, other.nodes, literals) is not None


def _holes(nodes: Sequence[ast.stmt], instance: Instance) -> list[Hole]:
    unified = unify([*nodes], instance.nodes, literals)
    assert unified is not None
    return unified.holes


def merged(
    name: str, group: Sequence[Instance], taken: set[str]
) -> tuple[ast.ClassDef, dict[str, ast.Call]]:
    """Return the class of a group of modules, and the call that makes each of them.

    Args:
        name: The name of the class.
        group: The modules.
        taken: The names that its arguments cannot have.
    """
    base = group[0]
    init, methods = copy.deepcopy(base.init), copy.deepcopy(base.methods)
    in_init = {n for statement in init for n in ast.walk(statement)}
    holes = list(zip(*(_holes([*init, *methods], instance) for instance in group), strict=True))
    arguments, attributes, given = _attributes(group)
    replaced: list[tuple[ast.expr, ast.expr]] = []
    stored: list[str] = []
    for label, place, values in _tables(init, holes):
        taken_by = {*arguments.values(), *given, *base.numbers, *base.submodules, "self", "rngs"}
        key = (*map(type, values), *values)
        if key not in arguments:
            arguments[key] = syntax.unique(label, taken_by)
        replaced.append((place, syntax.name(arguments[key])))
        inner = {id(n) for n in ast.walk(place)}
        holes = [hole for hole in holes if id(hole[0][0]) not in inner]
    for hole in holes:
        place, vector = hole[0][0], tuple(numbers.value_of(own) for _, own in hole)
        if all(_equal(x, vector[0]) for x in vector):
            continue
        key = (*map(type, vector), *vector)
        if key not in arguments:
            names = {*arguments.values(), *given, *base.numbers, *base.submodules, "self", "rngs"}
            arguments[key] = _argument(place, vector, group, names | taken)
        label = arguments[key]
        if place in in_init:
            replaced.append((place, syntax.name(label)))
        else:
            replaced.append((place, syntax.dotted(f"self.{label}")))
            stored += [] if label in stored else [label]
    init = [syntax.replace(x, replaced) for x in init]
    methods = [syntax.replace(x, replaced) for x in methods]
    kept: list[ast.stmt] = [
        ast.Assign([syntax.attribute(syntax.name("self"), x)], syntax.name(x)) for x in stored
    ]
    init = [*attributes, *kept, *init]
    labels = [*given, *(x for x in arguments.values() if x not in given)]
    takes_rngs = any("rngs" in syntax.names_in(x) for x in init)
    omitted = [x for x in base.submodules if any(_is_identity(m.submodules[x]) for m in group)]
    labels += [x for x in base.submodules if x not in omitted]
    body: list[ast.stmt] = [_constructor(labels, omitted, init, takes_rngs)] if init else []
    node = syntax.class_definition(name, [syntax.dotted("nnx.Module")], [*body, *methods])
    calls = {
        instance.path: _call(
            name,
            {a: syntax.literal(key[len(group) + n]) for key, a in arguments.items()}
            | {a: instance.numbers[a] for a in given}
            | {a: x for a, x in instance.submodules.items() if not _is_identity(x)},
            takes_rngs,
        )
        for n, instance in enumerate(group)
    }
    return node, calls


def _tables(
    init: Sequence[ast.stmt], holes: Sequence[Sequence[Hole]]
) -> Iterator[tuple[str, ast.expr, list[Any]]]:
    """Yield each array of numbers that differs between modules.

    An array is one argument of the constructor, instead of an argument for each of its numbers.

    Yields:
        The attribute that holds the array, its numbers in the constructor, and those of each
        module.
    """
    for statement in init:
        for call in ast.walk(statement):
            if not syntax.calls(call, Helper.ARRAY):
                continue
            table = call.args[0]
            inner = {id(n) for n in ast.walk(table)}
            own = [hole for hole in holes if id(hole[0][0]) in inner]
            if not isinstance(table, ast.List) or not own:
                continue
            copies = [
                copy.deepcopy(table, {id(hole[n][0]): hole[n][1] for hole in own})
                for n in range(len(own[0]))
            ]
            try:
                values = [_as_tuple(code) for code in copies]
            except ValueError:  # it contains an infinity, which is no literal
                continue
            if any(x != values[0] for x in values):
                target = statement.targets[0] if isinstance(statement, ast.Assign) else None
                yield getattr(target, "attr", "values"), table, values


def _as_tuple(code: ast.expr) -> Any:
    """Return the numbers of a list of lists as tuples."""
    if isinstance(code, ast.List):
        return tuple(_as_tuple(x) for x in code.elts)
    return numbers.value_of(code)


def _attributes(
    group: Sequence[Instance],
) -> tuple[dict[tuple[Any, ...], str], list[ast.stmt], list[str]]:
    """Return how a class of a group gets the attributes that are numbers.

    Returns:
        The names of the arguments by the numbers that they have in the group, the statements that
        set the attributes, and the names of all attributes that are arguments.
    """
    arguments: dict[tuple[Any, ...], str] = {}
    statements: list[ast.stmt] = []
    given: list[str] = []
    for name, first in group[0].numbers.items():
        codes = [instance.numbers[name] for instance in group]
        code = first
        if not all(syntax.same(first, x) for x in codes):
            given.append(name)
            code = syntax.name(name)
            values = [numbers.value_of(x) for x in codes if numbers.is_literal(x)]
            if len(values) == len(codes):
                arguments.setdefault((*map(type, values), *values), name)
        target = syntax.attribute(syntax.name("self"), name)
        statements.append(ast.Assign([target], copy.deepcopy(code)))
    return arguments, statements, given


def _equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right


def _argument(
    place: ast.expr, vector: tuple[Any, ...], group: Sequence[Instance], taken: set[str]
) -> str:
    """Return the name of an argument: the author's for this number, or that of the layer."""
    modules = [instance.module for instance in group]
    for name in list(inspect.signature(type(modules[0]).__init__).parameters)[1:]:
        given = [vars(m).get(name) for m in modules]
        if name not in taken and all(_equal(a, b) for a, b in zip(given, vector, strict=True)):
            return name
    number = on_expression(place).number
    return syntax.unique((number and number.name) or "constant", taken)


def _is_identity(code: ast.expr) -> bool:
    return on_expression(code).helper is Helper.NNX_IDENTITY


def _constructor(
    arguments: list[str], submodules: list[str], body: list[ast.stmt], takes_rngs: bool
) -> ast.FunctionDef:
    """Return `__init__`; the submodules among its arguments do nothing if they are not given."""
    node = syntax.function("__init__", ["self", *arguments, *submodules], body)
    node.args.defaults = [syntax.helper(Helper.NNX_IDENTITY) for _ in submodules]
    if takes_rngs:
        node.args.kwonlyargs = [ast.arg("rngs", syntax.dotted("nnx.Rngs"))]
        node.args.kw_defaults = [None]
    return node


def _call(name: str, values: Mapping[str, ast.expr], takes_rngs: bool) -> ast.Call:
    call = syntax.call(name)
    for argument, value in values.items():
        code = numbers.label(copy.deepcopy(value), argument)
        call.keywords.append(ast.keyword(argument, code))
    if takes_rngs:
        call.keywords.append(ast.keyword("rngs", syntax.name("rngs")))
    return call
