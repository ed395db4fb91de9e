"""Find loops over the tensors of modules that were unrolled, and whose iterations are alike.

`for q, k in zip(self.online.parameters(), self.target.parameters())` changes one tensor of a tree
of params in each iteration, and reads that tensor and the tensors of other trees in its place.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from typing import Any

from torch import nn

from jaxgrad.parity.port.ir import Param
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import RESERVED, port_name
from jaxgrad.parity.port.source.unify import Unified, unify
from jaxgrad.parity.port.values import draws, state


LONGEST = 12  # statements of an iteration
MOST_KINDS = 3  # of iterations of one loop

Path = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True)
class LeafLoop:
    """A loop over the tensors of one tree of params or of several, which changes those of one.

    Attributes:
        statements: The statements of all iterations.
        trees: The expressions of the trees. The tensors of the first one change.
        labels: The name of a tensor of each tree.
        leaves: The path of each iteration's tensor in its tree.
        body: The statements of an iteration, which read tensors by their labels.
        new: The new value of the tensor of the first tree, after the body.
        unread: The statements before the loop that only the loop reads.
    """

    statements: list[ast.stmt]
    trees: list[ast.expr]
    labels: list[str]
    leaves: list[Path]
    body: list[ast.stmt]
    new: ast.expr
    unread: Sequence[ast.stmt] = ()

    @property
    def read(self) -> list[int]:
        """The positions of the trees whose tensors the new values depend on."""
        names = {n for s in (*self.body, self.new) for n in _reads(s)}
        return [n for n, label in enumerate(self.labels) if label in names]

    @functools.cached_property
    def _value(self) -> ast.expr | None:
        """The new value as one expression; None if a value on the way to it is read twice."""
        values: dict[str, ast.expr] = {}
        for n, statement in enumerate(self.body):
            target, code = _assigned(statement)
            values[target] = syntax.substitute(code, values)
            if _count(target, [*self.body[n + 1 :], self.new]) > 1:
                if not isinstance(values[target], ast.Name):
                    return None
        return syntax.substitute(self.new, values)

    @property
    def is_stopped(self) -> bool:
        """Whether no gradient goes through the new values, so that `mapped` is to be stopped."""
        return syntax.inside_stop(self._value) is not None

    def mapped(self, trees: Sequence[ast.expr], name: str) -> tuple[list[ast.stmt], ast.expr]:
        """Return the tree of new tensors, after the statements that it needs.

        Args:
            trees: The trees that `read` chooses.
            name: The name of the function of the tensors, if it is not one expression.
        """
        parameters = [self.labels[n] for n in self.read]
        value = self._value
        if value is None:
            body, aliases = _without_aliases(self.body, parameters)
            body.append(ast.Return(syntax.substitute(self.new, aliases)))
            function = syntax.function(name, parameters, body)
            return [function], syntax.call("jax.tree.map", syntax.name(name), *trees)
        inner = syntax.inside_stop(value)
        value = value if inner is None else _Unstopped().visit(copy.deepcopy(inner))
        if isinstance(value, ast.Name) and value.id in parameters:
            return [], trees[0]
        function = ast.Lambda(syntax.function("_", parameters, []).args, value)
        return [], syntax.call("jax.tree.map", function, *trees)


def _without_aliases(
    body: Sequence[ast.stmt], parameters: Sequence[str]
) -> tuple[list[ast.stmt], dict[str, ast.expr]]:
    """Return statements that read a parameter itself, and its other names after them."""
    aliases: dict[str, ast.expr] = {}
    kept: list[ast.stmt] = []
    for statement in body:
        name, code = _assigned(statement)
        new = syntax.substitute(code, aliases)
        aliases.pop(name, None)
        if isinstance(new, ast.Name) and new.id in parameters:
            aliases[name] = new
        else:
            kept.append(ast.Assign([ast.Name(name, ast.Store())], new))
    return kept, aliases


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr]:
    """Return the variable that a statement of a body assigns, and its value."""
    match statement:
        case ast.Assign([ast.Name(name)], value):
            return name, value
        case ast.AugAssign(ast.Name(name), op, value):
            return name, ast.BinOp(syntax.name(name), op, value)
    raise AssertionError(ast.dump(statement))


def _count(name: str, statements: Sequence[ast.AST]) -> int:
    """Return how often a variable is read before it is assigned again."""
    count = 0
    for statement in statements:
        count += _reads(statement).count(name)
        if name in syntax.assigned(statement):
            break
    return count


def _reads(node: Any) -> list[str]:
    target = [node.target.id] if _is_augmented(node) else []
    return [*syntax.names_in(node), *target]


def _is_augmented(node: ast.AST) -> Any:
    return isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)


class _Unstopped(ast.NodeTransformer):
    """Leaves out the stops inside of an expression that is itself stopped."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        inner = syntax.inside_stop(node)
        return self.generic_visit(node) if inner is None else self.visit(inner)


