"""The steps of a torch program, and which of them belong to a loss."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Collection, Sequence

from torch import Tensor, nn

from jaxgrad.graph import Edge
from jaxgrad.parity.torch_graph.nodes import Kept


@dataclasses.dataclass
class Step:
    """A node of torch's graph, or a torch call that autograd did not record."""

    name: str
    kind: str
    module: nn.Module | None
    recorded: bool
    edges: list[Edge]  # each to a step's index or to a leaf's key
    outputs: list[weakref.ref[Tensor]] = dataclasses.field(default_factory=list)
    kept: list[Kept] = dataclasses.field(default_factory=list)


def before(steps: Sequence[Step], start: Collection[int]) -> set[int]:
    """Return the steps that `start` depends on, following edges cut by `detach` as well."""
    reached: set[int] = set()
    todo = list(start)
    while todo:
        step = todo.pop()
        if step not in reached:
            reached.add(step)
            todo += [e.to for e in steps[step].edges if isinstance(e.to, int)]
    return reached


def beside(steps: Sequence[Step], chosen: set[int], since: int) -> set[int]:
    """Add the live graphs recorded from step `since` on that share a step or leaf with `chosen`."""
    parts = [
        before(steps, {i})
        for i in range(since, len(steps))
        if steps[i].recorded and any(ref() is not None for ref in steps[i].outputs)
    ]
    ends = _ends(steps, chosen)
    while near := [part for part in parts if not part <= chosen and _ends(steps, part) & ends]:
        chosen = chosen.union(*near)
        ends = _ends(steps, chosen)
    return chosen


def _ends(steps: Sequence[Step], chosen: set[int]) -> set[int | str]:
    return {end for i in chosen for end in (i, *(e.to for e in steps[i].edges))}
