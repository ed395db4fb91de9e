"""Measure what a proof costs beside what it cannot do without.

That is compiling and running `jax.value_and_grad` of the port once, and torch's forward and
backward pass once, both in float32. All times are CPU times, which another program on the machine
hardly changes, and each proof runs in a process of its own, with one thread of torch.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.proven import PAIRS, pair


TITLE = "What a proof costs"
KINDS = ("pass", "output", "gradient")
GOALS = {"pass": 2.5, "output": 5.0, "gradient": 5.0}
ROUNDS = 3
LARGE = ("GPT-2, 124 million weights",)  # whose proofs take a minute each: one round


def cells(rows: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the network and the kind of each proof whose name has one of some parts."""
    return [
        (name, kind)
        for name in PAIRS
        for kind in KINDS
        if not rows or any(part in f"{name}, {kind}" for part in rows)
    ]


def measure(
    tick: Callable[[str], None], rows: Sequence[str] = (), known: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """Return the ratio of each proof, and whether it passes or confirms the cause.

    Rows that are not chosen keep their numbers.
    """
    found = dict(known)
    for name, kind in cells(rows):
        tick(f"{name}, {kind}")
        runs = [measured(name, kind) for _ in range(1 if name in LARGE else ROUNDS)]
        found[f"{name}, {kind}"] = summary(runs)
    ordered = [f"{name}, {kind}" for name, kind in cells()]
    return {row: found[row] for row in ordered if row in found}


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the median ratio of some runs, their number, and whether all gave the result."""
    ratio = statistics.median(run["proof"] / run["needed"] for run in runs)
    return {"ratio": ratio, "found": all(run["found"] for run in runs), "rounds": len(runs)}


def measured(name: str, kind: str) -> dict[str, Any]:
    """Return the result of `proof` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.proof_cost", name, kind]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def proof(name: str, kind: str) -> dict[str, Any]:
    """Return the CPU seconds of what a proof needs and of a proof, and whether it found the cause.

    Args:
        name: A name in `PAIRS`.
        kind: "pass", or what the planted mistake makes wrong: an "output" or a "gradient".
    """
    import jax
    import jax.numpy as jnp
    import torch

    from jaxgrad.parity import prove

    torch.set_num_threads(1)
    made = pair(name)
    params, right = made.params, made.fn()
    wrong = right if kind == "pass" else made.fn(kind)
    torch.ones(1, requires_grad=True).sum().backward()  # the first backward pass starts threads
    jax.jit(jax.value_and_grad(jnp.sum))(jnp.ones(3))
    start = time.process_time()
    made.module(*map(torch.as_tensor, made.inputs)).sum().backward()
    made.module.zero_grad()
    value_and_grad = jax.jit(jax.value_and_grad(lambda p, *x: jnp.sum(right(p, *x))))
    jax.block_until_ready(value_and_grad(params, *made.inputs))
    needed = time.process_time() - start
    start = time.process_time()
    report = prove(made.module, wrong, params, made.inputs)
    seconds = time.process_time() - start
    if kind == "pass":
        found = report.verdict == "pass"
    else:
        found = report.first is not None and report.first.tested
    return {"proof": seconds, "needed": needed, "found": found}


def markdown(numbers: dict[str, Any]) -> Iterator[str]:
    yield (
        "CPU time of `prove` relative to what it cannot do without: compiling and running "
        "`jax.value_and_grad` of the port once, and torch's forward and backward pass once. The "
        "ports are written by hand, in eval mode, with two to four short inputs. The mistake in an "
        "output is another eps, another GELU or another order of a GRU's gates, the one in a "
        "gradient is an extra `stop_gradient`; a proof that fails includes the search for the "
        "cause. Each number is the median of up to three processes. The goals are "
        f"{GOALS['pass']:g} for a pass and {GOALS['output']:g} for a fail."
    )
    yield ""
    yield "| network | pass | fail, a wrong output | fail, a wrong gradient |"
    yield "|---|---|---|---|"
    for name in PAIRS:
        row = [numbers.get(f"{name}, {kind}") for kind in KINDS]
        if any(row):
            yield f"| {name} | {' | '.join(map(_cell, row))} |"
    yield ""
    above = [
        f"{name}, {kind}"
        for name, kind in cells()
        if numbers.get(f"{name}, {kind}", {"ratio": 0.0})["ratio"] > GOALS[kind]
    ]
    yield f"Above the goal: {'; '.join(above) or 'none'}."


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    return f"{row['ratio']:.1f}" + ("" if row["found"] else " (cause not confirmed)")


if __name__ == "__main__":
    print(json.dumps(proof(*sys.argv[1:])))
