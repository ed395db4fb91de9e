"""The cost of one optimizer step over 25 million parameters in jaxgrad, optax and torch.

Flops and bytes are counted by XLA. All three update in place, as in training: torch does so by
itself, and in JAX the parameters and the state are donated.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

from benchmarks.interleaved import cell, counted, over, rounds, seconds
from parity_tests.audits.optimizers import ELEMENTWISE


TITLE = "A step of each optimizer"
HEADS = ("flops", "bytes", "time", "torch foreach", "torch fused")
LIMITS = ("jaxgrad", "torch foreach", "torch fused")
LEAVES = 60
SIZE = 25_000_000
LR = 0.01


class BenchmarkRow(NamedTuple):
    """One optimizer in jaxgrad, optax and torch, whose steps do the same work."""

    jaxgrad: Any
    optax: Any
    torch: Any  # a factory that takes the parameters
    has_fused: bool


def _rows() -> dict[str, BenchmarkRow]:
    rows = {}
    for record in ELEMENTWISE.values():
        has_fused = "fused" in inspect.signature(record.torch).parameters
        for other in record.counterparts:
            if other.same_work:
                options = {"lr": LR, **other.options}
                torch_factory = functools.partial(record.torch, **options)
                row = BenchmarkRow(record.make(**options), other.make(LR), torch_factory, has_fused)
                rows[other.same_work] = row
    return rows


ROWS = _rows()


def parameters() -> list[np.ndarray]:
    """Return 25 million numbers in 60 leaves, whose sizes vary as in a network."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(LEAVES, 0.5))
    sizes = np.maximum((shares * SIZE).astype(int) // 64 * 64, 64)
    return [rng.standard_normal((n // 64, 64), np.float32) for n in sizes]


def jaxgrad_step(tx: Any, params: Any, state: Any, grads: Any) -> Any:
    return tx.step(grads, state, params)


def optax_step(tx: Any, params: Any, state: Any, grads: Any) -> Any:
    """Take one step the way an optax user writes it."""
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state


class Donated:
    """A compiled step; each call uses the parameters and state that the previous call returned."""

    def __init__(self, step: Callable[..., Any], tx: Any, arrays: list[np.ndarray]):
        params, self.grads = ([jnp.array(x) for x in arrays] for _ in range(2))
        self.now = params, tx.init(params)
        # XLA pairs donated buffers with results of the same shape in order, so parameters come
        # first.
        jitted = jax.jit(functools.partial(step, tx), donate_argnums=(0, 1))
        self.compiled = jitted.lower(*self.now, self.grads).compile()

    def __call__(self) -> Any:
        self.now = self.compiled(*self.now, self.grads)
        return self.now


def torch_run(factory: Any, arrays: list[np.ndarray], **options: Any) -> Any:
    """Return the bound `step` of a torch optimizer whose parameters have gradients."""
    params = [torch.nn.Parameter(torch.tensor(x)) for x in arrays]
    for p, x in zip(params, arrays, strict=True):
        p.grad = torch.tensor(x)
    with torch.device("cpu"):  # on a GPU, torch would wait for Adagrad's step counts
        return factory(params, **options).step


def cells() -> list[str]:
    return list(ROWS)


def measure(tick: Callable[[str], None], pairs: int = 15) -> dict[str, Any]:
    """Measure every row; each number is jaxgrad's cost divided by the other framework's."""
    arrays = parameters()
    numbers = {}
    for name in ROWS:
        tick(name)
        numbers[name] = measure_row(ROWS[name], arrays, pairs)
        jax.clear_caches()
    return numbers


def measure_row(row: BenchmarkRow, arrays: list[np.ndarray], pairs: int) -> dict[str, float]:
    """Count flops and bytes with XLA, then time the steps in interleaved rounds."""
    steps = {"jaxgrad": (jaxgrad_step, row.jaxgrad), "time": (optax_step, row.optax)}
    runs: dict[str, Any] = {name: Donated(step, tx, arrays) for name, (step, tx) in steps.items()}
    left, right = (counted(run.compiled) for run in runs.values())
    numbers = {"flops": left.flops / right.flops, "bytes": left.bytes / right.bytes}
    numbers["time"] = over(rounds(runs, at_least=pairs, at_most=pairs), "jaxgrad", "time")
    del runs["time"]  # torch's threads keep spinning after a step and slow down the next run
    runs["torch foreach"] = torch_run(row.torch, arrays, foreach=True)
    if row.has_fused:
        fused = torch_run(row.torch, arrays, fused=True)
        with contextlib.suppress(RuntimeError):  # Adagrad has no fused kernel for GPUs
            seconds(fused)
            runs["torch fused"] = fused
    copied, runs["copy"] = copy(arrays)
    times = rounds(runs, at_least=pairs // 3, at_most=pairs // 3)
    share = copied / least_bytes(runs["jaxgrad"])
    limits = {
        f"{name} / limit": over(times, name, "copy") * share for name in LIMITS if name in runs
    }
    others = [name for name in runs if name not in ("jaxgrad", "copy")]
    return numbers | {name: over(times, "jaxgrad", name) for name in others} | limits


def copy(arrays: list[np.ndarray]) -> tuple[int, Callable[[], Any]]:
    """Return the bytes that torch reads and writes when it copies arrays, and a run of the copy."""
    given = [torch.tensor(x) for x in arrays]
    made = [torch.empty_like(x) for x in given]
    return 2 * sum(x.nbytes for x in given), lambda: list(map(torch.Tensor.copy_, made, given))


def least_bytes(run: Donated) -> int:
    """Return the bytes of a step that reads all its arrays and writes parameters and state once."""
    kept = sum(x.nbytes for x in jax.tree.leaves(run.now))
    return 2 * kept + sum(x.nbytes for x in run.grads)


def markdown(numbers: dict[str, Any]) -> Iterator[str]:
    yield f"{SIZE:,} float32 parameters in {LEAVES} leaves; jaxgrad divided by the other."
    yield ""
    yield "| optimizer | flops, optax | bytes, optax | time, optax | torch foreach | torch fused |"
    yield "|---|---|---|---|---|---|"
    for name, values in numbers.items():
        yield f"| {name} | {' | '.join(cell(values.get(head, '')) for head in HEADS)} |"
    measured = {name: v for name, v in numbers.items() if "jaxgrad / limit" in v}
    if not measured:
        return
    yield ""
    yield (
        "A step must read the parameters, the state and the gradients once, and write the "
        "parameters and the state once. The next table divides its time by the time in which torch "
        "copies as many bytes in the same round."
    )
    yield ""
    yield "| optimizer | jaxgrad | torch foreach | torch fused |"
    yield "|---|---|---|---|"
    for name, values in measured.items():
        shown = [cell(values.get(f"{head} / limit", "")) for head in LIMITS]
        yield f"| {name} | {' | '.join(shown)} |"
