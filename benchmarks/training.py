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
from benchmarks.ahead import Wait, second_process
from benchmarks.behaviours import BEHAVIOURS
from benchmarks.interleaved import Run, counted, over, rounds, seconds
from benchmarks.networks import NETWORKS
from benchmarks.steps import Step, jax_step, one_process, torch_step


TITLE = "A training step"
LR = 1e-2
# What torch.compile is tried on: one compilation takes longer than all the runs of a row.
COMPILED = ("control",)
HEADS = ("flops", "bytes", "by hand", "torch", "torch.compile")


def cells() -> list[tuple[str, str]]:
    """Network and behaviour of each row."""
    return [(network, name) for network in NETWORKS for name in BEHAVIOURS]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """A row a network and behaviour: ours / theirs, or the reason why there is no number."""
    found = {}
    with one_process(), second_process() as start:
        for network, name in cells():
            tick(f"{network}, {name}")
            found[f"{network}, {name}"] = _row(network, name, start)
            jax.clear_caches()
        found["depthwise"] = _depthwise()
    return found


def _row(network: str, name: str, start: Callable[..., Wait]) -> dict[str, Any]:
    net, made = NETWORKS[network](), BEHAVIOURS[name]()
    if name == "per sample gradients" and net.mixes_samples:
        return {"why": "batch norm mixes the samples: none has a gradient of its own"}
    wait = start(_by_hand, network, name)
    ours = jax_step(net, net.built()[1], made.ours(net), jaxgrad.optim.sgd(LR))
    wait()
    hand = _by_hand(network, name)
    runs: dict[str, Run] = {"ours": ours, "by hand": hand, "torch": torch_step(net, made)}
    left, right = counted(ours.compiled), counted(hand.compiled)
    row: dict[str, Any] = {"flops": left.flops / right.flops, "bytes": left.bytes / right.bytes}
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


def _by_hand(network: str, name: str) -> Step:
    net = NETWORKS[network]()
    return jax_step(net, net.built()[1], BEHAVIOURS[name]().by_hand(net), optax.sgd(LR))


def _depthwise() -> float:
    """MobileNetV2 with XLA's own depthwise convolution, over the one with shifts."""
    steps = {}
    for shifts in (True, False):
        networks.SHIFTS = shifts
        steps["shifts" if shifts else "convolution"] = _by_hand("MobileNetV2", "control")
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
    most = {head: max(row[head] for row in rows.values()) for head in ("flops", "bytes")}
    yield (
        f"jaxgrad over the same program by hand in JAX: median {statistics.median(hand):.2f} in "
        f"time, at most {max(hand):.2f}; as XLA counts, at most {most['flops']:.3f} of the flops "
        f"and {most['bytes']:.3f} of the bytes. jaxgrad over torch eager: geometric mean "
        f"**{statistics.geometric_mean([row['torch'] for row in rows.values()]):.2f}**"
        f" ({', '.join(f'{network} {mean:.2f}' for network, mean in means.items())})."
    )
    yield ""
    yield "Over JAX by hand in flops, bytes and time; over torch in time."
    yield ""
    yield "| network, behaviour | flops | bytes | time | torch eager | torch.compile |"
    yield "|---|---|---|---|---|---|"
    for name, row in found.items():
        if isinstance(row, dict):
            yield f"| {name} | {' | '.join(_cell(row, head) for head in HEADS)} |"
    yield ""
    yield (
        "Where torch is faster: MobileNetV2's convolutions (oneDNN has blocked layouts and kernels "
        "for depthwise filters, XLA's CPU backend has neither; here the channels are last, filters "
        "of one pixel are matrix products and depthwise ones sums of shifts: the step is "
        f"{found['depthwise']:.1f} times faster than with XLA's own depthwise convolution) and "
        "bfloat16 products (oneDNN has them in hardware, XLA's CPU backend converts)."
    )
    yield ""
    yield (
        "Where flops or bytes are not 1.00: `amp` by hand casts weights and inputs once; autocast "
        "also gives each intermediate the dtype that torch's autocast gives it. Where they are, a "
        "time that is not 1.00 is noise: of two programs that XLA counts alike."
    )


def figures(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """A row a behaviour: time over torch eager and over JAX by hand, for each network."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, head, over_what in zip(
        panels, ("torch", "by hand"), ("torch eager", "the same in JAX by hand"), strict=True
    ):
        for network, marker in zip(NETWORKS, "os^", strict=True):
            rows = {name: found[f"{network}, {name}"] for name in BEHAVIOURS}
            seen = {name: row[head] for name, row in rows.items() if head in row}
            axes.plot(list(seen.values()), list(seen), marker, label=network, markersize=5)
        axes.axvline(1, color="0.6", linewidth=0.8)
        axes.set(xscale="log", xlabel=f"time over {over_what}")
        ticks = (0.5, 1, 2) if head == "torch" else (0.8, 0.9, 1, 1.1, 1.25)
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()
    panels[0].legend(fontsize=7, frameon=False)
    yield "training", figure


def _cell(row: dict[str, Any], head: str) -> str:
    value = row.get(head, row.get("why", "") if head == "flops" else "")
    return f"{value:.2f}" if isinstance(value, float) else str(value)
