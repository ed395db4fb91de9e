"""Train and eval mode: the module is interpreted in both, and written once, with `training=`.

The functions of the two interpretations are merged statement by statement. What is alike is
written once; a dropout or a constant that differs becomes an argument; other statements of one
mode go into `if training:`. With `training` replaced by its value, the merged function is the
function of that mode again.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from torch import nn

from jaxgrad.parity.port.modes.mode_expressions import TRAINING, unified
from jaxgrad.parity.port.modes.mode_statements import merge_bodies
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.unify import Unified
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


MODES = {True: "train", False: "eval"}


@contextlib.contextmanager
def in_mode(module: nn.Module, training: bool) -> Iterator[None]:
    """Put a module in train or eval mode inside a `with` block.

    In its own mode a module is left as it is, so that layers which the user has put in the other
    mode stay in it.
    """
    before = {m: m.training for m in module.modules()}
    try:
        if module.training is not training:
            module.train(training)
        yield
    finally:
        for child, mode in before.items():
            child.training = mode


class Merger:
    """The functions of both modes, and those that are merged from a pair of them."""

    test: ast.expr = syntax.name(TRAINING)

    def __init__(self, train: Sequence[Written], evaluated: Sequence[Written]) -> None:
        self.train = {w.name: w for w in train}
        self.evaluated = {w.name: w for w in evaluated}
        self.pairs: dict[tuple[str, str], Written | None] = {}

    def pair(self, train: str, evaluated: str) -> Written | None:
        """Return the function of two, by their names; an empty name stands for a missing one."""
        key = train, evaluated
        if key not in self.pairs:
            self.pairs[key] = None  # of a function that calls itself
            label = f"{train or evaluated}#{len(self.pairs)}"
            self.pairs[key] = self._merged(train, evaluated, label)
        return self.pairs[key]

    def _merged(self, train: str, evaluated: str, label: str) -> Written | None:
        left, right = self.train.get(train), self.evaluated.get(evaluated)
        if left is None or right is None:
            only = left or right
            return only and self._of_one_mode(only, label, training=left is not None)
        if left.function.__code__ is not right.function.__code__ or left.owner is not right.owner:
            return None
        if isinstance(left.node, ast.ClassDef) or isinstance(right.node, ast.ClassDef):
            same = syntax.same(left.node, right.node)
            return self._of_one_mode(left, label, training=True) if same else None
        names = _union(parameters(left), parameters(right))
        body = merge_bodies(left.node.body, right.node.body, set(names), self)
        node = syntax.function("_", names, body.template)
        if TRAINING in syntax.names_in(node):
            node.args.kwonlyargs.append(ast.arg(TRAINING))
            node.args.kw_defaults.append(None)
        pinned, paths = left.pinned or right.pinned, left.paths & right.paths
        return dataclasses.replace(
            left,
            name=label,
            node=node,
            pinned=pinned,
            paths=paths,
            module_paths=left.module_paths & right.module_paths
            or left.module_paths | right.module_paths,
        )

    def _of_one_mode(self, written: Written, label: str, *, training: bool) -> Written:
        node = self.alone(written.node, training=training)
        return dataclasses.replace(written, name=label, node=node)

    def alone(self, node: Any, *, training: bool) -> Any:
        """Return a copy of code of one mode, which calls the functions of that mode."""
        node = copy.deepcopy(node)
        for name in ast.walk(node):
            if syntax.is_written(name):
                called = self.pair(*((name.id, "") if training else ("", name.id)))
                name.id = name.id if called is None else called.name
        return node

    def unified(self, train: Any, evaluated: Any) -> Unified | None:
        """Return the expression or statement of two, or None if they differ too much."""
        return unified(train, evaluated, self)


def parameters(written: Written) -> list[str]:
    return [a.arg for a in written.node.args.args]


def merge_modes(train: Sequence[Written], evaluated: Sequence[Written]) -> list[Written]:
    """Return the functions for both modes; the entry is the last one of each sequence."""
    merger = Merger(train, evaluated)
    entry = merger.pair(train[-1].name, evaluated[-1].name)
    assert entry is not None
    functions = _reached(entry, [w for w in merger.pairs.values() if w is not None], train)
    if draws.RNG in parameters(entry) and draws.RNG not in parameters(evaluated[-1]):
        functions.insert(0, Written.helper(draws.SPLIT_SOURCE, draws.SPLIT_DOC, merge_modes))
        entry.node.args.args = [a for a in entry.node.args.args if a.arg != draws.RNG]
        entry.node.args.kwonlyargs.insert(0, ast.arg(draws.RNG))
        entry.node.args.kw_defaults.insert(0, None)
    entry.node.args.kw_defaults = [
        syntax.constant(None if a.arg == draws.RNG else False) for a in entry.node.args.kwonlyargs
    ]
    return _named(_without_copies(functions))


def _without_copies(functions: Sequence[Written]) -> list[Written]:
    """Return the functions without those that are equal to an earlier one.

    A function that both modes call with other arguments has a copy for each mode.
    """
    kept: list[Written] = []
    names: dict[str, str] = {}
    for written in functions:
        syntax.rename_written(written.node, names)
        base = next((w for w in kept if _is_copy(w, written)), None)
        if base is None:
            kept.append(written)
            continue
        names[written.name] = base.name
        base.paths |= written.paths
        base.module_paths |= written.module_paths
        base.pinned |= written.pinned
    return kept


def _is_copy(base: Written, other: Written) -> bool:
    if base.function.__code__ is not other.function.__code__ or base.owner is not other.owner:
        return False
    if not (isinstance(base.node, ast.FunctionDef) and isinstance(other.node, ast.FunctionDef)):
        return False
    return base.hole is other.hole and syntax.same_function(base.node, other.node)


def _reached(entry: Written, merged: Sequence[Written], order: Sequence[Written]) -> list[Written]:
    """Return the functions that the entry needs, each after those that it calls."""
    functions = {w.name: w for w in merged}
    ranks = {w.name: rank for rank, w in enumerate(order)}
    found: dict[str, Written] = {}

    def visit(written: Written) -> None:
        called = {*syntax.written_names(written.node)} & set(functions)
        for name in sorted(called, key=lambda n: (ranks.get(_original(n), len(ranks)), n)):
            if name not in found:
                visit(functions[name])
        found[written.name] = written

    visit(entry)
    return list(found.values())


def _original(label: str) -> str:
    return label.partition("#")[0]


def _named(functions: list[Written]) -> list[Written]:
    """Give merged functions the names of their originals, with numbers where two are alike."""
    names: dict[str, str] = {}
    for written in functions:
        names[written.name] = syntax.unique(_original(written.name), set(names.values()))
    for written in functions:
        syntax.rename_written(written.node, names)
        written.name = names[written.name]
    return functions


def _union(left: list[str], right: list[str]) -> list[str]:
    """Return the names of both lists, in an order that both agree with."""
    found = list(left)
    for number, name in enumerate(right):
        if name not in found:
            before = [found.index(n) for n in right[:number] if n in found]
            found.insert(max(before, default=-1) + 1, name)
    return found
