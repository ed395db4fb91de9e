"""Find each value of the torch run among the values of an unannotated JAX program, by value."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import apart, is_constant, magnitude, stack, times
from jaxgrad.parity.prove.jax_side.program import Key, Spot


SAME = 1e-11  # fingerprints closer than this stand for the same numbers
NOISY = 1e-5  # a value that rounding moves by more cannot be recognised


@dataclasses.dataclass(frozen=True)
class Alignment:
    """For each torch value the JAX values that are equal to it, in program order."""

    candidates: tuple[tuple[int, ...], ...]  # indexes into `spots`
    trivial: tuple[bool, ...]  # constant arrays, empty ones: they say nothing
    noisy: tuple[bool, ...]
    spots: tuple[Spot, ...]
    first: tuple[int, ...]  # the first torch value with the same numbers: a reshape's is its input
    spread: tuple[tuple[int, ...], ...]  # where none is equal, those that repeat it or it repeats

    def visible(self, number: int) -> bool:
        return bool(self.matches(number)) or self.trivial[number]

    def matches(self, number: int) -> tuple[int, ...]:
        """The JAX values with the same numbers, however often each is repeated."""
        return self.candidates[number] or self.spread[number]

    @property
    def known(self) -> set[Key]:
        """The JAX values that torch has too."""
        return {self.spots[k].key for i in range(len(self.first)) for k in self.matches(i)}

    def spot(self, number: int) -> Spot | None:
        """The first JAX value with these numbers: it made them, the later ones pass them on."""
        found = self.candidates[number]
        return self.spots[found[0]] if found else None


def align(
    torch_prints: Sequence[Sequence[np.ndarray]],
    jax_prints: Sequence[np.ndarray],
    spots: Sequence[Spot],
    noise: np.ndarray,
) -> Alignment:
    """Match fingerprints in every draw of the inputs.

    Args:
      torch_prints: For each draw the fingerprints of the torch values.
      jax_prints: For each draw those of the JAX values, (spots, SIZE).
      spots: Where those are.
      noise: How far each torch value's fingerprint moves when the inputs move by 1 ULP.
    """
    rows = [stack(prints) for prints in torch_prints]
    sizes: dict[float, np.ndarray] = {}
    for size in np.unique(jax_prints[0][:, 0]):
        sizes[float(size)] = np.flatnonzero(jax_prints[0][:, 0] == size)
    found: list[tuple[int, ...]] = []
    spread: list[tuple[int, ...]] = []
    trivial: list[bool] = []
    first: list[int] = []
    for i in range(len(rows[0])):
        bound = max(SAME, 20 * float(noise[i]))
        plain = all(bool(is_constant(draw[i]) or not magnitude(draw[i])) for draw in rows)
        if (
            plain and len(rows) > 1
        ):  # a number that moves with the draw (a term of a loss) says much
            plain = not magnitude(rows[1][i]) or bool(apart(rows[0][i], rows[1][i]) < 1e-6)
        trivial.append(plain)
        first.append(_first(rows, i, bound))
        same = sizes.get(float(rows[0][i, 0]), np.zeros(0, np.int64))
        if plain or bound > NOISY:
            found.append(())
            spread.append(())
            continue
        for draw, prints in zip(rows, jax_prints, strict=True):
            same = same[apart(draw[i], prints[same]) <= bound]
        found.append(tuple(int(k) for k in same))
        spread.append(() if len(same) else _repeated(rows, i, jax_prints, bound))
    noisy = tuple(20 * float(n) > NOISY for n in noise)
    return Alignment(tuple(found), tuple(trivial), noisy, tuple(spots), tuple(first), tuple(spread))


def _first(rows: Sequence[np.ndarray], i: int, bound: float) -> int:
    same = np.ones(i + 1, bool)
    for draw in rows:
        same &= apart(draw[i], draw[: i + 1]) <= bound
    return int(np.flatnonzero(same)[0])


def _repeated(
    rows: Sequence[np.ndarray], i: int, jax_prints: Sequence[np.ndarray], bound: float
) -> tuple[int, ...]:
    """The JAX values that hold a torch value several times, or of which it holds several."""
    sizes, size = jax_prints[0][:, 0], rows[0][i, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        same = np.flatnonzero((sizes % size == 0) | (size % sizes == 0))
    for draw, prints in zip(rows, jax_prints, strict=True):
        ours = prints[same]
        same = same[apart(times(draw[i], ours[:, :1] / size), ours) <= bound]
    return tuple(int(k) for k in same)
