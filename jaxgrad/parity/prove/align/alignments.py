"""Align torch's values with the port's on both draws of weights and inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxgrad.parity.prove.align.align import Alignment, align
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.torch_side.side import Drawn
from jaxgrad.parity.prove.record.torch_side.values import TorchRun, rounding


def aligned(drawn: Sequence[Drawn], jax_runs: Sequence[Watched]) -> tuple[Alignment, ...]:
    """Return an alignment for each draw.

    If torch makes the same calls on all draws, a pair of values must be equal on all of them, and
    the draws share one alignment. Otherwise (an expert that gets no token) each has its own.
    """
    rows = [evaluation.spots(run.prints) for run in jax_runs]
    if all(_calls(d.run) == _calls(drawn[0].run) for d in drawn[1:]):
        return (_align(drawn, rows),) * len(drawn)
    return tuple(_align([d], [row]) for d, row in zip(drawn, rows, strict=True))


def _align(drawn: Sequence[Drawn], rows: Sequence[tuple[list, np.ndarray]]) -> Alignment:
    """Align the values of some draws.

    torch is run again, to measure what rounding does to a value, only as long as a value has no
    counterpart.
    """
    values = [[v.print for v in d.run.values] for d in drawn]
    prints = [prints for _, prints in rows]
    noise = np.zeros(len(values[0]))
    for number, d in enumerate(drawn, 1):
        noise = np.maximum(noise, rounding(d.run, d.reruns[:1], lambda v: v.print))
        alignment = align(values, prints, rows[0][0], noise)
        if number == len(drawn) or all(map(alignment.visible, range(len(values[0])))):
            return alignment
    raise ValueError("no draw to align")


def _calls(run: TorchRun) -> list[tuple[str, str]]:
    """Return the function and the module of every value."""
    return [(value.op, value.module) for value in run.values]
