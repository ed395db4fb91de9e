"""Time ports that `jaxgrad.port` writes beside what torchax extracts from the same modules.

    python -m benchmarks.beside_torchax [--markdown F] [NAME ...]

Both are the value and the gradients of one loss of a module in eval mode, compiled by `jax.jit`,
and take turns. torchax is not in the development environment, because its newest release (0.0.13)
cannot be imported with torch 2.12 or newer. `make port-torchax` makes an environment for it.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import nn

import jaxgrad
from benchmarks import pairs, ports
from benchmarks.interleaved import cost, rounds
from benchmarks.networks import NETWORKS
from jaxgrad.parity.interop import to_numpy
from parity_tests.runner.settings import configure


class Beside(NamedTuple):
    """The port of one module divided by its torchax extraction."""

    name: str
    seconds: float
    flops: float
    bytes: float
    difference: float  # of the losses, relative


def compare(name: str, module: nn.Module, inputs: Sequence[Any]) -> Beside:
    """Compile both programs, compare their losses, and run them in turns."""
    import torchax  # pyright: ignore[reportMissingImports]

    module = module.eval()
    args = tuple(jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in to_numpy(inputs))
    run, params = ports.ported(module, inputs)
    trained, rest = ports.split(jax.device_put(params))
    weights, extracted = torchax.extract_jax(module)
    weights, buffers = ports.split(weights)

    def port_loss(trained: Any, *args: Any) -> Any:
        return ports.square(run(jaxgrad.combine(trained, rest), *args))

    def extracted_loss(weights: Any, *args: Any) -> Any:
        return ports.square(extracted(jaxgrad.combine(weights, buffers), args))

    steps = [jax.jit(jax.value_and_grad(loss)) for loss in (port_loss, extracted_loss)]
    trees = (trained, weights)
    losses = [float(step(tree, *args)[0]) for step, tree in zip(steps, trees, strict=True)]
    times = rounds(
        {
            "port": lambda: steps[0](trained, *args),
            "torchax": lambda: steps[1](weights, *args),
        }
    )
    ratio = [a / b for a, b in zip(times["port"], times["torchax"], strict=True)]
    counts = [cost(step, tree, *args) for step, tree in zip(steps, trees, strict=True)]
    return Beside(
        name,
        statistics.median(ratio),
        counts[0].flops / max(counts[1].flops, 1.0),
        counts[0].bytes / max(counts[1].bytes, 1.0),
        abs(losses[0] - losses[1]) / max(abs(losses[1]), 1e-30),
    )


def comparisons(patterns: Sequence[str]) -> Iterator[Beside]:
    for name in (*NETWORKS, *pairs.SIZES):
        if patterns and not any(pattern in name for pattern in patterns):
            continue
        torch.manual_seed(0)
        try:
            with _module(name) as (module, inputs):
                found = compare(name, module, inputs)
        except Exception as error:
            print(f"{name}: torchax cannot run it: {type(error).__name__}: {error}"[:200])
            continue
        print(f"{name}: {found.seconds:.2f} of the time", flush=True)
        yield found


@contextlib.contextmanager
def _module(name: str) -> Iterator[tuple[nn.Module, Any]]:
    if name in NETWORKS:
        network = NETWORKS[name]()
        yield network.built()[0], (network.x,)
    else:
        with pairs.opened(name) as pair:
            yield pair["module"], pair["inputs"]


def table(rows: Sequence[Beside]) -> str:
    """Return the ratios as a markdown table."""
    lines = ["| module | time | flops | bytes | losses differ by |", "|---|---|---|---|---|"]
    lines += [
        f"| {r.name} | {r.seconds:.2f} | {r.flops:.2f} | {r.bytes:.2f} | {r.difference:.0e} |"
        for r in rows
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    options = ports.arguments(__doc__, argv)
    configure()
    rows = list(comparisons(options.patterns))
    print(table(rows))
    if options.markdown:
        text = (
            "The value and the gradients of a loss, of the port divided by what torchax extracts "
            "from the same module. Float32, on a CPU. The time of a row scatters by about 0.05 "
            "from run to run."
        )
        options.markdown.write_text(f"{text}\n\n{table(rows)}\n")


if __name__ == "__main__":
    main()
