"""Sums over the devices of a mesh: a `psum` in place of a `pmean`, or the other way round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxgrad.parity.prove.causes.numbers import proportion
from jaxgrad.parity.prove.causes.outputs import explained
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key
from jaxgrad.parity.prove.wording import InJax


_SUMS = ("psum", "psum_invariant", "psum2", "reduce_scatter")
_TRIED = 8  # sums; trying one compiles the forward pass


class Sum(NamedTuple):
    """A sum over some axes of a mesh, each with its size."""

    key: Key
    axes: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """The number of devices in the sum."""
        return math.prod(n for _, n in self.axes)


def sums(program: JaxProgram) -> Iterator[Sum]:
    """Yield the sums over devices inside the program's `shard_map`s, in program order."""
    for path, eqn in program.equations.items():
        if eqn.primitive.name in _SUMS:
            names = eqn.params.get("axes", eqn.params.get("axis_name", ()))
            sizes = mesh_axes(program, path)
            axes = tuple((name, sizes[name]) for name in names if name in sizes)
            if axes:
                yield Sum((path, 0), axes)


def mesh_axes(program: JaxProgram, inside: tuple[int, ...] | None = None) -> dict[str, int]:
    """Return the sizes of the mesh axes of every `shard_map`, or of those around a path."""
    sizes: dict[str, int] = {}
    for path, eqn in program.equations.items():
        around = inside is None or inside[: len(path)] == path
        if around and eqn.primitive.name == "shard_map":
            sizes |= eqn.params["mesh"].shape
    return sizes


def wrong_sum(evidence: Evidence, draw: int) -> tuple[Key, str] | None:
    """Return the sum that explains wrong outputs, with a sentence, or None.

    The port is run again with the sum divided or multiplied by the number of devices. If all its
    outputs are then torch's, that sum is the cause.
    """
    port, draws = evidence.port, evidence.draws
    for total in itertools.islice(sums(evidence.port.program), _TRIED):
        n, over = total.size, _listed(dict(total.axes))
        for factor, text in (
            (1 / n, f"this psum adds the values of {n} devices ({over}); with their mean (pmean)"),
            (float(n), f"this mean divides by {n}, the number of devices ({over}); without that"),
        ):
            if not evidence.may_search(text):
                return None
            scales = {total.key: np.float64(factor)}
            if explained(evidence, draw, lambda k, scales=scales: port.outputs(draws[k], scales)):
                difference = InJax(f"{text}, the outputs are torch's")
                return total.key, difference.says(evidence.reference)
    return None


def multiple(program: JaxProgram, expected: np.ndarray | None, actual: np.ndarray | None) -> str:
    """Return a sentence if a gradient is torch's times, or divided by, a number of devices."""
    factor = None if expected is None or actual is None else proportion(expected, actual)
    if factor is None:
        return ""
    sizes = mesh_axes(program)
    for count in range(1, len(sizes) + 1):
        for axes in itertools.combinations(sizes.items(), count):
            n, over = math.prod(k for _, k in axes), _listed(dict(axes))
            if math.isclose(factor, n):
                return f"{n} is the size of {over}, which may be summed over once too often"
            if math.isclose(factor, 1 / n):
                return f"{n} is the size of {over}, which may be averaged over, not summed"
    return ""


def _listed(axes: dict[str, int]) -> str:
    names = " and ".join(repr(name) for name in axes)
    return f"mesh {'axis' if len(axes) == 1 else 'axes'} {names}"
