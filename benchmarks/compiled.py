"""Time every training step of `benchmarks.training` against torch.compile.

Compiling takes up to some minutes a row, so this section runs only when it is named:
`make bench ARGS=compile`, or `make bench ARGS='compile --rows MLP'` for some rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import torch

import jaxgrad
from benchmarks import training
from benchmarks.behaviours import BEHAVIOURS
from benchmarks.interleaved import cell, over, rounds
from benchmarks.networks import NETWORKS
from benchmarks.steps import compiled_torch_step, jax_step, one_process


TITLE = "A training step against torch.compile"
RATIO = "torch.compile"


def cells(rows: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the network and the behaviour of each row whose name has one of some parts."""
    return [
        (network, name)
        for network, name in training.cells()
        if not rows or any(part in f"{network}, {name}" for part in rows)
    ]


def measure(
    tick: Callable[[str], None], rows: Sequence[str] = (), known: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """Return the ratio of each row, or why there is none; rows not chosen keep their numbers."""
    found = dict(known)
    with one_process():
        for network, name in cells(rows):
            tick(f"{network}, {name}")
            found[f"{network}, {name}"] = _row(network, name)
            jax.clear_caches()
            torch.compiler.reset()
    ordered = [f"{network}, {name}" for network, name in training.cells()]
    return {row: found[row] for row in ordered if row in found}


def _row(network: str, name: str) -> dict[str, Any]:
    net, behaviour = NETWORKS[network](), BEHAVIOURS[name]()
    if why := training.undefined(net, name):
        return {"why": why}
    ours = jax_step(
        net, net.built()[1], behaviour.with_jaxgrad(net), jaxgrad.optim.sgd(training.LR)
    )
    theirs = compiled_torch_step(net, behaviour)
    if isinstance(theirs, str):
        return {"why": theirs}
    return {RATIO: over(rounds({"ours": ours, "theirs": theirs}), "ours", "theirs")}


def markdown(ratios: dict[str, Any]) -> Iterator[str]:
    """Yield the mean of the ratios, and their table by behaviour and network."""
    times = [row[RATIO] for row in ratios.values() if RATIO in row]
    yield (
        f"A step with jaxgrad takes a geometric mean of **{statistics.geometric_mean(times):.2f}** "
        f"of the time of the step that `torch.compile` compiles ({len(times)} rows)."
    )
    yield ""
    yield f"| behaviour | {' | '.join(NETWORKS)} |"
    yield f"|---{'|---' * len(NETWORKS)}|"
    for name in BEHAVIOURS:
        row = [ratios.get(f"{network}, {name}", {}) for network in NETWORKS]
        if any(row):
            yield f"| {name} | {' | '.join(map(_cell, row))} |"


def _cell(row: Mapping[str, Any]) -> str:
    return cell(row.get(RATIO, row.get("why", "not measured")))
