"""List the equations of JAX's VJP as the boxes of a picture, with the ones that a cut removes.

The VJP is traced twice: as it is, and as if no gradient were stopped. The equations of the second
trace that the first lacks are the outlines behind a cut.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxgrad.graph._forward import Place
from jaxgrad.graph._model import ABSENT, REACHED, SUM, Edge, Equation, Op, Saved, distinct
from jaxgrad.graph._vjp import Backward


# On the way to a parameter, these change only the layout, the dtype or the copies of a gradient.
_PLAIN = frozenset(
    "broadcast_in_dim convert_element_type copy reduce_sum reshape squeeze transpose".split()
)


class _Box(NamedTuple):
    """One equation, or all equations of a folded operation."""

    place: Place
    names: tuple[str, ...]
    shape: str
    rearranges: bool
    reads: tuple[Saved, ...]
    feeds: tuple[int, ...]  # the boxes that read its result
    leaves: tuple[str, ...]  # whose gradient it computes


def equations(
    ops: Mapping[Place, Op], vjp: Backward, whole: Backward | None
) -> tuple[Equation, ...]:
    """Return the equations of a VJP, so that edges lead to earlier ones.

    Args:
        ops: The operations of the program.
        vjp: Its VJP.
        whole: Its VJP as if no gradient were stopped; None if there is none or nothing is stopped.
    """
    live = _boxes(ops, vjp)
    every = live if whole is None else _boxes(ops, whole)
    match = _matched(live, every)
    if match is None:
        every, match = live, {i: i for i in range(len(live))}
    of = {n: i for i, n in match.items()}  # the live box of each box
    cuts = _Cuts(ops, {box.place for box in every})
    order = _sorted([box.feeds for box in every])
    number = {n: i for i, n in enumerate(order)}
    position = {place: i for i, place in enumerate(ops)}
    first = {box.place: n for n, box in sorted(enumerate(every), key=lambda item: -item[0])}
    before_sum = _before_sums(every, set(range(len(every))).difference(of), cuts)
    result = []
    for n in order:
        box = every[n]
        alive = live[of[n]] if n in of else None
        open_ends = {match[i] for i in alive.feeds} | set(alive.leaves) if alive else set()
        edges = []
        others = [*box.feeds, *box.leaves]
        for end in (*others, *sorted(open_ends.difference(others), key=str)):
            ahead = every[end].place if isinstance(end, int) else end
            cut = "" if end in open_ends else cuts.between(box.place, ahead)
            cut = before_sum.get((n, end), cut)
            flows = not cut and (end in open_ends or alive is None)
            if flows or cut or end not in of:
                edges.append(Edge(number[end] if isinstance(end, int) else end, flows, cut))
        if first[box.place] == n:
            edges += [Edge(name, False) for name in cuts.constants(box.place)]
        kind = f"{box.names[0]} {box.shape}"
        if box.names != (SUM,):  # a sum of cotangents belongs to no operation of the program
            kind = f"{ops[box.place].kind}/{kind}"
        state = ABSENT if alive is None else REACHED
        reads = box.reads if alive is None else alive.reads
        ends = tuple(distinct(edges))
        result.append(
            Equation(
                *(position[box.place], box.names, kind, ends, state, reads, box.rearranges),
                leads_to=_leads_to(n, every),
            )
        )
    return tuple(result)


def _boxes(ops: Mapping[Place, Op], vjp: Backward) -> list[_Box]:
    """Return the equations that a cotangent reaches; a folded operation has one box."""
    nodes = vjp.nodes
    reached: set[int] = set()
    for i, node in enumerate(nodes):
        if node.seeded or not reached.isdisjoint(node.feeders):
            reached.add(i)
    readers = collections.defaultdict[int, list[int]](list)
    for i in sorted(reached):
        for feeder in nodes[i].feeders:
            readers[feeder].append(i)
    places: dict[int, Place] = {}
    for i in sorted(reached, reverse=True):
        place = nodes[i].place
        near = [places[r] for r in readers[i] if r in places]
        if nodes[i].name == SUM and near:  # a sum over the uses belongs to what computed the value
            place = near[0]
        near += [p for f in nodes[i].feeders if (p := nodes[f].place) is not None and p in ops]
        places[i] = place if place is not None and place in ops else (*near, *ops)[0]
    group: dict[int, object] = {
        i: places[i] if ops[places[i]].folded and nodes[i].name != SUM else i for i in places
    }
    members = collections.defaultdict[object, list[int]](list)
    for i in sorted(group):
        members[group[i]].append(i)
    index = {key: n for n, key in enumerate(members)}
    boxes = []
    for key, inside in members.items():
        feeds = [index[group[r]] for i in inside for r in readers[i]]
        leaves = [name for name, i in vjp.grads.items() if i in inside]
        boxes.append(
            _Box(
                places[inside[0]],
                tuple(nodes[i].name for i in inside),
                nodes[inside[-1]].shape,
                all(nodes[i].rearranges for i in inside),
                tuple(distinct(saved for i in inside for saved in nodes[i].reads)),
                tuple(n for n in distinct(feeds) if n != index[key]),
                tuple(leaves),
            )
        )
    return boxes


def _matched(live: Sequence[_Box], every: Sequence[_Box]) -> dict[int, int] | None:
    """Return the box of `every` for each live box, or None if one has no counterpart."""
    match: dict[int, int] = {}
    free = collections.defaultdict[Place, list[int]](list)
    for n, box in enumerate(every):
        free[box.place].append(n)
    for alike in (
        lambda a, b: (a.names, a.shape, a.reads, a.leaves) == (b.names, b.shape, b.reads, b.leaves),
        lambda a, b: (a.names, a.shape) == (b.names, b.shape),
        lambda a, b: a.names[0] == b.names[0] or len(a.names) > 1 < len(b.names),
    ):
        for i, box in enumerate(live):
            n = next((n for n in free[box.place] if alike(box, every[n])), None)
            if i not in match and n is not None:
                match[i] = n
                free[box.place].remove(n)
    return match if len(match) == len(live) else None


def _sorted(feeds: Sequence[Sequence[int]]) -> list[int]:
    """Return the boxes so that each comes after the boxes that it feeds."""
    order: list[int] = []
    seen: set[int] = set()
    for start in reversed(range(len(feeds))):
        todo = [(start, False)]
        while todo:
            n, ready = todo.pop()
            if ready:
                order.append(n)
            elif n not in seen:
                seen.add(n)
                todo += [(n, True), *((other, False) for other in sorted(feeds[n]))]
    return order


def _before_sums(
    boxes: Sequence[_Box], absent: Collection[int], cuts: _Cuts
) -> dict[tuple[int, int | str], str]:
    """Move the cuts behind an absent sum to the absent boxes whose results it would add.

    Returns:
        The cut of each edge that changes; an empty string for the edges of the sum.
    """
    moved: dict[tuple[int, int | str], str] = {}
    for n in absent:
        box = boxes[n]
        if box.names != (SUM,):
            continue
        feeders = [i for i in absent if n in boxes[i].feeds and boxes[i].names != (SUM,)]
        for end in (*box.feeds, *box.leaves):
            ahead = boxes[end].place if isinstance(end, int) else end
            found = {i: cut for i in feeders if (cut := cuts.between(boxes[i].place, ahead))}
            if found:
                moved |= {(i, n): cut for i, cut in found.items()} | {(n, end): ""}
    return moved


def _leads_to(n: int, boxes: Sequence[_Box]) -> str:
    """Return the parameter whose gradient a box only rearranges or sums, or an empty string."""
    while not boxes[n].leaves and len(boxes[n].feeds) == 1:
        (n,) = boxes[n].feeds
        if not _PLAIN.issuperset(boxes[n].names):
            return ""
    alone = len(boxes[n].leaves) == 1 and not boxes[n].feeds
    return boxes[n].leaves[0] if alone else ""


class _Cuts:
    """The cuts of a program, between the operations that have equations in its VJP."""

    def __init__(self, ops: Mapping[Place, Op], drawn: set[Place]):
        places = list(ops)
        self.ends: dict[Place, list[tuple[Place | str, Edge]]] = {
            place: [(places[e.to] if isinstance(e.to, int) else e.to, e) for e in op.edges]
            for place, op in ops.items()
        }
        self.drawn = drawn

    def beyond(self, place: Place, cut: str = "") -> Iterator[tuple[Place | str, str, bool]]:
        """Yield the next drawn operations and leaves behind one: (end, cut, gradient flows)."""
        for end, edge in self.ends[place]:
            if isinstance(end, tuple) and end not in self.drawn:
                yield from self.beyond(end, cut or edge.cut)
            else:
                yield end, cut or edge.cut, edge.flows

    def between(self, place: Place, end: Place | str) -> str:
        """Return what stops the gradient on the shortest way to an operation or a leaf."""
        todo = collections.deque([(place, "")])
        seen = {place}
        while todo:
            here, cut = todo.popleft()
            for ahead, edge in self.ends[here]:
                if ahead == end and (cut or edge.cut):
                    return cut or edge.cut
                if isinstance(ahead, tuple) and ahead not in seen and ahead != end:
                    seen.add(ahead)
                    todo.append((ahead, cut or edge.cut))
        return ""

    def constants(self, place: Place) -> list[str]:
        """Return the leaves that an operation reads without differentiating them."""
        ends = self.beyond(place)
        return [end for end, cut, flows in ends if isinstance(end, str) and not (flows or cut)]
