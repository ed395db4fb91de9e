"""Write a loop over the tensors of modules as one `jax.tree.map` over their params.

torch's program goes over the tensors, and the port over the trees that hold them::

    for q, k in zip(self.online.parameters(), self.target.parameters()):
        k.mul_(0.9).add_(q, alpha=0.1)

    p["target"] = jax.tree.map(
        lambda target, online: F.add(target * 0.9, online, alpha=0.1), p["target"], p["online"]
    )

Where a tree has leaves that the loop leaves alone, such as buffers, `jaxgrad.partition` splits them
off.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from jaxgrad.parity.port.finish.leaf_loops import (
    LeafLoop,
    Path,
    rewrite_leaf_loops,
    without_gradient,
)
from jaxgrad.parity.port.ir import UpdateBuffer
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.training.selections import negated, selection
from jaxgrad.parity.port.values.params import Layout


FEWEST = 3  # iterations that the splitting of a tree takes the place of, at the least
DOCS = {
    "parameter": "Return whether a leaf is a parameter, not a buffer.",
    "buffer": "Return whether a leaf is a buffer, not a parameter.",
    "changed": "Return whether a leaf is one of those that change.",
}


def with_tree_maps(functions: Sequence[Written], layout: Layout) -> list[Written]:
    """Return the functions with maps over trees in place of loops over their leaves."""
    maps, exact = _Maps(functions, layout), without_gradient(layout.module)
    for written in functions:
        if isinstance(written.node, ast.FunctionDef) and written.module_paths:
            rewrite_leaf_loops(written.node, functools.partial(maps.write, written), exact)
    return [*maps.helpers.values(), *functions]


class _Maps:
    """Writes loops over the leaves of params whose layout is known.

    Attributes:
        helpers: The functions that choose leaves, by their code.
    """

    def __init__(self, functions: Sequence[Written], layout: Layout) -> None:
        self.helpers: dict[str, Written] = {}
        self.names = {w.name for w in functions}
        self.tree = layout.tree({path: path for path in layout.paths()})
        self.tied = {*layout.ties(), *layout.ties().values()}
        self.buffers = set(layout.buffers())

    def write(self, written: Written, loop: LeafLoop) -> list[ast.stmt] | None:
        """Return the statements in the place of a loop, or None if it stays as it is.

        It does where the trees differ in structure, or have tied weights, which are one leaf.
        """
        own = [self._leaves(module, loop) for module in sorted(written.module_paths)]
        leaves = own[0]
        if leaves is None or any(x is None or list(x) != list(leaves) for x in own):
            return None
        others = [path for path in leaves if path not in loop.leaves]
        if not others:
            return self._whole(written, loop)
        if len(loop.leaves) < FEWEST:
            return None
        chosen = [leaves[path] for path in leaves if path in loop.leaves]
        kinds = [{x in self.buffers for x in names}
                 for names in (chosen, [leaves[x] for x in others])]  # fmt: skip
        kind = "changed" if kinds[0] & kinds[1] else "buffer" if True in kinds[0] else "parameter"
        test = self._helper(kind, [x for x in leaves if x in loop.leaves], others)
        return self._split(written, loop, test)

    def _leaves(self, module: str, loop: LeafLoop) -> dict[Path, str] | None:
        """Return torch's path of each leaf of the changing tree by its path in the tree.

        Args:
            module: The path of the module that the function gets the params of.
            loop: The loop.

        Returns:
            The paths, or None if the loop cannot be a map over its trees.
        """
        nodes = []
        for tree in loop.trees:
            node = self.tree
            for key in [*filter(None, module.split(".")), *param_paths.of(tree).path]:
                try:
                    node = node[int(key) if isinstance(node, list) else str(key)]
                except (KeyError, IndexError, ValueError):
                    return None
            nodes.append(node)
        found = [dict(_leaves_of(node)) for node in nodes]
        if any(x in self.tied for leaves in found for x in leaves.values()):
            return None
        if any(_structure(x) != _structure(nodes[0]) for x in nodes[1:]):
            return None
        return found[0] if set(loop.leaves) <= set(found[0]) else None

    def _whole(self, written: Written, loop: LeafLoop) -> list[ast.stmt] | None:
        """Return the statements in the place of a loop over all leaves of its trees."""
        if not loop.read:
            return None
        given = [copy.deepcopy(loop.trees[n]) for n in loop.read]
        before, new = loop.mapped(given, syntax.unique("updated", syntax.all_names(written.node)))
        if isinstance(new, ast.Subscript) and _changes_below(written.node, loop):
            return None  # both trees would be one dict
        if loop.is_stopped and isinstance(new, ast.Call):
            before.append(ast.Assign([ast.Name(loop.labels[0], ast.Store())], new))
            new = syntax.name(loop.labels[0])
        return [*before, _update(loop, new)]

    def _split(self, written: Written, loop: LeafLoop, test: str) -> list[ast.stmt] | None:
        """Return the statements in the place of a loop over some of the leaves of its trees."""
        taken = syntax.all_names(written.node) | set(loop.labels)
        rest = syntax.unique("rest", taken)
        split: list[ast.stmt] = []
        for n, (tree, label) in enumerate(zip(loop.trees, loop.labels, strict=True)):
            if n and n not in loop.read:
                continue
            chooses = syntax.name(test)
            on_expression(chooses).written = True
            code = syntax.call("jaxgrad.partition", copy.deepcopy(tree), chooses)
            names = [label if n in loop.read else "_", "_" if n else rest]
            targets: list[ast.expr] = [ast.Name(x, ast.Store()) for x in names]
            split.append(ast.Assign([ast.Tuple(targets, ast.Store())], code))
        if not loop.read:
            return None
        given: list[ast.expr] = [syntax.name(loop.labels[n]) for n in loop.read]
        before, new = loop.mapped(given, syntax.unique("updated", taken | {rest}))
        if isinstance(new, ast.Call):
            before.append(ast.Assign([ast.Name(loop.labels[0], ast.Store())], new))
            new = syntax.name(loop.labels[0])
        return [*split, *before, _update(loop, new, syntax.name(rest))]

    def _helper(self, kind: str, chosen: Sequence[Path], others: Sequence[Path]) -> str:
        """Return the name of the function that chooses leaves by their paths."""
        names, rest = (["/".join(map(str, x)) for x in paths] for paths in (chosen, others))
        tests = [selection(names, rest), negated(selection(rest, names))]
        code = min(tests, key=lambda test: " or " in test)
        if code not in self.helpers:
            name = syntax.unique(f"is_{kind}", self.names)
            self.names.add(name)
            source = f"def {name}(name, _):\n    return {code}"
            self.helpers[code] = Written.helper(source, DOCS[kind], with_tree_maps)
            self.helpers[code].pinned = True
        return self.helpers[code].name


def _update(loop: LeafLoop, new: ast.expr, rest: ast.expr | None = None) -> ast.stmt:
    """Return the statement that gives a tree its new leaves."""
    new = syntax.stopped(new) if loop.is_stopped else new
    new = new if rest is None else syntax.call("jaxgrad.combine", new, rest)
    statement = ast.Assign([syntax.as_target(loop.trees[0])], new)
    on_statement(statement).update = UpdateBuffer()
    return statement


def _changes_below(function: ast.FunctionDef, loop: LeafLoop) -> bool:
    """Return whether a function updates a part of one of the trees outside of the loop."""
    others = [n for n in ast.walk(function) if n not in loop.statements]
    places = [p for n in others if (p := syntax.update_place(n)) is not None]
    parts = [param_paths.of(x) for x in loop.trees]
    return any(param_paths.of(p).is_in(part) for p in places for part in parts)


def _leaves_of(tree: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the path of each leaf of a tree, and the leaf."""
    if isinstance(tree, str):
        yield path, tree
    elif tree is not None:
        for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _leaves_of(inner, (*path, key))


def _structure(tree: Any) -> Any:
    """Return a tree with True in place of its leaves."""
    if isinstance(tree, dict):
        return {key: _structure(x) for key, x in tree.items()}
    return list(map(_structure, tree)) if isinstance(tree, list) else tree is not None
