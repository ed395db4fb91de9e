"""Find the constants of a torch call that the port lacks: a window, frequencies, positions.

A wrong table shows first in the call that reads it, whose other operands are equal. What differs is
the table, so the report names it, and the place where the port computes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxgrad._core.jaxpr import is_inexact
from jaxgrad.parity.prove.align.fingerprint import (
    fingerprint,
    is_constant,
    magnitude,
    print_distance,
    repeated,
    stack,
)
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate.forward import depending
from jaxgrad.parity.prove.record import tables
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES, leaf_of
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.record.torch_side.values import Value


_HUGE = 1e4  # as in masks that are added
_SAME = 1e-6  # of fingerprints; a table may be rounded to float32


class Unequal(NamedTuple):
    """A value that torch computes without the port's params and that the JAX program lacks."""

    what: str  # such as "torch's buffer pos"
    value: Value  # the torch value itself, or the call that reads a buffer
    key: Key | None  # the JAX constant that probably stands for it


def find(evidence: Evidence, draw: int, start: int) -> Unequal | None:
    """Return the constant without an equal that a torch call depends on, if there is one.

    Args:
        evidence: All runs.
        draw: The draw of weights and inputs.
        start: The torch value at which the programs diverge.
    """
    run, alignment = evidence.runs[draw], evidence.alignments[draw]
    value = run.values[start]
    known = _Known(evidence, draw)
    if _is_fixed(evidence, start):
        return _whole(evidence, draw, start, known)
    for name in value.weights:
        if known.lacks_weight(name):
            return _buffer(name, value, known)
    for print_ in value.constants:
        if known.lacks(print_):
            size = int(print_[0])
            return Unequal(f"torch's constant of {size} numbers", value, known.place(size))
    depends = depending(run, set(evidence.port.weights.names))
    for i in value.inputs:
        if i not in depends and i != start and not alignment.visible(i):
            return _source(evidence, draw, i, known)
    return None


def read_by(evidence: Evidence, draw: int, start: int, table: Unequal) -> Value:
    """Return the torch value that depends on a constant: `start`, if it is none itself."""
    values = evidence.runs[draw].values
    if not _is_fixed(evidence, start):
        return values[start]
    readers = (
        v for v in values for i in v.inputs if values[i] is table.value and v is not values[i]
    )
    return next(readers, values[start])


def _is_fixed(evidence: Evidence, number: int) -> bool:
    """Whether a torch value is equal on all draws, which redraw weights and floating inputs."""
    runs = evidence.runs
    if len({len(run.values) for run in runs}) > 1 or _varies(runs[0].values, number):
        return False
    first = runs[0].values[number].print
    return (
        len(runs) > 1
        and is_table(first)
        and all(not print_distance(first, run.values[number].print) for run in runs[1:])
    )


def _whole(evidence: Evidence, draw: int, number: int, known: _Known) -> Unequal:
    """Return the constant that is computed from a constant without an equal."""
    values, alignment = evidence.runs[draw].values, evidence.alignments[draw]

    def consumers(i: int) -> list[int]:
        later = (k for k, v in enumerate(values) if i in v.inputs and k > i)
        return [k for k in later if _is_fixed(evidence, k) and not alignment.visible(k)]

    while more := consumers(number):
        number = more[0]
    return _constant(values[number], known)


def _constant(value: Value, known: _Known) -> Unequal:
    what = f"the constant {list(value.shape)} output of torch's {value.op}"
    return Unequal(what, value, known.place(int(value.print[0])))


def _buffer(name: str, value: Value, known: _Known) -> Unequal:
    what = "parameter" if name in known.evidence.torch_side.flags else "buffer"
    size = np.size(known.state[name])
    return Unequal(f"torch's {what} {name}", value, known.place(size))


def _source(evidence: Evidence, draw: int, number: int, known: _Known) -> Unequal | None:
    """Return the constant without an equal from which an operand is computed.

    The steps that compute a constant may differ in a correct port, so that only the constant
    itself counts. So may the steps that combine it with integers of the inputs, as for a mask.
    """
    values, alignment = evidence.runs[draw].values, evidence.alignments[draw]
    region = _region(values, [number], lambda i: not alignment.visible(i))
    varies = {i for i in region if _varies(values, i)}
    read = {k for i in varies for k in values[i].inputs} | {number}
    found = [i for i in sorted(region - varies) if i in read and is_table(values[i].print)]
    for i in found:
        value = values[i]
        before = _region(values, [i], lambda _: True)
        names = dict.fromkeys(name for k in sorted(before) for name in values[k].weights)
        if not names:
            return _constant(value, known)
        if lacking := [name for name in names if known.lacks_weight(name)]:
            return _buffer(lacking[0], value, known)
    return None


