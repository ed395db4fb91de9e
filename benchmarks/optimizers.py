"""A step of each optimizer over 25 million parameters: ours, optax's own and torch's.

    python -m benchmarks.optimizers [--markdown F] [--size N] [--pairs N] [NAME ...]

Ratios only, each the median of interleaved pairs; flops and bytes are what XLA counts.
A program of XLA takes the threads it wants, as torch does unless OMP_NUM_THREADS says otherwise.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import rich.console
import rich.progress
import torch

import jaxgrad
from benchmarks.interleaved import Cost, cost, ratio
from parity_tests.environment import versions


LEAVES = 60
SIZE = 25_000_000
FACTS = (
    "jaxgrad", "commit", "jax", "jaxlib", "optax", "torch", "python", "cpu", "cpu_capability",
    "cores", "torch_threads", "xla_flags", "date",
)  # fmt: skip


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


def parameters(size: int) -> list[np.ndarray]:
    """So many numbers in 60 leaves of sizes that differ as in a network."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(LEAVES, 0.5))
    sizes = np.maximum((shares * size).astype(int) // 64 * 64, 64)
    return [rng.standard_normal((n // 64, 64), np.float32) for n in sizes]


def optax_step(tx: Any, grads: Any, state: Any, params: Any) -> Any:
    """The step that a user of optax writes."""
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state


def torch_run(factory: Any, given: list[np.ndarray], **options: Any) -> Any:
    """A step of torch, ready to run."""
    params = [torch.nn.Parameter(torch.tensor(x)) for x in given]
    for p, x in zip(params, given, strict=True):
        p.grad = torch.tensor(x)
    return factory(params, **options).step


def measure(name: str, given: list[np.ndarray], pairs: int) -> dict[str, Any]:
    """One row: ours / theirs."""
    row = ROWS[name]
    params = [jnp.asarray(x) for x in given]
    ours = row.ours.step
    theirs = functools.partial(optax_step, row.optax)
    ours_args = params, row.ours.init(params), params
    theirs_args = params, row.optax.init(params), params
    left, right = cost(ours, *ours_args), cost(theirs, *theirs_args)
    ours_jit, theirs_jit = jax.jit(ours), jax.jit(theirs)
    run = functools.partial(ours_jit, *ours_args)
    found: dict[str, Any] = {
        "flops": over(left, right, 0),
        "bytes": over(left, right, 1),
        "time": ratio(run, functools.partial(theirs_jit, *theirs_args), pairs),
        "torch foreach": ratio(run, torch_run(row.torch, given, foreach=True), pairs),
    }
    if name in FUSED:
        found["torch fused"] = ratio(run, torch_run(row.torch, given, fused=True), pairs)
    return found


def over(left: Cost, right: Cost, field: int) -> float:
    return left[field] / right[field]


def table(rows: dict[str, dict[str, Any]], size: int, pairs: int) -> str:
    """As markdown."""
    heads = ("flops", "bytes", "time", "torch foreach", "torch fused")
    found = versions()
    lines = [
        "; ".join(f"{name} {found[name] or 'none'}" for name in FACTS),
        "",
        f"{size:,} float32 parameters in {LEAVES} leaves; medians of {pairs} interleaved pairs",
        "",
        "| optimizer | flops, ours / optax | bytes, ours / optax | time, ours / optax | "
        "time, ours / torch foreach | time, ours / torch fused |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        cells = [f"{row[head]:.2f}" if head in row else "" for head in heads]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {'; '.join(ROWS)}")
    parser.add_argument("--size", type=int, default=SIZE, help="parameters")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--markdown", type=pathlib.Path)
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in ROWS]:
        parser.error(f"no optimizer {unknown[0]!r}; there are: {'; '.join(ROWS)}")
    given, rows = parameters(args.size), {}
    console = rich.console.Console(stderr=True)
    for name in rich.progress.track(args.names or list(ROWS), "optimizers", console=console):
        rows[name] = measure(name, given, args.pairs)
    text = table(rows, args.size, args.pairs)
    print(text)
    if args.markdown:
        args.markdown.write_text(text)


if __name__ == "__main__":
    main()
