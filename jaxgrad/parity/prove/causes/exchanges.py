"""Weights that the port's code uses in each other's place, as trials that rerun torch.

A gate stands for a projection, or a direction for another, in all blocks alike. `swapped_weights`
finds the other mistake: leaves of params that were loaded with each other's tensors.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from jaxgrad.parity.prove.causes.trials import Trial
from jaxgrad.parity.prove.record.torch_side.values import TorchRun
from jaxgrad.parity.prove.wording import Mutual


_MOST = 24

Pair = tuple[str, str]


def exchanged(
    run: TorchRun,
    shapes: Mapping[str, tuple[int, ...]],
    starts: Sequence[int],
    near: Collection[int],
) -> Iterator[Trial]:
    """Yield the trials in which JAX uses two weights, or those of two layers, the wrong way round.

    Layers with numbers (blocks, experts) are changed alike.

    Args:
        run: torch's run.
        shapes: The shapes of torch's weights.
        starts: The values at which the difference may begin.
        near: These and the values around them.
    """
    used = {name for i in near for name in run.values[i].weights}
    reads: dict[str, int] = {}
    for i, value in enumerate(run.values):
        for name in value.weights:
            reads.setdefault(name, i)
    listed = [
        (text, pairs)
        for text, pairs in exchangeable({n: shape for n, shape in shapes.items() if n in reads})
        if any(name in used for pair in pairs for name in pair)
    ]
    for text, pairs in listed[:_MOST]:
        first = min(reads[name] for pair in pairs for name in pair)
        value = first if first in near and first >= starts[0] else starts[0]
        yield Trial(value, Mutual(f"{text} are exchanged"), (), exchanged=tuple(pairs))


def exchangeable(shapes: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, list[Pair]]]:
    """Yield pairs of weights with equal shapes, and what they are.

    They belong to two sibling layers, to the directions of a recurrent layer, or to one layer.
    """
    layers: dict[str, list[str]] = {}  # a layer's name without numbers -> its weights
    for name in shapes:
        layers.setdefault(_pattern(name.rpartition(".")[0]), []).append(name)
    for (a, left), (b, right) in itertools.combinations(layers.items(), 2):
        siblings = a.rpartition(".")[0] == b.rpartition(".")[0]
        if a and b and siblings and _signature(left, shapes) == _signature(right, shapes):
            yield f"the weights of {a} and of {b}", list(zip(left, right, strict=True))
    for layer, names in layers.items():
        backward = [(n, f"{n}_reverse") for n in names if f"{n}_reverse" in shapes]
        if backward:
            yield f"the weights of the two directions of {layer}", backward
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(_pattern(name), []).append(name)
        for (a, left), (b, right) in itertools.combinations(alike.items(), 2):
            if [shapes[n] for n in left] == [shapes[n] for n in right]:
                yield f"{a} and {b}", list(zip(left, right, strict=True))


def _pattern(name: str) -> str:
    """Return a name with a star in place of each number between dots."""
    return re.sub(r"(?<=\.)\d+(?=\.)", "*", name)


def _signature(names: Sequence[str], shapes: Mapping[str, tuple[int, ...]]) -> list[Any]:
    return [(name.rpartition(".")[2], shapes[name]) for name in names]
