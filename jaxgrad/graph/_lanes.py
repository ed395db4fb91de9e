"""Assign each operation to a module: by its scope, else by its parameters or its consumers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from jaxgrad.graph._model import ABSENT, REACHED, SUM, Graph, Op, distinct


ModulePath = tuple[str, ...]  # ("features", "3", "conv"); its first components name a lane
LOSS: ModulePath = ("loss",)

# They only change their input's layout or dtype, so that x @ w.T counts as reading w.
_RELAYOUTS = frozenset(
    "alias broadcast_in_dim convert_element_type copy expand permute reshape slice squeeze t "
    "tocopy transpose unsafeview unsqueeze view".split()
)


def _is_relayout(op: Op) -> bool:
    """Return whether an operation only changes the layout or dtype of its input."""
    return re.sub(r"backward\d*$", "", op.name.lower()) in _RELAYOUTS


def module_path(leaf: str) -> ModulePath:
    """Return the path of a parameter's module; a top-level parameter is its own module."""
    return tuple(leaf.split(".")[:-1]) or (leaf,)


class Assigned(NamedTuple):
    """A graph whose operations, or the equations of its VJP, are assigned to modules."""

    graph: Graph
    leaves: tuple[str, ...]  # the parameters of all settings
    paths: list[ModulePath]  # of each operation
    relayouts: list[bool]  # whether an operation only changes one parameter's layout or dtype


def assign(graph: Graph, leaves: tuple[str, ...]) -> Assigned:
    """Find the module of each operation, in program order.

    Args:
        graph: The graph as it was recorded.
        leaves: The names of the parameters in this or any other setting.
    """
    ops = graph.ops
    read = _reads(ops, leaves)
    relayouts = [_same_leaf(ops, i, read) for i in range(len(ops))]
    firsts = {module_path(name)[0] for name in leaves}
    scopes = _without_containers([op.scope for op in ops], firsts)
    scopes = [_named(scope, leaves) for scope in scopes]
    own = [_own(scope, names) for scope, names in zip(scopes, read, strict=True)]
    leads_on = _leads_on(ops, own)
    roots = _roots(graph)
    losses = _ancestors(ops, roots)
    paths: list[ModulePath] = []
    order: dict[ModulePath, int] = {}
    data: list[bool] = []  # uses no parameter, so it gets its consumer's module
    for i, op in enumerate(ops):
        before = [e.to for e in op.edges if isinstance(e.to, int) and not relayouts[e.to]]
        around = [paths[j] for j in before if not data[j]]
        data.append(not read[i] and not around)
        latest = max(around, key=lambda path: order[path], default=None)
        path = own[i]
        if i in roots and not scopes[i] and all("." not in name for name in read[i]):
            path = LOSS
        elif latest and not leads_on[i] and _joins(op, read[i], latest):
            path = LOSS  # neither of the two values that it adds comes before the other
        elif path is None:
            path = latest if (leads_on[i] or i not in losses) and latest else LOSS
        elif latest and set(around) == {latest} and latest[: len(path)] == path and not read[i]:
            path = latest  # it connects two submodules; assign it to the first
        elif latest and not relayouts[i] and path != LOSS:
            path = _again(path, latest, order)
        order.setdefault(path, len(order) if path != LOSS else 1_000_000)
        paths.append(path)
    for i in reversed(range(len(ops))):
        for edge in ops[i].edges:
            if isinstance(edge.to, int) and data[edge.to]:
                paths[edge.to] = paths[i]
    return Assigned(graph, leaves, paths, relayouts)


def expanded(assigned: Assigned, once: Collection[str] = ()) -> Assigned:
    """Replace the operations of a JAX graph by the equations of its VJP, in the same modules.

    Args:
        assigned: A graph of either framework.
        once: The kinds of the equations that no setting has twice: they match without regard to
            the parameter that they lead to.
    """
    graph = assigned.graph
    if graph.framework != "JAX" or graph.failure:
        return assigned
    if not graph.equations:  # the VJP is empty, because no gradient depends on the cotangent
        empty = tuple(op._replace(state=ABSENT) for op in graph.ops)
        return assigned._replace(graph=graph._replace(ops=empty))
    ops, paths, relayouts = [], [], []
    for each in graph.equations:
        owner = graph.ops[each.op]
        folded = "" if each.names == (SUM,) else owner.folded
        name = owner.name if folded else each.names[0]
        ops.append(
            Op(
                name,
                each.kind if each.kind in once else f"{each.kind} {each.leads_to}",
                owner.scope,
                each.edges,
                each.state,
                folded,
                of=owner.name,
                steps=each.names if folded else (),
                saved=each.reads,
            )
        )
        paths.append(assigned.paths[each.op])
        relayouts.append(each.rearranges and len(each.edges) == 1)
    return Assigned(graph._replace(ops=tuple(ops)), assigned.leaves, paths, relayouts)


