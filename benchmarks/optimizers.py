"""A step of each optimizer over 25 million parameters: ours, optax's own and torch's.

Flops and bytes are what XLA counts. All work in place, as in training: torch does by itself, in JAX
parameters and state are donated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

import jaxgrad
from benchmarks.interleaved import counted, over, rounds


TITLE = "A step of each optimizer"
HEADS = ("flops", "bytes", "time", "torch foreach", "torch fused")
LEAVES = 60
SIZE = 25_000_000


class Row(NamedTuple):
    """An optimizer of ours, the one of optax that is nearest in kind, and torch's."""

    ours: Any
    optax: Any
    torch: Any


OPTIM = torch.optim
ROWS = {
    "sgd": Row(jaxgrad.optim.sgd(0.1), optax.sgd(0.1), functools.partial(OPTIM.SGD, lr=0.1)),
    "sgd, momentum": Row(
        jaxgrad.optim.sgd(0.1, momentum=0.9),
        optax.sgd(0.1, momentum=0.9),
        functools.partial(OPTIM.SGD, lr=0.1, momentum=0.9),
    ),
    "adam": Row(jaxgrad.optim.adam(), optax.adam(1e-3), OPTIM.Adam),
    "adamw": Row(jaxgrad.optim.adamw(), optax.adamw(1e-3, weight_decay=1e-2), OPTIM.AdamW),
    "adam, amsgrad": Row(
        jaxgrad.optim.adam(amsgrad=True),
        optax.amsgrad(1e-3),
        functools.partial(OPTIM.Adam, amsgrad=True),
    ),
    "adamax": Row(jaxgrad.optim.adamax(), optax.adamax(2e-3), OPTIM.Adamax),
    "nadam": Row(jaxgrad.optim.nadam(), optax.nadam(2e-3), OPTIM.NAdam),
    "radam": Row(jaxgrad.optim.radam(), optax.radam(1e-3), OPTIM.RAdam),
    "rmsprop": Row(jaxgrad.optim.rmsprop(), optax.rmsprop(1e-2), OPTIM.RMSprop),
    "adagrad": Row(jaxgrad.optim.adagrad(), optax.adagrad(1e-2), OPTIM.Adagrad),
    "adadelta": Row(jaxgrad.optim.adadelta(), optax.adadelta(1.0), OPTIM.Adadelta),
    "rprop": Row(jaxgrad.optim.rprop(), optax.rprop(1e-2), OPTIM.Rprop),
}
FUSED = ("sgd", "sgd, momentum", "adam", "adamw", "adam, amsgrad", "adagrad")


def parameters() -> list[np.ndarray]:
    """25 million numbers in 60 leaves of sizes that differ as in a network."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(LEAVES, 0.5))
    sizes = np.maximum((shares * SIZE).astype(int) // 64 * 64, 64)
    return [rng.standard_normal((n // 64, 64), np.float32) for n in sizes]


def our_step(tx: Any, params: Any, state: Any, grads: Any) -> Any:
    return tx.step(grads, state, params)


def optax_step(tx: Any, params: Any, state: Any, grads: Any) -> Any:
    """The step that a user of optax writes."""
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state


class Donated:
    """A compiled step, ready to run: it is given what it returned."""

    def __init__(self, step: Callable[..., Any], tx: Any, given: list[np.ndarray]):
        params, self.grads = ([jnp.array(x) for x in given] for _ in range(2))
        self.now = params, tx.init(params)
        # Buffers are paired with results of their shape in order: parameters first.
        jitted = jax.jit(functools.partial(step, tx), donate_argnums=(0, 1))
        self.compiled = jitted.lower(*self.now, self.grads).compile()

    def __call__(self) -> Any:
        self.now = self.compiled(*self.now, self.grads)
        return self.now


def torch_run(factory: Any, given: list[np.ndarray], **options: Any) -> Any:
    """A step of torch, ready to run."""
    params = [torch.nn.Parameter(torch.tensor(x)) for x in given]
    for p, x in zip(params, given, strict=True):
        p.grad = torch.tensor(x)
    return factory(params, **options).step


def cells() -> list[str]:
    return list(ROWS)


def measure(tick: Callable[[str], None], pairs: int = 15) -> dict[str, Any]:
    """A row an optimizer: ours / theirs."""
    given = parameters()
    found = {}
    for name in ROWS:
        tick(name)
        found[name] = row(name, given, pairs)
        jax.clear_caches()
    return found


def row(name: str, given: list[np.ndarray], pairs: int) -> dict[str, float]:
    """Counts of XLA, then times in rounds."""
    made = ROWS[name]
    sides = {"ours": (our_step, made.ours), "time": (optax_step, made.optax)}
    runs: dict[str, Any] = {side: Donated(step, tx, given) for side, (step, tx) in sides.items()}
    left, right = (counted(run.compiled) for run in runs.values())
    found = {"flops": left.flops / right.flops, "bytes": left.bytes / right.bytes}
    found["time"] = over(rounds(runs, at_least=pairs, at_most=pairs), "ours", "time")
    del runs["time"]  # torch's threads spin after its step, and slow what comes next
    runs["torch foreach"] = torch_run(made.torch, given, foreach=True)
    if name in FUSED:
        runs["torch fused"] = torch_run(made.torch, given, fused=True)
    times = rounds(runs, at_least=pairs // 3, at_most=pairs // 3)
    return found | {other: over(times, "ours", other) for other in runs if other != "ours"}


def markdown(found: dict[str, Any]) -> Iterator[str]:
    yield f"{SIZE:,} float32 parameters in {LEAVES} leaves; ours over the other."
    yield ""
    yield "| optimizer | flops, optax | bytes, optax | time, optax | torch foreach | torch fused |"
    yield "|---|---|---|---|---|---|"
    for name, values in found.items():
        cells = [f"{values[head]:.2f}" if head in values else "" for head in HEADS]
        yield f"| {name} | {' | '.join(cells)} |"