def _region(
    values: Sequence[Value], start: Sequence[int], enters: Callable[[int], bool]
) -> set[int]:
    """Return some values and those that they are computed from."""
    region: set[int] = set()
    todo = [*start]
    while todo:
        i = todo.pop()
        if i not in region and enters(i):
            region.add(i)
            todo += values[i].inputs
    return region


def _varies(values: Sequence[Value], number: int) -> bool:
    """Whether a value depends on integers among the inputs."""
    return any(values[i].integers for i in _region(values, [number], lambda _: True))


def is_table(print_: np.ndarray) -> bool:
    """Whether a fingerprint is that of different numbers that are not a mask.

    A mask of infinities, of huge numbers, or of zeros and ones may be applied in another way.
    """
    if is_constant(print_) or print_[1:4].any() or magnitude(print_) >= _HUGE:
        return False
    zeros_and_ones = np.asarray(fingerprint(np.array([0.0, 1.0])))[4:]
    share = print_[7] * 2  # the mean, relative to that of one zero and one one
    expected = np.concatenate([zeros_and_ones[:2], zeros_and_ones[2:] * share])
    return not np.allclose(print_[4:], expected, rtol=1e-9, atol=0)


class _Known:
    """The numbers that the port has on one draw: params, captured arrays, and computed values."""

    def __init__(self, evidence: Evidence, draw: int):
        self.evidence = evidence
        self.state = evidence.draws[draw].state
        program = evidence.port.program
        leaves = evidence.port.leaves(evidence.draws[draw])
        arrays = [np.asarray(x) for x in leaves if is_inexact(x)]
        for x in tables.constants_of(program):
            arrays += [x, np.real(x), np.imag(x)] if np.iscomplexobj(x) else [x]
        prints = [np.asarray(fingerprint(x)) for x in arrays]
        for x in evidence.jax_runs[draw].prints.values():
            prints += list(np.reshape(x, (-1, np.shape(x)[-1])))
        self.prints = stack(prints)

    def lacks(self, print_: np.ndarray) -> bool:
        """Whether an array does not occur; single numbers and equal elements identify nothing."""
        if not is_table(print_) or not len(self.prints):
            return False
        sizes, size = self.prints[:, 0], print_[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            tiles = (sizes % size == 0) | (size % sizes == 0)
        prints = self.prints[tiles]
        tiled = repeated(print_, prints[:, :1] / size)
        return not np.any(print_distance(tiled, prints) <= _SAME)

    def lacks_weight(self, name: str) -> bool:
        """Whether a buffer is neither in the port's params nor among its constants."""
        if name in self.evidence.port.weights.names or name not in self.state:
            return False
        x = np.asarray(self.state[name])
        return x.dtype.kind in "fc" and self.lacks(np.asarray(fingerprint(x)))

    def place(self, size: int) -> Key | None:
        """Return the port's constant of this size that torch lacks and that an output needs."""
        return next(self._places(size), None)

    def _places(self, size: int) -> Iterator[Key]:
        flow, evidence = self.evidence.flow, self.evidence
        known = evidence.alignments[0].known
        depends = flow.ahead({key for key in flow.children if leaf_of(key) is not None}, set())
        for key, print_ in evidence.jax_runs[0].prints.items():
            x = np.reshape(print_, (-1, np.shape(print_)[-1]))[0]
            read = any(child in depends for child in flow.children.get(key, ()))
            constant = key in flow.used and key not in depends and key not in known
            if constant and read and x[0] == size and not is_constant(x):
                yield self._computed(key)

    def _computed(self, key: Key) -> Key:
        """Return the value that a value rearranges."""
        flow = self.evidence.flow
        while flow.program.equations[key[0]].primitive.name in REARRANGES:
            parents = flow.parents.get(key, ())
            if len(parents) != 1:
                break
            key = parents[0]
        return key