def without_gradient(module: nn.Module) -> set[str]:
    """Return the paths of the tensors of a module that can have no gradient, such as counters."""
    named = (*module.named_parameters(remove_duplicate=False),
             *module.named_buffers(remove_duplicate=False))  # fmt: skip
    return {path for path, x in named if not (x.is_floating_point() or x.is_complex())}


def rewrite_leaf_loops(
    function: ast.FunctionDef, write: Callable[[LeafLoop], list[ast.stmt] | None], exact: Set[str]
) -> None:
    """Replace the loops over tensors in a function.

    Args:
        function: The function.
        write: Returns the statements in the place of a loop, or None if the loop stays.
        exact: The paths of the tensors that can have no gradient.
    """

    written: list[ast.stmt] = []

    def first_loop(
        block: list[ast.stmt], start: int, after: list[ast.stmt]
    ) -> tuple[LeafLoop | None, list[ast.stmt] | None]:
        """Return the loop at a statement and what is in its place, and order its iterations.

        The iterations stay in their order if no loop is written.
        """
        loop = _loop_at(block, start, after, function, written, exact)
        new = None if loop is None else write(loop)
        kinds = _by_kind(block, start, after, function, exact) if new is None else []
        if not kinds:
            return loop, new
        before, iterations = [*block], [statement for kind in kinds for statement in kind]
        block[start : start + len(iterations)] = iterations
        _number_kinds(kinds, function)
        loop = _loop_at(block, start, after, function, written, exact)
        new = None if loop is None else write(loop)
        if new is None:
            block[:] = before
        return loop, new

    def visit(block: list[ast.stmt], after: list[ast.stmt]) -> None:
        start = 0
        while start < len(block):
            statement = block[start]
            if isinstance(statement, ast.If):
                rest = [*block[start + 1 :], *after]
                visit(statement.body, rest)
                visit(statement.orelse, rest)
            loop, new = first_loop(block, start, after)
            if loop is not None and new is not None:
                remarks = (on_statement(s) for s in loop.statements)
                comments = [c for x in remarks for c in (*x.comments, x.trailing) if c]
                on_statement(new[0]).comments = tuple(comments)
                block[start : start + len(loop.statements)] = new
                written.extend(new)
                block[:] = [s for s in block if s not in loop.unread]
                start -= len(loop.unread)
                start += len(new) - 1
            start += 1

    visit(function.body, [])


