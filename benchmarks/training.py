"""A training step with each behaviour: jaxgrad over JAX by hand, over torch, over torch.compile."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import jax
import optax

import jaxgrad
from benchmarks import networks
from benchmarks.behaviours import BEHAVIOURS, jax_step, one_process, torch_step
from benchmarks.interleaved import Run, over, rounds, seconds
from benchmarks.networks import NETWORKS


TITLE = "A training step"
LR = 1e-2
# What torch.compile is tried on: one compilation takes longer than all the runs of a row.
COMPILED = ("control",)
HEADS = ("by hand", "torch", "torch.compile")


def cells() -> list[tuple[str, str]]:
    """Network and behaviour of each row."""
    return [(network, name) for network in NETWORKS for name in BEHAVIOURS]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """A row a network and behaviour: ours / theirs, or the reason why there is no number."""
    found = {}
    with one_process():
        for network, name in cells():
            tick(f"{network}, {name}")
            found[f"{network}, {name}"] = _row(network, name)
            jax.clear_caches()
        found["depthwise"] = _depthwise()
    return found


def _row(network: str, name: str) -> dict[str, Any]:
    net = NETWORKS[network]()
    if name == "per sample gradients" and net.mixes_samples:
        return {"why": "batch norm mixes the samples: none has a gradient of its own"}
    made, (_, params) = BEHAVIOURS[name](), net.built()
    runs: dict[str, Run] = {
        "ours": jax_step(net, params, made.ours(net), jaxgrad.optim.sgd(LR)),
        "by hand": jax_step(net, params, made.by_hand(net), optax.sgd(LR)),
        "torch": torch_step(net, made),
    }
    row: dict[str, Any] = {}
    if name in COMPILED:
        if shutil.which("g++") or shutil.which("clang++"):
            try:
                runs["torch.compile"] = torch_step(net, made, compiled=True)
                seconds(runs["torch.compile"])
            except Exception as error:  # torch.compile has errors of many kinds
                del runs["torch.compile"]
                row["torch.compile"] = str(error).strip().partition("\n")[0][:80]
        else:
            row["torch.compile"] = "no C++ compiler here"
    times = rounds(runs)
    return row | {theirs: over(times, "ours", theirs) for theirs in runs if theirs != "ours"}


def _depthwise() -> float:
    """MobileNetV2 with XLA's own depthwise convolution, over the one with shifts."""
    steps = {}
    for shifts in (True, False):
        networks.SHIFTS = shifts
        net = networks.mobilenet()
        grads = jax.value_and_grad(
            lambda params, x, y, net=net: networks.cross_entropy(
                networks.forward(net.stages, params, x), y
            )
        )
        steps["shifts" if shifts else "convolution"] = jax_step(
            net, net.built()[1], grads, optax.sgd(LR)
        )
    networks.SHIFTS = True
    return over(rounds(steps), "convolution", "shifts")


def markdown(found: dict[str, Any]) -> Iterator[str]:
    """Two summaries, the table, and what is behind its worst numbers."""
    rows = {name: row for name, row in found.items() if isinstance(row, dict) and "torch" in row}
    hand = [row["by hand"] for row in rows.values()]
    means = {
        network: statistics.geometric_mean(
            [row["torch"] for name, row in rows.items() if name.startswith(network)]
        )
        for network in dict.fromkeys(name.partition(",")[0] for name in rows)
    }
    yield (
        f"jaxgrad over the same program by hand in JAX: median {statistics.median(hand):.2f}, "
        f"at most {max(hand):.2f}. jaxgrad over torch eager: geometric mean "
        f"**{statistics.geometric_mean([row['torch'] for row in rows.values()]):.2f}**"
        f" ({', '.join(f'{network} {mean:.2f}' for network, mean in means.items())})."
    )
    yield ""
    yield "| network, behaviour | over JAX by hand | over torch eager | over torch.compile |"
    yield "|---|---|---|---|"
    for name, row in found.items():
        if isinstance(row, dict):
            yield f"| {name} | {' | '.join(_cell(row, head) for head in HEADS)} |"
    yield ""
    yield (
        "Where torch is faster: MobileNetV2's convolutions (oneDNN has blocked layouts and kernels "
        "for depthwise filters, XLA's CPU backend has neither; as a sum of shifts, which is what "
        f"is measured here, the step is {found['depthwise']:.1f} times faster than with XLA's own "
        "depthwise convolution), bfloat16 products (oneDNN has them in hardware, XLA's CPU backend "
        "converts), and `per sample gradients`, whose batched products of small matrices XLA's CPU "
        "backend runs one after the other."
    )


def _cell(row: dict[str, Any], head: str) -> str:
    value = row.get(head, row.get("why", "") if head == "by hand" else "")
    return f"{value:.2f}" if isinstance(value, float) else str(value)