def _roots(graph: Graph) -> set[int]:
    """Return the operations that compute the loss, or the one that raises instead."""
    ops = graph.ops
    raised = graph.failure.op if graph.failure else None
    last = len(ops) - 1 if raised is None else raised
    ends = {i for i, op in enumerate(ops) if op.state == REACHED} or {last}
    return ends - {edge.to for i in ends for edge in ops[i].edges}


def _ancestors(ops: Sequence[Op], ends: Collection[int]) -> set[int]:
    """Return the operations that `ends` depend on, and `ends`."""
    todo, found = list(ends), set()
    while todo:
        i = todo.pop()
        if i >= 0 and i not in found:
            found.add(i)
            todo += [edge.to for edge in ops[i].edges if isinstance(edge.to, int)]
    return found


def _reads(ops: Sequence[Op], leaves: Collection[str]) -> list[list[str]]:
    """Return the parameters that each operation reads, directly or through a relayout."""
    read: list[list[str]] = []
    for op in ops:
        names: list[str] = []
        for edge in op.edges:
            if isinstance(edge.to, str):
                names += [edge.to] if edge.to in leaves else []
            elif edge.to < len(read) and (
                ops[edge.to].kind == "hook" or _same_leaf(ops, edge.to, read)
            ):
                names += read[edge.to]
        read.append(distinct(names))
    return read


def _same_leaf(ops: Sequence[Op], i: int, read: Sequence[Sequence[str]]) -> bool:
    """Return whether operation `i` is a relayout of a single parameter."""
    return _is_relayout(ops[i]) and len(read[i]) == 1 and len(ops[i].edges) == 1


def _without_containers(scopes: Sequence[ModulePath], firsts: Collection[str]) -> list[ModulePath]:
    """Strip leading scopes that parameter names lack, such as flax.linen's for the model."""
    outer = {s[:1] for s in scopes if len(s) > 1 and s[0] not in firsts and s[1] in firsts}

    def strip(scope: ModulePath) -> ModulePath:
        return strip(scope[1:]) if scope[:1] in outer else scope

    return [strip(scope) for scope in scopes]


def _named(scope: ModulePath, leaves: Collection[str]) -> ModulePath:
    """Drop the trailing index of a module without parameters, such as a ReLU in nn.Sequential."""
    inside = any(module_path(name)[: len(scope)] == scope for name in leaves)
    return scope[:-1] if scope and scope[-1].isdigit() and not inside else scope


def _own(scope: ModulePath, read: Sequence[str]) -> ModulePath | None:
    """Return an operation's own module: its scope, or a parameter's module within the scope."""
    modules = [module_path(name) for name in read]
    if scope:
        return next((path for path in modules if path[: len(scope)] == scope), scope)
    return modules[-1] if modules else None


def _joins(op: Op, read: Sequence[str], latest: ModulePath) -> bool:
    """Return whether an operation adds a top-level parameter to the output of another module."""
    additive = re.sub(r"backward\d*$", "", op.name.lower()) in ("add", "sub")
    return (
        additive
        and not op.scope
        and bool(read)
        and not {*read} & {*latest}
        and all("." not in name for name in read)
    )


def _leads_on(ops: Sequence[Op], own: Sequence[ModulePath | None]) -> list[bool]:
    """Return whether a later module uses each operation's output; else it belongs to the loss."""
    leads = [False] * len(ops)
    for i in reversed(range(len(ops))):
        if leads[i] or (own[i] is not None and own[i] != LOSS):
            for edge in ops[i].edges:
                if isinstance(edge.to, int) and edge.to < i:
                    leads[edge.to] = True
    return leads


def _again(path: ModulePath, latest: ModulePath, order: dict[ModulePath, int]) -> ModulePath:
    """Return a numbered path, for a separate lane, if a module runs again after others."""
    visit, name = 1, path
    while name in order and order[name] < order[latest] and not _within(latest, name):
        visit += 1
        name = (*path[:-1], f"{path[-1]} ({visit})")
    return name


def _within(inner: ModulePath, outer: ModulePath) -> bool:
    return inner[: len(outer)] == outer or outer[: len(inner)] == inner
