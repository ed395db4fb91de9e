"""Find leaves of params that hold each other's tensors, by exchanging them in the weight map.

`exchanges` finds the other mistake: code that reads two weights the wrong way round.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from jaxgrad.parity.prove.causes.outputs import explained
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.weights import swaps
from jaxgrad.parity.prove.wording import jax_program


RUNS = 40  # of the port, at most
_WORK = 1_000_000_000  # numbers in the weights of all runs, at most


class Swap(NamedTuple):
    """Weights that a port needs in other leaves."""

    torch: str  # the first tensor that the port needs elsewhere
    jax: str  # the leaf where it needs it
    text: str


def find(evidence: Evidence, draw: int, *, named: bool) -> Swap | None:
    """Return the weights that are swapped, if every output then agrees with torch's.

    Args:
        evidence: All runs.
        draw: The number of a draw on which an output differs.
        named: Whether to try exchanges that the names of the leaves suggest, or the others.
    """
    mapped = evidence.port.weights
    size = sum(x.size for x in mapped.leaves)
    runs = min(RUNS, _WORK // max(1, size))
    for order in itertools.islice(swaps.orders(mapped, named=named), runs):
        if not evidence.may_search("exchanged weights"):
            return None
        port = evidence.port.replacing(weights=swaps.arranged(mapped, order))
        if explained(evidence, draw, lambda k, port=port: port.watch(evidence.draws[k]).outputs):
            i, k = next((i, k) for i, k in enumerate(order) if i != k)
            tested = "with these exchanged, every output agrees with torch's"
            text = f"{swaps.described(mapped, order, jax_program(evidence.reference))} ({tested})"
            return Swap(mapped.pieces[k].name, mapped.paths[mapped.pieces[i].leaf], text)
    return None
