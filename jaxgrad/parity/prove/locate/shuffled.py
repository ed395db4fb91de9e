"""Find the values of which JAX has the elements in another order than torch.

Fingerprints do not see the order of elements. It matters where the programs first differ: a call
whose operands both programs have, but whose result only torch has, may read one in another order.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from jaxgrad.parity.prove.align.order import exchanged_axes, reordering, same_layout
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.program import Key, Spot
from jaxgrad.parity.prove.record.torch_side.values import TorchRun


COPIES = 4  # values of JAX that are compared with one of torch
_LARGEST = 2**22  # elements


def without_shuffled(
    evidence: Evidence, draw: int, run: TorchRun, starts: Sequence[int]
) -> Evidence | None:
    """Return the evidence in which operands that JAX has in another order do not occur in JAX.

    Args:
        evidence: All runs.
        draw: The draw of weights and inputs.
        run: torch's run on this draw, with the values themselves.
        starts: The torch values at which the programs diverge.

    Returns:
        The evidence; None if JAX has every operand in the order of torch.
    """
    alignment = evidence.alignments[draw]
    read = dict.fromkeys(i for start in starts for i in run.values[start].inputs if i != start)
    given = {i: x for i in read if alignment.candidates[i] and (x := _array(run, i)) is not None}
    spots = {i: copies(evidence, draw, i) for i in given}
    arrays = iter(evidence.port.values(evidence.draws[draw], [*itertools.chain(*spots.values())]))
    ys = {i: list(itertools.islice(arrays, len(spots[i]))) for i in given}
    shuffled = [i for i, x in given.items() if not any(same_layout(x, y) for y in ys[i])]
    if not shuffled:
        return None
    other = alignment.without(shuffled)
    alignments = tuple(other if each is alignment else each for each in evidence.alignments)
    return dataclasses.replace(evidence, alignments=alignments)


def transposed(evidence: Evidence, draw: int, run: TorchRun, start: int) -> tuple[int, Key] | None:
    """Return an operand of a torch call that JAX has only transposed, with JAX's value.

    A port may keep a value in another layout and be right. Where the programs first differ, this
    is worth saying of a value whose transposed axes have the same size.

    Args:
        evidence: All runs.
        draw: The draw of weights and inputs.
        run: torch's run on this draw, with the values themselves.
        start: The torch value at which the programs diverge.
    """
    for i in run.values[start].inputs:
        x = _array(run, i) if i != start else None
        spots = copies(evidence, draw, i) if x is not None else []
        ys = evidence.port.values(evidence.draws[draw], spots) if spots else []
        if x is None or not ys or any(y.shape != x.shape for y in ys):
            continue
        if all(exchanged_axes(reordering([x], [y]), x.shape) for y in ys):
            return i, spots[0].key
    return None


def copies(evidence: Evidence, draw: int, i: int) -> list[Spot]:
    """Return the first JAX values with the elements of a torch value."""
    alignment = evidence.alignments[draw]
    found = alignment.candidates[i] or alignment.shuffled.get(i, ())
    return [alignment.spots[k] for k in found[:COPIES]]


def _array(run: TorchRun, i: int) -> np.ndarray | None:
    x = run.values[i].data
    fits = x is not None and x.dtype.kind == "f" and 1 < x.size <= _LARGEST
    return x if fits else None
