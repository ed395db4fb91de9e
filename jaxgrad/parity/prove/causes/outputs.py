"""Whether a change of the port explains why its outputs differ from torch's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jaxgrad.parity.prove.causes.acceptance import Compared, compared, confirms, range_of
from jaxgrad.parity.prove.evidence import Evidence


def explained(
    evidence: Evidence, draw: int, changed: Callable[[int], Sequence[np.ndarray]]
) -> bool:
    """Return whether the outputs agree on every draw after a change, by the rule of `acceptance`.

    Args:
        evidence: All runs.
        draw: The number of a draw on which an output differs, which is tried first.
        changed: Function from the number of a draw to the outputs of the changed port.
    """

    def rows(number: int, outputs: Sequence[np.ndarray]) -> list[Compared]:
        judged = evidence.judge_outputs(number, outputs)
        return [
            compared(j, range_of(y), draw=number)
            for j, y in zip(judged, map(np.asarray, outputs), strict=False)
        ]

    first = rows(draw, changed(draw))
    if any(row.verdict == "fail" for row in first):
        return False
    without, after = [], first
    for number, run in enumerate(evidence.jax_runs):
        without += rows(number, run.outputs)
        if number != draw:
            after += rows(number, changed(number))
    return confirms(without, after)
