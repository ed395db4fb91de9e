"""Compare ports that `jaxgrad.port` writes with hand-written JAX programs of the same networks.

    python -m benchmarks.ports [--markdown F] [NAME ...]

XLA counts the flops and bytes of value and gradient; nothing is timed. It counts the body of a loop
once, however often it runs; so scans are unrolled for the count. The networks are those of
`benchmarks/networks.py`, and the pairs of `benchmarks/pairs.py` whose JAX program is a function.
MobileNetV2 is compared twice: by hand, its depthwise filters are XLA's convolutions, as in flax, or
sums of shifted images, as in the port on a CPU, where they need fewer flops.
"""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from torch import nn

import jaxgrad
from benchmarks import networks, pairs
from benchmarks.interleaved import Cost, cost
from benchmarks.networks import NETWORKS, Network, cross_entropy, forward
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.port.port import port


SHIFTED = ("MobileNetV2",)  # networks with depthwise filters
# Why a port, which keeps torch's order of operations, counts more than the program by hand.
WHY = {
    "mlp": (
        "torch computes `g * v / norm` of a weight and by hand it is `v * (g / norm)`, which reads "
        "`v` once less. A port with that line has 1.01 times the bytes."
    ),
    "clip": (
        "torch embeds every token and then takes one of each text; by hand only that one is "
        "embedded. A port with that order has 1.00 times the bytes."
    ),
}


class Comparison(NamedTuple):
    """XLA's counts for a port and for the hand-written program."""

    name: str
    port: Cost
    hand: Cost

    @property
    def flops(self) -> float:
        return self.port.flops / max(self.hand.flops, 1.0)

    @property
    def bytes(self) -> float:
        return self.port.bytes / max(self.hand.bytes, 1.0)


Program = Callable[..., Any]


def ported(module: nn.Module, inputs: Any) -> tuple[Program, Any]:
    """Return the port of a module in its own mode, without new buffers, and its params."""
    result = port(module, inputs, prove=False)
    options = {"training": module.training} if result.takes_mode else {}

    def run(params: Any, *args: Any) -> Any:
        out = result.fn(params, *args, **options)
        return out[0] if result.has_state else out

    return run, result.params(module.state_dict())


def counts(program: Program, loss: Callable[[Any], Any], params: Any, args: Any) -> Cost:
    """Return XLA's counts for the loss and its gradients."""
    trained, rest = split(params)

    def value(trained: Any, *args: Any) -> Any:
        return loss(program(jaxgrad.combine(trained, rest), *args))

    with mock.patch.object(jax.lax, "scan", unrolled(jax.lax.scan)):
        return cost(jax.value_and_grad(value), trained, *args)


def unrolled(scan: Callable[..., Any]) -> Callable[..., Any]:
    """Return `lax.scan` with every turn in the program."""
    return lambda *args, **keywords: scan(*args, **{**keywords, "unroll": True})


def split(params: Any) -> tuple[Any, Any]:
    """Return the floating leaves and the others, each with None in place of the rest."""
    return jaxgrad.partition(params, lambda _, x: _is_floating(x))


def _is_floating(x: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(x), jnp.floating)


def square(out: Any) -> Any:
    """Return the sum of squares of every floating output."""
    return sum(jnp.sum(jnp.square(x)) for x in jax.tree.leaves(out) if _is_floating(x))


def compare_network(network: Network) -> Iterator[Comparison]:
    """Yield a comparison of a network's port for each form in which it is written by hand."""
    module, weights = network.built()
    run, params = ported(module, (network.x,))
    y = jnp.asarray(network.y)
    forms = {network.name: False}
    if network.name in SHIFTED:
        forms[f"{network.name}, filters as shifts by hand"] = True

    def loss(out: Any) -> Any:
        return cross_entropy(out, y)

    def by_hand(params: Any, x: Any) -> Any:
        return forward(network.stages, params, x)

    args = (jnp.asarray(network.x),)
    port = counts(run, loss, params, args)
    for name, shifts in forms.items():
        with mock.patch.object(networks, "SHIFTS", shifts):
            yield Comparison(name, port, counts(by_hand, loss, weights, args))


def compare_pair(name: str) -> Iterator[Comparison]:
    """Yield the comparison of a pair, if its JAX program is a function."""
    with pairs.opened(name) as pair:
        if isinstance(pair["fn"], nnx.Module) or pair.get("has_state"):
            return
        inputs = to_numpy(pair["inputs"])
        args = tuple(jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs)
        run, params = ported(pair["module"], pair["inputs"])
        port = counts(run, square, params, args)
        yield Comparison(name, port, counts(pair["fn"], square, pair["params"], args))


def comparisons(patterns: Sequence[str]) -> Iterator[Comparison]:
    chosen = [n for n in (*NETWORKS, *pairs.SIZES) if not patterns or any(p in n for p in patterns)]
    for name in chosen:
        for found in compare_network(NETWORKS[name]()) if name in NETWORKS else compare_pair(name):
            print(f"{found.name}: {found.flops:.2f} flops, {found.bytes:.2f} bytes", flush=True)
            yield found


def table(rows: Sequence[Comparison]) -> str:
    """Return the ratios as a markdown table."""
    lines = [
        "| network | flops of the port | by hand | ratio | bytes of the port | by hand | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.name} | {r.port.flops:.3g} | {r.hand.flops:.3g} | {r.flops:.2f} | "
        f"{r.port.bytes:.3g} | {r.hand.bytes:.3g} | {r.bytes:.2f} |"
        for r in rows
    ]
    reasons = [
        f"- {r.name}: {WHY[r.name]}" for r in rows if max(r.flops, r.bytes) > 1.05 and r.name in WHY
    ]
    return "\n".join([*lines, *([""] if reasons else []), *reasons])


def arguments(doc: str | None, argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the names of networks, and the file for the table, that a command line has."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="NAME", help="part of a network's name")
    parser.add_argument("--markdown", type=pathlib.Path)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    # Its import sets torch to one thread, which a timed program must not inherit.
    from parity_tests.runner.settings import configure

    options = arguments(__doc__, argv)
    configure()
    rows = list(comparisons(options.patterns))
    print(table(rows))
    if options.markdown:
        text = (
            "XLA's counts for one loss and its gradients, of the port and by hand, "
            "with scans unrolled. Float32; the sizes are those of benchmarks/networks.py and "
            "benchmarks/pairs.py."
        )
        options.markdown.write_text(f"{text}\n\n{table(rows)}\n")


if __name__ == "__main__":
    main()