def _loop_at(
    block: list[ast.stmt], start: int, after: list[ast.stmt], function: ast.FunctionDef,
    written: Sequence[ast.stmt], exact: Set[str],
) -> LeafLoop | None:  # fmt: skip
    """Return the loop whose iterations begin at a statement of a block."""
    for size in range(1, min(LONGEST, (len(block) - start) // 2) + 1):
        first = block[start : start + size]
        if not all(on_statement(s).unrolled for s in first):
            return None
        if not _is_iteration(first):
            continue
        lookups = _lookups(function, block[:start])
        resolved = [_Lookup(lookups).visit(copy.deepcopy(s)) for s in block[start:]]
        columns = list(_columns(resolved, size, exact))
        count = len(columns[0]) if columns else 0
        end = start + size * count
        unread = _unread(function, block[:start], block[start:end], lookups)
        names = _names(function, [*written, *unread, *block[start:end]])
        loop = _loop(resolved[:size], columns, names) if count > 1 else None
        if loop is None or not _are_whole_loops(block, start, end):
            continue
        assigned = set[str]().union(*map(syntax.assigned, first)) - {PARAMS}
        if any(_count(name, [*block[end:], *after]) for name in assigned):
            return None
        return dataclasses.replace(loop, statements=block[start:end], unread=unread)
    return None


def _by_kind(
    block: list[ast.stmt], start: int, after: list[ast.stmt], function: ast.FunctionDef,
    exact: Set[str],
) -> list[list[ast.stmt]]:  # fmt: skip
    """Return copies of the statements of a loop by kind of iteration, the most frequent one first.

    A loop over a state_dict may average the floating tensors and copy the others. The copies read
    tensors of the params where the statements read them from a container.

    Returns:
        The copies; an empty list if the iterations are alike or depend on one another.
    """
    number = on_statement(block[start]).unrolled
    if not number or (start and on_statement(block[start - 1]).unrolled == number):
        return []
    iterations: list[list[ast.stmt]] = [[]]
    for statement in block[start:]:
        if on_statement(statement).unrolled != number:
            break
        iterations[-1].append(statement)
        if isinstance(statement, ast.Assign) and state.is_leaf(statement.targets[0]):
            iterations.append([])
    *iterations, rest = iterations
    if rest or not iterations or not all(map(_is_iteration, iterations)):
        return []
    lookup = _Lookup(_lookups(function, block[:start]))
    resolved = [[lookup.visit(copy.deepcopy(s)) for s in iteration] for iteration in iterations]
    if not _are_independent(resolved):
        return []
    end = start + sum(map(len, iterations))
    names = {n for iteration in iterations for s in iteration for n in syntax.assigned(s)} - {
        PARAMS
    }
    if any(_count(name, [*block[end:], *after]) for name in names):
        return []
    kinds: list[list[list[ast.stmt]]] = []
    for iteration in resolved:
        kind = next((k for k in kinds if _are_alike(k[0], iteration, exact)), None)
        if kind is None:
            kinds.append(kind := [])
        kind.append(iteration)
    if len(kinds) == 1 or len(kinds) > MOST_KINDS:
        return []
    kinds.sort(key=len, reverse=True)
    return [[statement for iteration in kind for statement in iteration] for kind in kinds]


def _are_independent(iterations: Sequence[Sequence[Any]]) -> bool:
    """Return whether no iteration reads a tensor that another one changes."""
    changed = [param_paths.of(iteration[-1].targets[0]) for iteration in iterations]
    if len(set(changed)) < len(changed):
        return False
    for iteration, own in zip(iterations, changed, strict=True):
        parts = [part for statement in iteration for part in param_paths.parts(statement)]
        others = [x for x in changed if x != own]
        if any(part.is_in(x) or x.is_in(part) for part in parts for x in others):
            return False
    return True


def _are_alike(first: Sequence[ast.stmt], iteration: Sequence[ast.stmt], exact: Set[str]) -> bool:
    columns = list(_columns(copy.deepcopy([*first, *iteration]), len(first), exact))
    return len(first) == len(iteration) and len(columns[0]) == 2


def _number_kinds(kinds: Sequence[Sequence[ast.stmt]], function: ast.FunctionDef) -> None:
    """Let the iterations of each kind be a loop of their own."""
    taken = [on_statement(n).unrolled for n in ast.walk(function) if isinstance(n, ast.stmt)]
    for number, kind in enumerate(kinds, max(taken) + 1):
        for statement in kind:
            on_statement(statement).unrolled = number


def _are_whole_loops(block: list[ast.stmt], start: int, end: int) -> bool:
    """Return whether no iteration of the same loop is before or after statements of a block."""
    pairs = [block[n - 1 : n + 1] for n in (start, end) if n]
    numbers = [[on_statement(s).unrolled for s in pair] for pair in pairs]
    return all(len(set(pair)) == len(pair) for pair in numbers)


def _is_iteration(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements end with the update of a tensor, and compute its new value."""
    *before, last = body
    if not isinstance(last, ast.Assign) or len(last.targets) > 1:
        return False
    if not state.is_leaf(last.targets[0]) or draws.keys(ast.Module(list(body), [])):
        return False
    known: set[str] = set()
    names = set().union(*(syntax.assigned(s) for s in before))
    statements: Sequence[Any] = body
    for statement in statements:
        if names & set(_reads(statement)) - known:
            return False  # it takes a value of the iteration before
        if statement is not last:
            plain = isinstance(statement, ast.Assign) and len(statement.targets) == 1
            target = statement.targets[0] if plain else getattr(statement, "target", None)
            if not (plain or _is_augmented(statement)) or not isinstance(target, ast.Name):
                return False
            known.add(target.id)
    return True


def _lookups(function: ast.FunctionDef, before: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """Return the containers of tensors of the params that statements before a loop name."""
    stores = syntax.stored_names(function)
    found: dict[str, ast.expr] = {}
    for n, statement in enumerate(before):
        match statement:
            case ast.Assign([ast.Name(name)], ast.Dict() | ast.List() | ast.Tuple() as code):
                updated = any(syntax.updated(s) for s in before[n + 1 :])
                resolved = _Lookup(found).visit(copy.deepcopy(code))
                if stores.count(name) == 1 and _holds_leaves(resolved) and not updated:
                    found[name] = resolved
    return found


def _parts(code: ast.expr) -> dict[object, ast.expr]:
    """Return the values in the code of a container by their keys; there are none in other code."""
    if isinstance(code, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in code.keys]
        return dict(zip(keys, code.values, strict=True))
    return dict(enumerate(code.elts)) if isinstance(code, ast.List | ast.Tuple) else {}


def _holds_leaves(code: ast.expr) -> bool:
    """Return whether an expression is a container of the params' tensors, or of such ones."""
    parts = _parts(code).values()
    return bool(parts) and all(_is_leaf(x) or _holds_leaves(x) for x in parts)


def _is_leaf(code: ast.expr | None) -> bool:
    """Return whether code is a tensor of the params, or a stopped one."""
    return state.is_leaf(code) or state.is_leaf(syntax.inside_stop(code))


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _unread(
    function: ast.FunctionDef, before: Sequence[ast.stmt], loop: Sequence[ast.stmt],
    lookups: Collection[str],
) -> list[ast.stmt]:  # fmt: skip
    """Return the statements that name dicts of tensors which only a loop reads."""
    inside = {n for statement in loop for n in ast.walk(statement)}
    reads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and not _is_store(n)]
    unread: list[ast.stmt] = []
    for statement in reversed(before):
        named = isinstance(statement, ast.Assign) and syntax.assigned(statement) & set(lookups)
        if named and not named & {n.id for n in reads if n not in inside}:
            unread.append(statement)
            inside |= {*ast.walk(statement)}
    return unread


class _Lookup(ast.NodeTransformer):
    """Reads the tensors themselves where they are read from a container of them."""

    def __init__(self, containers: dict[str, ast.expr]) -> None:
        self.containers = containers

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        place = param_paths.of(node)
        code = self.containers.get(place.owner)
        for key in place.path:
            code = None if code is None else _parts(code).get(key)
        return copy.deepcopy(code) if _is_leaf(code) else self.generic_visit(node)


def _columns(body: Sequence[ast.stmt], size: int, exact: Set[str]) -> Iterator[list[ast.expr]]:
    """Yield what stands in each place of a tensor, in as many iterations as are alike."""
    first, rows, stopped = list(body[:size]), [], False
    for start in range(0, len(body) - size + 1, size):
        iteration = list(body[start : start + size])
        if not _is_iteration(iteration) or not all(on_statement(s).unrolled for s in iteration):
            break
        if start == 0:
            stopped = _is_stopped(iteration)
        if stopped and (_is_stopped(iteration) or _changes(iteration[-1]) in exact):
            _stop_at_the_end(iteration)
        unified = unify(first, iteration, _leaves)
        if unified is None:
            break
        rows.append([own for _, own in unified.holes])
    yield from map(list, zip(*rows, strict=True))


def _changes(update: Any) -> str:
    """Return the path of the tensor that a statement changes."""
    part = on_expression(update.targets[0]).part
    return "" if part is None else part.path


def _is_stopped(body: Sequence[Any]) -> bool:
    """Return whether no gradient goes through the new value of an iteration."""
    *before, update = body
    value = update.value
    for statement in reversed(before):
        if isinstance(value, ast.Name) and value.id in syntax.assigned(statement):
            value = statement.value if isinstance(statement, ast.Assign) else None
    return syntax.inside_stop(value) is not None


def _stop_at_the_end(body: Sequence[Any]) -> None:
    """Stop the new value of an iteration alone, and nothing that it is computed from."""
    for statement in body:
        statement.value = _Unstopped().visit(statement.value)
    body[-1].value = syntax.stopped(body[-1].value)


def _leaves(left: Any, right: Any) -> Unified | None:
    """Unify two trees with a hole for each tensor of the params, even where both have the same."""
    if isinstance(left, ast.Subscript) and isinstance(right, ast.Subscript):
        if state.is_leaf(left) and state.is_leaf(right):
            return Unified(left, [(left, right)])
    return unify(left, right, _leaves)


def _loop(first: list[ast.stmt], columns: list[list[ast.expr]], taken: Set[str]) -> LeafLoop | None:
    """Return the loop whose iterations have these tensors.

    Each iteration must change another tensor of one tree. What it reads of the params is that
    tensor, or one in the same place of another tree, or the same in each iteration.
    """
    *before, update = first
    assert isinstance(update, ast.Assign)
    paths = [[param_paths.of(code) for code in column] for column in columns]
    start = next(n for n, column in enumerate(columns) if column[0] is update.targets[0])
    depth = _shared([x.path for x in paths[start]])
    leaves = [x.path[depth:] for x in paths[start]]
    root = Param(paths[start][0].path[:depth])
    if depth == 0 or len(set(leaves)) < len(leaves) or paths[start][0].owner != PARAMS:
        return None
    trees = {root: _above(columns[start][0], len(leaves[0]))}
    holes: list[tuple[ast.expr, Param]] = []
    for column, places in zip(columns, paths, strict=True):
        if len(set(places)) == 1:
            continue
        tree = Param(places[0].path[: len(places[0].path) - len(leaves[0])])
        if places != [Param((*tree.path, *leaf)) for leaf in leaves]:
            return None
        if tree != root and (tree.is_in(root) or root.is_in(tree)):
            return None
        trees.setdefault(tree, _above(column[0], len(leaves[0])))
        holes.append((column[0], tree))
    labels = _labels(list(trees), taken)
    names = [(code, syntax.name(labels[tree])) for code, tree in holes]
    body: list[ast.stmt] = [syntax.with_parts(s, names) for s in before]
    new = syntax.with_parts(update.value, names)
    if any(p.is_in(root) or root.is_in(p) for s in (*body, new) for p in param_paths.parts(s)):
        return None
    return LeafLoop([], list(trees.values()), list(labels.values()), leaves, body, new)


def _shared(paths: Sequence[Path]) -> int:
    """Return the number of keys with which all paths begin."""
    first, count = paths[0], 0
    while count < len(first) and all(
        x[count : count + 1] == first[count : count + 1] for x in paths
    ):
        count += 1
    return count


def _above(leaf: ast.expr, count: int) -> ast.expr:
    """Return the tree that has a tensor this number of keys below it."""
    for _ in range(count):
        assert isinstance(leaf, ast.Subscript)
        leaf = leaf.value
    return leaf


def _names(function: ast.FunctionDef, without: Sequence[ast.stmt]) -> set[str]:
    """Return the names that a function uses, and those that its numbers may get.

    Args:
        function: The function.
        without: The loop and what is in the place of others, whose variables nothing else reads.
    """
    inside = {n for statement in without for n in ast.walk(statement)}
    nodes = [n for n in ast.walk(function) if n not in inside]
    known = [on_expression(n).number for n in ast.walk(function) if isinstance(n, ast.expr)]
    names = {name for x in known if x is not None for name in (x.name, x.local, x.keyword)}
    names |= {n.id for n in nodes if isinstance(n, ast.Name)}
    return names | {n.arg for n in nodes if isinstance(n, ast.arg)} | RESERVED


def _labels(trees: Sequence[Param], taken: Set[str]) -> dict[Param, str]:
    """Return the name of a tensor of each tree: that of the module."""
    labels: dict[Param, str] = {}
    for tree in trees:
        keys = [key for key in tree.path if isinstance(key, str) and key.isidentifier()]
        label = port_name(keys[-1]) if keys else "x"
        while label in taken or label in labels.values():
            label += "_"  # passes rename what has a number
        labels[tree] = label
    return labels
