"""Check pairs of constant weights that only their names suggest, and find better ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from jaxgrad.parity.prove import checks
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.jax_side.port import Draw, Port
from jaxgrad.parity.prove.record.torch_side.side import Drawn, TorchSide
from jaxgrad.parity.prove.weights.by_gradient import guessed_leaves, moved, rematched
from jaxgrad.parity.prove.weights.by_name import exchangeable, exchanged
from jaxgrad.parity.prove.weights.map import WeightMap


RUNS = 200  # of the port, at most


def settled(
    port: Port,
    drawn: Sequence[Drawn],
    runs: list[Watched],
    watch: Callable[[Port, Draw], Watched],
    side: TorchSide,
) -> tuple[Port, list[Watched]]:
    """Pair the constant weights of a port anew until its outputs on the second draw agree.

    They are paired by their gradients, and then pairs are exchanged. An exchange is kept if more
    of torch's values then occur in the port. Without an agreement the first map is kept.

    Args:
        port: The port, with the first map of weights.
        drawn: torch's runs on both draws.
        runs: The port's runs on both draws.
        watch: Function that runs a port on a draw.
        side: What runs torch.

    Returns:
        The port with the map that agrees, and its runs on both draws.
    """
    unchanged = port, runs
    if drawn[1].agrees(runs[1].outputs) or not any(p.guessed for p in port.weights.pieces):
        return unchanged
    if not drawn[0].agrees(runs[0].outputs):
        return unchanged  # equal constants: a wrong pairing would not fail here
    best, left, improves = drawn[1].occurring(runs[1]), RUNS, True
    weights = _by_gradient(port, drawn[0].draw, side)
    if weights is not port.weights:
        other = port.replacing(weights=weights)
        rerun = watch(other, drawn[1].draw)
        if drawn[1].agrees(rerun.outputs):
            return other, [runs[0], rerun]
        if (count := drawn[1].occurring(rerun)) > best:
            port, best = other, count
    pairs = exchangeable(port.weights)
    while improves and left:
        improves = False
        for i, k in pairs[:left]:
            left -= 1
            other = port.replacing(weights=exchanged(port.weights, i, k))
            rerun = watch(other, drawn[1].draw)
            if drawn[1].agrees(rerun.outputs):
                return other, [runs[0], rerun]
            if (count := drawn[1].occurring(rerun)) > best:
                port, best, improves = other, count, True
    return unchanged


def _by_gradient(port: Port, draw: Draw, side: TorchSide) -> WeightMap:
    """Return the port's map with its constant leaves matched by their gradients."""
    if side.module is None or not guessed_leaves(port.weights):
        return port.weights  # a dump cannot be run on other weights
    draw = dataclasses.replace(draw, state=moved(port.weights, draw.state))
    gradients = checks.guarded(lambda: port.gradients(draw))
    leaves = gradients.leaves[: len(port.weights.leaves)]
    return rematched(port.weights, side.run(draw).grads, leaves)
