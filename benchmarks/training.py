"""Time a training step with each behaviour: jaxgrad against hand-written JAX and against torch."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import optax

import jaxgrad
from benchmarks import networks
from benchmarks.ahead import Wait, second_process
from benchmarks.behaviours import BEHAVIOURS
from benchmarks.interleaved import Run, cell, counted, over, rounds
from benchmarks.networks import NETWORKS, Network
from benchmarks.steps import Step, compiled_torch_step, jax_step, one_process, torch_step


TITLE = "A training step"
LR = 1e-2
# Only these are timed with torch.compile, because one compilation takes longer than a whole row.
COMPILED = ("control",)
HEADS = ("flops", "bytes", "by hand", "torch", "torch.compile")


def cells() -> list[tuple[str, str]]:
    """Return the network and the behaviour of each row."""
    return [(network, name) for network in NETWORKS for name in BEHAVIOURS]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Return the ratios for each network and behaviour, or the reason why there are none."""
    ratios = {}
    with one_process(), second_process() as start:
        for network, name in cells():
            tick(f"{network}, {name}")
            ratios[f"{network}, {name}"] = _row(network, name, start)
            jax.clear_caches()
        ratios["depthwise"] = _depthwise()
        ratios["platform"] = jax.default_backend()
    return ratios


def _row(network: str, name: str, start: Callable[..., Wait]) -> dict[str, Any]:
    net, behaviour = NETWORKS[network](), BEHAVIOURS[name]()
    if why := undefined(net, name):
        return {"why": why}
    wait = start(_by_hand, network, name)
    ours = jax_step(net, net.built()[1], behaviour.with_jaxgrad(net), jaxgrad.optim.sgd(LR))
    wait()
    hand = _by_hand(network, name)
    runs: dict[str, Run] = {"ours": ours, "by hand": hand, "torch": torch_step(net, behaviour)}
    left, right = counted(ours.compiled), counted(hand.compiled)
    row: dict[str, Any] = {"flops": left.flops / right.flops, "bytes": left.bytes / right.bytes}
    if name in COMPILED:
        step = compiled_torch_step(net, behaviour)
        if isinstance(step, str):
            row["torch.compile"] = step
        else:
            runs["torch.compile"] = step
    times = rounds(runs, limit=5.0)  # torch is slow in bfloat16 without instructions for it
    return row | {theirs: over(times, "ours", theirs) for theirs in runs if theirs != "ours"}


def undefined(net: Network, name: str) -> str:
    """Return why a network does not have a behaviour; the text is empty if it has it."""
    if name == "per sample gradients" and net.mixes_samples:
        return "undefined, since batch norm mixes the samples"
    return ""


def _by_hand(network: str, name: str) -> Step:
    net = NETWORKS[network]()
    return jax_step(net, net.built()[1], BEHAVIOURS[name]().by_hand(net), optax.sgd(LR))


def _depthwise() -> float:
    """Return MobileNetV2's step time with XLA's depthwise convolution, relative to shifts."""
    steps = {}
    for shifts in (True, False):
        networks.SHIFTS = shifts
        steps["shifts" if shifts else "convolution"] = _by_hand("MobileNetV2", "control")
    networks.SHIFTS = True
    return over(rounds(steps), "convolution", "shifts")


def markdown(ratios: dict[str, Any]) -> Iterator[str]:
    """Yield two summaries, the table, and the reasons for its largest ratios."""
    rows = {name: row for name, row in ratios.items() if isinstance(row, dict) and "torch" in row}
    hand = [row["by hand"] for row in rows.values()]
    means = {
        network: statistics.geometric_mean(
            [row["torch"] for name, row in rows.items() if name.startswith(network)]
        )
        for network in dict.fromkeys(name.partition(",")[0] for name in rows)
    }
    most = {head: max(row[head] for row in rows.values()) for head in ("flops", "bytes")}
    yield (
        f"Relative to the same step written by hand in JAX, a step with jaxgrad takes a median "
        f"{statistics.median(hand):.2f} of the time, at most {max(hand):.2f}; by XLA's count it "
        f"has at most {most['flops']:.3f} of the flops and {most['bytes']:.3f} of the bytes. "
        "Relative to torch eager it takes a geometric mean of "
        f"**{statistics.geometric_mean([row['torch'] for row in rows.values()]):.2f}** of the time"
        f" ({', '.join(f'{network} {mean:.2f}' for network, mean in means.items())}); without the "
        f"rows in bfloat16 (`amp`) it is {_mean_time(rows, low=False):.2f}, and of those alone "
        f"{_mean_time(rows, low=True):.2f}."
    )
    yield ""
    yield (
        "Flops, bytes and time are relative to hand-written JAX; the last two columns are times "
        "relative to torch."
    )
    yield ""
    yield "| network, behaviour | flops | bytes | time | torch eager | torch.compile |"
    yield "|---|---|---|---|---|---|"
    for name, row in ratios.items():
        if isinstance(row, dict):
            yield f"| {name} | {' | '.join(_cell(row, head) for head in HEADS)} |"
    yield ""
    on_the_cpu = ratios.get("platform", "cpu") == "cpu"
    if "depthwise" not in ratios:
        yield "MobileNetV2 was not measured."
    elif not on_the_cpu:
        yield (
            "The JAX network of MobileNetV2 has its channels last, and computes 1x1 filters as "
            "matrix products and depthwise filters as sums of shifts; with XLA's depthwise "
            f"convolution its step takes {ratios['depthwise']:.2f} times as long."
        )
    else:
        yield (
            "torch is faster in MobileNetV2's convolutions and in bfloat16 products. For "
            "convolutions, oneDNN has blocked layouts and depthwise kernels, which XLA's CPU "
            "backend lacks. The JAX network here has its channels last, and computes 1x1 filters "
            "as matrix products and depthwise filters as sums of shifts; its step is "
            f"{ratios['depthwise']:.1f} times faster than with XLA's depthwise convolution. For "
            "bfloat16, oneDNN uses hardware instructions, while XLA's CPU backend converts to "
            "float32."
        )
    yield ""
    yield (
        "Flops and bytes differ from 1.00 for `amp`: the hand-written step casts weights and "
        "inputs once, while autocast gives each intermediate the dtype of torch's autocast."
        + (" Where both are 1.00, a time other than 1.00 is noise." if on_the_cpu else "")
    )


def _mean_time(rows: Mapping[str, Any], *, low: bool) -> float:
    """Return the geometric mean of the times relative to torch, of the rows in bfloat16 or not."""
    times = [row["torch"] for name, row in rows.items() if name.endswith(", amp") == low]
    return statistics.geometric_mean(times)


def figures(ratios: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Plot the time of each behaviour relative to torch eager and to hand-written JAX."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, head, over_what in zip(
        panels, ("torch", "by hand"), ("torch eager", "hand-written JAX"), strict=True
    ):
        for network, marker in zip(NETWORKS, "os^", strict=True):
            rows = {name: ratios.get(f"{network}, {name}", {}) for name in BEHAVIOURS}
            points = {name: row[head] for name, row in rows.items() if head in row}
            axes.plot(list(points.values()), list(points), marker, label=network, markersize=5)
        axes.axvline(1, color="0.6", linewidth=0.8)
        axes.set(xscale="log", xlabel=f"time relative to {over_what}")
        ticks = (0.5, 1, 2) if head == "torch" else (0.8, 0.9, 1, 1.1, 1.25)
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()
    panels[0].legend(fontsize=7, frameon=False)
    yield "training", figure


def _cell(row: dict[str, Any], head: str) -> str:
    return cell(row.get(head, row.get("why", "") if head == "flops" else ""))
