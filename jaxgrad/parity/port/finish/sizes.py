"""Find the sizes of a port's inputs that may change: it then runs with others in their place.

A symbol stands for a size where JAX can trace the port with one. Where it cannot, as in a loop over
the size, a number does that no size of the module has. The port runs with two such numbers, and a
size that differs between the runs is computed from the inputs; `Sizes.text` says how.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax import export

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.finish import computed_sizes


MOST = 48  # runs of the port
# Neighbours are far apart: both sides of an image still differ after it is made 32 times smaller.
NUMBERS = (29, 43, 37, 47, 31, 41)
OTHERS = ((53, 73, 61, 83, 67, 71), (23, 13, 19, 11, 17, 7))  # for the second run
FACTORS = (1, 4, 16)  # such as the size of a window, which divides the size of an image
Place = tuple[int, int]  # the number of an input, and one of its dims


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The shapes of the inputs, with the sizes that may change.

    Attributes:
        structs: The shapes.
        numbers: The numbers that stand for sizes, by the names of the sizes.
        again: The shapes with other numbers.
        others: These numbers.
    """

    structs: PyTree
    numbers: dict[str, int]
    again: PyTree
    others: dict[str, int]

    def text(self, size: Any, again: Any) -> str:
        """Return a size in the two runs as a text: `s0`, `4*s0` or `16`."""
        pairs = {label: (n, self.others[label]) for label, n in self.numbers.items()}
        return computed_sizes.text(str(size), str(again), pairs)


def changing(inputs: PyTree, runs: Callable[[PyTree], bool]) -> Sizes:
    """Return the shapes of the inputs, with a symbol or a number for each size that may change.

    Args:
        inputs: Arrays.
        runs: Whether the port runs on inputs of given shapes.
    """
    leaves, tree = jax.tree.flatten(inputs)

    def structs(chosen: dict[Place, str], numbers: dict[str, int]) -> PyTree:
        return jax.tree.unflatten(tree, list(_structs(leaves, chosen, numbers)))

    chosen: dict[Place, str] = {}
    numbers: dict[str, int] = {}
    tries = 0
    for groups in _candidates(leaves):
        for fresh, more in _choices(groups, chosen, numbers):
            tries += 1
            if tries > MOST:
                break
            if runs(structs(chosen | fresh, numbers | more)):
                chosen, numbers = chosen | fresh, numbers | more
                break
    first = structs(chosen, numbers)
    for others in _other_numbers(numbers):
        again = structs(chosen, others)
        if runs(again):
            return Sizes(first, numbers, again, others)
    return Sizes(first, numbers, first, numbers)


def _other_numbers(numbers: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield other numbers with the same factors."""
    primes = {n * factor: (n, factor) for n in NUMBERS for factor in FACTORS}
    for others in OTHERS if numbers else ():
        yield {
            label: others[NUMBERS.index(primes[n][0])] * primes[n][1]
            for label, n in numbers.items()
        }


def _choices(
    groups: list[list[Place]], chosen: dict[Place, str], numbers: dict[str, int]
) -> Iterator[tuple[dict[Place, str], dict[str, int]]]:
    """Yield names for places that have none, first as symbols and then as numbers."""
    if all(place in chosen for place in groups[0]):
        return
    new = f"s{len(set(chosen.values()))}"
    held = {n // factor for n in numbers.values() for factor in FACTORS}
    free = [n for n in NUMBERS if n not in held]
    pairs = []
    for group in groups:
        fresh = [place for place in group if place not in chosen]
        known = next((chosen[place] for place in group if place in chosen), None)
        pairs.append((dict.fromkeys(fresh, known or new), known is None))
    apart = [fresh for fresh, is_new in pairs if is_new]
    for fresh in apart:
        yield fresh, {}
    for fresh in apart:
        for factor in FACTORS:
            if free and free[0] * factor not in numbers.values():
                yield fresh, {new: free[0] * factor}
    for fresh, is_new in pairs:  # only where it must be: the sides of an image are two sizes
        if not is_new:
            yield fresh, {}


def _candidates(leaves: list[np.ndarray]) -> Iterator[list[list[Place]]]:
    """Yield the places that may have one name: all first sizes, then each size alone or tied."""
    places = [(n, d) for n, x in enumerate(leaves) for d in range(x.ndim) if x.shape[d] > 1]
    if not places:
        return
    size = {(n, d): leaves[n].shape[d] for n, d in places}
    first = next((p for p in places if p[1] == 0), None)
    lead = [p for p in places if first and p[1] == 0 and size[p] == size[first]]
    if lead:
        yield [
            lead,
            *_tied(lead, [p for p in places if size[p] == size[lead[0]] and p not in lead]),
        ]
    for place in places:
        alike = [p for p in places if size[p] == size[place] and p not in lead]
        if place not in lead:
            yield [[place], [p for p in alike if p[1] == place[1]], alike]


def _tied(lead: list[Place], alike: list[Place]) -> Iterator[list[Place]]:
    """Yield the first sizes with others that are equal, such as both sizes of a square matrix."""
    yield from ([*lead, place] for place in alike)
    if len(alike) > 1:
        yield [*lead, *alike]


def _structs(
    leaves: list[np.ndarray], chosen: dict[Place, str], numbers: dict[str, int]
) -> Iterator[Any]:
    labels = sorted(set(chosen.values()) - set(numbers))
    least = {chosen[n, d]: leaves[n].shape[d] for n, d in chosen}
    bounds = [f"{label} >= {least[label]}" for label in labels]  # no branch for a smaller size
    made = export.symbolic_shape(", ".join(labels), constraints=bounds) if labels else ()
    sizes = numbers | dict(zip(labels, made, strict=True))
    for n, x in enumerate(leaves):
        shape = tuple(
            sizes[chosen[n, d]] if (n, d) in chosen else size for d, size in enumerate(x.shape)
        )
        yield jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(x.dtype))
