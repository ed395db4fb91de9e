"""Which module an operation belongs to: its scope, else the parameters that it reads or feeds."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from jaxgrad.graph._model import Graph, Op, distinct


Home = tuple[str, ...]  # a module's path, ("features", "3", "conv"); a lane is the first part of it
LOSS: Home = ("loss",)

# They hand a parameter on in another form: x @ w.T reads w.
_FORMS = frozenset(
    "alias broadcast_in_dim convert_element_type copy expand permute reshape slice squeeze t "
    "tocopy transpose unsafeview unsqueeze view".split()
)


def _changes_form(op: Op) -> bool:
    """Whether it only changes the form of what it is given."""
    return re.sub(r"backward\d*$", "", op.name.lower()) in _FORMS


def home_of(leaf: str) -> Home:
    """The module of a parameter; a parameter without one is its own."""
    return tuple(leaf.split(".")[:-1]) or (leaf,)


class Placed(NamedTuple):
    """A graph with what its operations have to do with parameters."""

    graph: Graph
    leaves: tuple[str, ...]  # the parameters of any setting
    homes: list[Home]
    forms: list[bool]  # whether an operation is a parameter in another form: x @ w.T reads w


def place(graph: Graph, leaves: tuple[str, ...]) -> Placed:
    """Find the module of each operation, in program order.

    Args:
      graph: As it was recorded.
      leaves: Which names are parameters, here or in another setting.
    """
    ops = graph.ops
    read = _reads(ops, leaves)
    forms = [_same_leaf(ops, i, read) for i in range(len(ops))]
    firsts = {home_of(name)[0] for name in leaves}
    scopes = _without_containers([op.scope for op in ops], firsts)
    scopes = [_named(scope, leaves) for scope in scopes]
    own = [_own(scope, names) for scope, names in zip(scopes, read, strict=True)]
    leads_on = _leads_on(ops, own)
    homes: list[Home] = []
    order: dict[Home, int] = {}
    data: list[bool] = []  # made of no parameter: where it is used
    for i, op in enumerate(ops):
        before = [e.to for e in op.edges if isinstance(e.to, int) and not forms[e.to]]
        around = [homes[j] for j in before if not data[j]]
        data.append(not read[i] and not around)
        latest = max(around, key=lambda home: order[home], default=None)
        home = own[i]
        if home is None:
            home = latest if leads_on[i] and latest else LOSS
        elif latest and set(around) == {latest} and latest[: len(home)] == home and not read[i]:
            home = latest  # between two modules of one: of the first
        elif latest and not forms[i] and home != LOSS:
            home = _again(home, latest, order)
        order.setdefault(home, len(order) if home != LOSS else 1_000_000)
        homes.append(home)
    for i in reversed(range(len(ops))):
        for edge in ops[i].edges:
            if isinstance(edge.to, int) and data[edge.to]:
                homes[edge.to] = homes[i]
    return Placed(graph, leaves, homes, forms)


def _reads(ops: Sequence[Op], leaves: Collection[str]) -> list[list[str]]:
    """The parameters that each operation reads, also in another form."""
    read: list[list[str]] = []
    for op in ops:
        names: list[str] = []
        for edge in op.edges:
            if isinstance(edge.to, str):
                names += [edge.to] if edge.to in leaves else []
            elif edge.to < len(read) and _same_leaf(ops, edge.to, read):
                names += read[edge.to]
        read.append(distinct(names))
    return read


def _same_leaf(ops: Sequence[Op], i: int, read: Sequence[Sequence[str]]) -> bool:
    """Whether operation `i` is one parameter in another form."""
    return _changes_form(ops[i]) and len(read[i]) == 1 and len(ops[i].edges) == 1


def _without_containers(scopes: Sequence[Home], firsts: Collection[str]) -> list[Home]:
    """Scopes that begin where the names of parameters do: flax.linen puts the model around."""
    outer = {s[:1] for s in scopes if len(s) > 1 and s[0] not in firsts and s[1] in firsts}

    def strip(scope: Home) -> Home:
        return strip(scope[1:]) if scope[:1] in outer else scope

    return [strip(scope) for scope in scopes]


def _named(scope: Home, leaves: Collection[str]) -> Home:
    """A scope without the number of a module that has no parameters: a relu of an nn.Sequential."""
    inside = any(home_of(name)[: len(scope)] == scope for name in leaves)
    return scope[:-1] if scope and scope[-1].isdigit() and not inside else scope


def _own(scope: Home, read: Sequence[str]) -> Home | None:
    """What an operation says itself: its scope, or deeper in it the module that it reads from."""
    modules = [home_of(name) for name in read]
    if scope:
        return next((home for home in modules if home[: len(scope)] == scope), scope)
    return modules[-1] if modules else None


def _leads_on(ops: Sequence[Op], own: Sequence[Home | None]) -> list[bool]:
    """Whether what an operation makes is used by a module later on; else it is part of the loss."""
    leads = [False] * len(ops)
    for i in reversed(range(len(ops))):
        if leads[i] or (own[i] is not None and own[i] != LOSS):
            for edge in ops[i].edges:
                if isinstance(edge.to, int) and edge.to < i:
                    leads[edge.to] = True
    return leads


def _again(home: Home, latest: Home, order: dict[Home, int]) -> Home:
    """A module that runs a second time, after others, is another lane: time goes one way."""
    visit, name = 1, home
    while name in order and order[name] < order[latest] and not _within(latest, name):
        visit += 1
        name = (*home[:-1], f"{home[-1]} ({visit})")
    return name


def _within(inner: Home, outer: Home) -> bool:
    return inner[: len(outer)] == outer or outer[: len(inner)] == inner
