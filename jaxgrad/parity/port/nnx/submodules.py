"""One class for modules that differ in a submodule: the class takes the submodule as an argument.

In torch the constructor decides, as in `nn.Conv1d(a, b, 1) if a != b else nn.Identity()`. In the
port the constructor of the module around it passes what torch's chose::

    self.first = Block(skip=Conv1d(4, 8, 1, rngs=rngs), rngs=rngs)
    self.second = Block(rngs=rngs)  # skip=nnx.identity
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.nnx.instances import Instance
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.unify import Rule, Unified, literals, unify


MOST_SUBMODULES = 2  # arguments of a class
CONTAINERS = (Helper.NNX_SEQUENTIAL, Helper.NNX_LIST, Helper.NNX_DICT)


def with_submodules(groups: Sequence[list[Instance]]) -> list[list[Instance]]:
    """Join groups of modules that can have one class if the class takes submodules."""
    joined: list[list[Instance]] = []
    for group in groups:
        for n, known in enumerate(joined):
            if (both := _joined(known, group)) is not None:
                joined[n] = both
                break
        else:
            joined.append([*group])
    return joined


def _joined(known: list[Instance], group: list[Instance]) -> list[Instance] | None:
    """Return the modules of two groups, which take the submodules in which they differ."""
    first, other = known[0], group[0]
    if type(first.module) is not type(other.module) or list(first.numbers) != list(other.numbers):
        return None
    known, passed = [x.whole or x for x in known], {*first.submodules}
    different = _different(known, group)
    if different is None or not 0 < len(passed | different) <= MOST_SUBMODULES:
        return None
    names = passed | different
    return _opened([*known, *group], names)


def _different(known: Sequence[Instance], group: Sequence[Instance]) -> set[str] | None:
    """Return the submodules that only one of two groups has, or that differ beyond numbers.

    None if these are containers in both, such as two stacks of unlike layers: the class would be
    a mere shell around them.
    """
    names: set[str] = set()
    right = _made(group[0])
    for instance in known:
        left = _made(instance)
        for name in {**left, **right}:
            both = [made[name].value for made in (left, right) if name in made]
            if len(both) == 2 and literals(*both) is not None:
                continue
            if len(both) == 2 and any(syntax.calls(x, *CONTAINERS) for x in both):
                return None
            names.add(name)
    return names


def _made(instance: Instance) -> dict[str, ast.Assign]:
    """Return the statements of `__init__` that make a submodule, by its name."""
    found: dict[str, ast.Assign] = {}
    for statement in instance.init:
        match statement:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.Call()):
                if name in instance.module._modules and name not in ("self", "rngs"):
                    found[name] = statement
    return found


def _opened(group: Sequence[Instance], names: set[str]) -> list[Instance] | None:
    """Return the modules with these submodules as arguments, or None if they do not fit."""
    rule = _rule(names)
    methods: Any = group[0].methods
    for instance in group[1:]:
        unified = unify(methods, instance.methods, rule)
        if unified is None:
            return None
        methods = unified.template
    places = {n: x.init.index(_made(x)[n]) for x in group[::-1] for n in names & {*_made(x)}}
    opened: list[Instance] = []
    for instance in group:
        own = unify(instance.methods, methods, rule)
        if own is None:
            return None
        made = _made(instance)
        submodules = {
            n: made[n].value if n in made else syntax.helper(Helper.NNX_IDENTITY) for n in places
        }
        opened.append(
            dataclasses.replace(
                instance, init=_init(instance, made, places), methods=copy.deepcopy(own.template),
                submodules=submodules, whole=instance,
            )
        )  # fmt: skip
    fits = all(literals(opened[0].nodes, x.nodes) is not None for x in opened[1:])
    return opened if fits else None


def _init(
    instance: Instance, made: Mapping[str, ast.Assign], places: Mapping[str, int]
) -> list[ast.stmt]:
    """Return the statements of `__init__` in which submodules are arguments."""
    init = [*instance.init]
    for name in sorted(places, key=lambda name: places[name]):
        target = syntax.attribute(syntax.name("self"), name)
        stored = ast.Assign([syntax.as_target(target)], syntax.name(name))
        if name in made:
            init[init.index(made[name])] = stored
        else:
            init.insert(places[name], stored)
    return init


def _rule(names: set[str]) -> Rule:
    """Return the rule of `literals` by which `self.skip(x)` and `x` are `self.skip(x)` too."""

    def rule(left: Any, right: Any) -> Unified | None:
        if isinstance(left, list) and isinstance(right, list) and len(left) != len(right):
            return _blocks(left, right)
        inside = [_argument(x, names) for x in (left, right)]
        if inside[0] is not None and inside[1] is None:
            return _called(left, rule(inside[0], right))
        if inside[1] is not None and inside[0] is None:
            return _called(right, rule(left, inside[1]))
        is_leaf = isinstance(left, ast.arguments)
        is_leaf |= any(numbers.is_literal(x) or numbers.is_flag(x) for x in (left, right))
        return literals(left, right) if is_leaf else unify(left, right, rule)

    def _blocks(left: list[Any], right: list[Any]) -> Unified | None:
        """Unify two blocks, one of which has statements `x = self.skip(x)` that the other lacks."""
        left, right = [*left], [*right]
        for n in range(max(len(left), len(right))):
            here, there = (left, right) if len(left) < len(right) else (right, left)
            if len(here) < len(there) and n < len(there) and _is_update(there[n], names):
                if n >= len(here) or not _is_update(here[n], names):
                    here.insert(n, copy.deepcopy(there[n]))
        return rule(left, right) if len(left) == len(right) else None

    return rule


def _called(call: Any, argument: Unified | None) -> Unified | None:
    """Return the call of a submodule on another argument."""
    if argument is None:
        return None
    new = ast.Call(copy.deepcopy(call.func), [argument.template], [])
    return Unified(new, argument.holes)


def _argument(code: Any, names: set[str]) -> ast.expr | None:
    """Return `x` of the call `self.skip(x)` of one of the submodules."""
    match code:
        case ast.Call(ast.Attribute(ast.Name("self"), name), [argument], []) if name in names:
            return argument
    return None


def _is_update(statement: ast.stmt, names: set[str]) -> bool:
    """Return whether a statement is `x = self.skip(x)`."""
    match statement:
        case ast.Assign([ast.Name(target)], value):
            return syntax.is_name(_argument(value, names), target)
    return False
