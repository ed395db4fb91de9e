"""What a torch program did, step by step, and which of it belongs to a loss."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Collection, Sequence

from torch import Tensor, nn

from jaxgrad.graph import Edge
from jaxgrad.parity.torch_graph.nodes import Kept


@dataclasses.dataclass
class Step:
    """One call of torch that was not recorded, or one node of its graph."""

    name: str
    kind: str
    module: nn.Module | None
    recorded: bool
    edges: list[Edge]  # to a step, by its number, or to a leaf, as `Names.leaf` calls it
    made: list[weakref.ref[Tensor]] = dataclasses.field(default_factory=list)
    kept: list[Kept] = dataclasses.field(default_factory=list)


def before(steps: Sequence[Step], start: Collection[int]) -> set[int]:
    """The steps that led to these, through whatever was cut."""
    found: set[int] = set()
    todo = list(start)
    while todo:
        step = todo.pop()
        if step not in found:
            found.add(step)
            todo += [e.to for e in steps[step].edges if isinstance(e.to, int)]
    return found


def beside(steps: Sequence[Step], found: set[int], since: int) -> set[int]:
    """These, and what has to do with them: recorded `since` a step, and still held."""
    parts = [
        before(steps, {i})
        for i in range(since, len(steps))
        if steps[i].recorded and any(ref() is not None for ref in steps[i].made)
    ]
    ends = _ends(steps, found)
    while near := [part for part in parts if not part <= found and _ends(steps, part) & ends]:
        found = found.union(*near)
        ends = _ends(steps, found)
    return found


def _ends(steps: Sequence[Step], chosen: set[int]) -> set[int | str]:
    return {end for i in chosen for end in (i, *(e.to for e in steps[i].edges))}
