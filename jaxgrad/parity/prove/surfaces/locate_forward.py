"""Where the forward pass parts: the first torch value that the JAX program does not have."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence, Set
from typing import NamedTuple

import numpy as np

from jaxgrad.parity.prove.align.align import Alignment
from jaxgrad.parity.prove.jax_side.flow import Flow, leaf_key, leaf_of
from jaxgrad.parity.prove.jax_side.program import Key
from jaxgrad.parity.prove.torch_side.values import TorchRun
from jaxgrad.parity.prove.weights.map import WeightMap


def lost(run: TorchRun, seen: Alignment, wrong: Sequence[int]) -> list[int]:
    """The torch values that JAX lacks and through which a wrong output was made, in order.

    Args:
      run: torch's run.
      seen: Which of its values were found.
      wrong: Where the wrong outputs are among its values.
    """
    found: set[int] = set()
    todo = list(wrong)
    while todo:
        i = todo.pop()
        if i in found or (seen.visible(i) and i not in wrong):
            continue
        found.add(i)
        todo += run.values[i].inputs
    return sorted(found)


def origins(run: TorchRun, seen: Alignment, region: Sequence[int], mapped: Set[str]) -> list[int]:
    """Of these, the values whose own inputs were all found: here it goes wrong.

    What is made of integers or of constants alone (a mask, a rotary table) says little: a port
    makes it in its own way.
    """
    inside = set(region)
    moving = _moving(run, mapped)
    fed: set[int] = set()
    for i in region:
        value = run.values[i]
        reads = [k for k in value.inputs if k != i]
        if i in moving and (
            set(value.weights) & mapped
            or any(k in fed or (k not in inside and not seen.trivial[k]) for k in reads)
        ):
            fed.add(i)
    return _sources(run, fed, fed) or _sources(run, inside, inside)


def _moving(run: TorchRun, mapped: Container[str]) -> set[int]:
    """The values that depend on an input or on a weight of the port; the rest are constants."""
    found: set[int] = set()
    for i, value in enumerate(run.values):
        if (
            value.op == "input"
            or any(name in mapped for name in value.weights)
            or any(k in found for k in value.inputs if k != i)
        ):
            found.add(i)
    return found


def _sources(run: TorchRun, chosen: set[int], inside: set[int]) -> list[int]:
    return sorted(i for i in chosen if not inside & set(run.values[i].inputs) - {i})


def module_of(run: TorchRun, starts: Sequence[int]) -> str:
    """The module that an origin stands in; of several beside each other, the one around them."""
    first = run.values[starts[0]].module
    parent = first.rpartition(".")[0]
    beside = {run.values[i].module for i in starts}
    beside = {name for name in beside if name.rpartition(".")[0] == parent and name != parent}
    return parent if len(beside) > 1 and parent else first


ROOT = "(the module)"  # the name of the outermost


class Sides(NamedTuple):
    """The lost part of the JAX program: what made the wrong outputs and is no torch value."""

    flow: Flow
    known: set[Key]
    region: set[Key]
    matched: Callable[[int], set[Key]]  # torch value -> the JAX values with its numbers

    def first(self, reads: Iterable[Key]) -> list[Key]:
        """The lost values made of these and of nothing that is lost, in order."""
        reads = set(reads)
        found = [k for k in self.region if leaf_of(k) is None and reads & set(self.flow.parents[k])]
        clean = [k for k in found if not self.region & set(self.flow.parents[k])]
        return sorted(clean, key=lambda key: self.flow.order[key])

    def any(self) -> list[Key]:
        """Every lost value, in order."""
        lost = [key for key in self.region if leaf_of(key) is None]
        return sorted(lost, key=lambda key: self.flow.order[key])


def sides(flow: Flow, seen: Alignment, wrong: Sequence[Key]) -> Sides:
    """What is lost on the JAX side; `wrong` are its wrong outputs."""
    known = seen.known

    def matched(i: int) -> set[Key]:
        return {seen.spots[k].key for k in seen.matches(i)}

    region: set[Key] = set()
    # Indices, masks and other things that no weight and no known value is part of are left out.
    for key in sorted(flow.back(wrong, known - set(wrong)), key=lambda k: flow.order.get(k, -1)):
        parents = flow.parents.get(key, ())
        if any(p in known or p in region or is_weight(flow, p) for p in parents):
            region.add(key)
    return Sides(flow, known, region, matched)


def is_weight(flow: Flow, key: Key) -> bool:
    """Whether a key is a floating leaf."""
    leaf = leaf_of(key)
    return leaf is not None and np.issubdtype(flow.made.leaves[leaf].dtype, np.inexact)


def reads(run: TorchRun, lost: Sides, weights: WeightMap, i: int) -> set[Key]:
    """The JAX values and leaves that stand for what a torch value was made of."""
    value = run.values[i]
    keys = {key for k in value.inputs for key in lost.matched(k)}
    return keys | {leaf_key(leaf) for name in value.weights for leaf in weights.leaves_of(name)}


def likely(run: TorchRun, lost: Sides, weights: WeightMap, starts: Sequence[int]) -> list[int]:
    """Of several origins those of which the JAX side makes something else, too.

    A port that adds a mask in another place loses a value that is none of its faults; there, all
    that reads the same inputs reads something lost as well.
    """
    both = [i for i in starts if lost.first(reads(run, lost, weights, i))]
    return both or list(starts)


def hidden(run: TorchRun, seen: Alignment) -> list[str]:
    """The module calls whose outputs the JAX program does not have."""
    return list(
        dict.fromkeys(
            call.module or ROOT
            for call in run.calls
            if call.outputs and not any(seen.visible(i) for i in call.outputs)
        )
    )
