"""Find each value of the torch run among the values of an unannotated JAX program."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import (
    is_constant,
    magnitude,
    print_distance,
    repeated,
    stack,
)
from jaxgrad.parity.prove.record.jax_side.program import Key, Spot


SAME = 1e-11  # fingerprints closer than this describe the same values
NOISY = 1e-5  # a value that rounding changes by more than this cannot be recognised


@dataclasses.dataclass(frozen=True)
class Alignment:
    """For each torch value, the JAX values that are equal to it, in program order."""

    candidates: tuple[tuple[int, ...], ...]  # indices into `spots`
    trivial: tuple[bool, ...]  # constant and empty arrays, which identify nothing
    spots: tuple[Spot, ...]
    first: tuple[int, ...]  # the first torch value with the same elements, e.g. a reshape's input
    repeats: tuple[tuple[int, ...], ...]  # JAX values that repeat this one or vice versa
    noisy: tuple[bool, ...] = ()  # values that rounding changes too much to be recognised
    # Values that JAX does not have -> the JAX values with their elements in another order.
    shuffled: Mapping[int, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    plain: frozenset[int] = frozenset()  # constant JAX values, as positions in `spots`

    def without(self, shuffled: Collection[int]) -> Alignment:
        """Return the alignment in which JAX does not have some values, but their elements."""
        kept = {i: self.candidates[i] for i in shuffled}
        candidates, repeats = (
            tuple(() if i in kept else row for i, row in enumerate(rows))
            for rows in (self.candidates, self.repeats)
        )
        both = {**self.shuffled, **kept}
        return dataclasses.replace(self, candidates=candidates, repeats=repeats, shuffled=both)

    def visible(self, number: int) -> bool:
        """Whether a torch value has a JAX counterpart, or is trivial and does not need one."""
        return bool(self.matches(number)) or self.trivial[number]

    def matches(self, number: int) -> tuple[int, ...]:
        """Return the JAX values with the same elements, ignoring how often each is repeated."""
        return self.candidates[number] or self.repeats[number]

    @property
    def known(self) -> set[Key]:
        """The JAX values that also occur in the torch run."""
        return {self.spots[k].key for i in range(len(self.first)) for k in self.matches(i)}

    @property
    def known_in_each_iteration(self) -> set[Key]:
        """The JAX values that also occur in the torch run, in all iterations of a scan but one.

        A scan may compute a value for the next iteration, which a loop does not compute in its last
        one. Constant values, such as the zeros with which a scan begins, identify nothing.
        """
        equal = {k for i in range(len(self.first)) for k in self.matches(i)}
        rest = [s.key for k, s in enumerate(self.spots) if k not in equal and k not in self.plain]
        lacking = {key for key, count in collections.Counter(rest).items() if count > 1}
        return {self.spots[k].key for k in equal} - lacking

    def spot(self, number: int) -> Spot | None:
        """Return the first JAX value equal to a torch value: later ones are copies of it."""
        candidates = self.candidates[number]
        return self.spots[candidates[0]] if candidates else None


def align(
    torch_prints: Sequence[Sequence[np.ndarray]],
    jax_prints: Sequence[np.ndarray],
    spots: Sequence[Spot],
    noise: np.ndarray,
) -> Alignment:
    """Match torch's fingerprints with JAX's in every draw (random weights and inputs).

    Args:
        torch_prints: For each draw, the fingerprints of the torch values.
        jax_prints: For each draw, the fingerprints of the JAX values, shape (spots, SIZE).
        spots: Position of each JAX value in the program.
        noise: Change of each torch value's fingerprint when the inputs are perturbed by 1 ULP.
    """
    rows = [stack(prints) for prints in torch_prints]
    by_size: dict[float, np.ndarray] = {}
    for size in np.unique(jax_prints[0][:, 0]):
        by_size[float(size)] = np.flatnonzero(jax_prints[0][:, 0] == size)
    candidates: list[tuple[int, ...]] = []
    repeats: list[tuple[int, ...]] = []
    trivial: list[bool] = []
    first: list[int] = []
    for i in range(len(rows[0])):
        bound = max(SAME, 20 * float(noise[i]))
        plain = all(bool(is_constant(draw[i]) or not magnitude(draw[i])) for draw in rows)
        if plain and len(rows) > 1:
            # A single number that changes with the draw (a term of a loss) does identify a value.
            same = bool(print_distance(rows[0][i], rows[1][i]) < 1e-6)
            plain = same or not magnitude(rows[1][i])
        trivial.append(plain)
        first.append(_first(rows, i, bound))
        equal = by_size.get(float(rows[0][i, 0]), np.zeros(0, np.int64))
        if plain or bound > NOISY:
            candidates.append(())
            repeats.append(())
            continue
        for draw, prints in zip(rows, jax_prints, strict=True):
            equal = equal[print_distance(draw[i], prints[equal]) <= bound]
        candidates.append(tuple(int(k) for k in equal))
        repeats.append(() if len(equal) else _repeated(rows, i, jax_prints, bound))
    return Alignment(
        tuple(candidates),
        tuple(trivial),
        tuple(spots),
        tuple(first),
        tuple(repeats),
        tuple(bool(max(SAME, 20 * float(x)) > NOISY) for x in noise),
        plain=frozenset(np.flatnonzero(is_constant(jax_prints[0])).tolist()),
    )


def _first(rows: Sequence[np.ndarray], i: int, bound: float) -> int:
    """Return the first torch value whose fingerprint equals that of value `i`."""
    same = np.ones(i + 1, bool)
    for draw in rows:
        same &= print_distance(draw[i], draw[: i + 1]) <= bound
    return int(np.flatnonzero(same)[0])


def _repeated(
    rows: Sequence[np.ndarray], i: int, jax_prints: Sequence[np.ndarray], bound: float
) -> tuple[int, ...]:
    """Return the JAX values that tile a torch value, or that a torch value tiles."""
    sizes, size = jax_prints[0][:, 0], rows[0][i, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        same = np.flatnonzero((sizes % size == 0) | (size % sizes == 0))
    for draw, prints in zip(rows, jax_prints, strict=True):
        chosen = prints[same]
        same = same[print_distance(repeated(draw[i], chosen[:, :1] / size), chosen) <= bound]
    return tuple(int(k) for k in same)
