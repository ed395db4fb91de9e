"""Time what `jaxgrad.port` writes: the value and gradients of a loss, beside torch and by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import nn

import jaxgrad
from benchmarks import ports
from benchmarks.interleaved import Run, cell, counted, over, rounds
from benchmarks.networks import Network, cross_entropy, forward, mlp, mobilenet, transformer
from benchmarks.steps import Step
from parity_tests.ports import gpt2


TITLE = "A port that `jaxgrad.port` writes"
HEADS = ("by hand", "torch", "flops")


class Workload(NamedTuple):
    """A module, a batch, and the same network by hand as a function and its params."""

    module: nn.Module
    x: np.ndarray
    y: np.ndarray
    by_hand: Callable[[Any, Any], Any]
    params: Any


@contextlib.contextmanager
def of_network(network: Network) -> Iterator[Workload]:
    module, params = network.built()
    yield Workload(module, network.x, network.y, lambda p, x: forward(network.stages, p, x), params)


@contextlib.contextmanager
def of_gpt2(batch: int, tokens: int, heads: int, **sizes: int) -> Iterator[Workload]:
    """Yield GPT-2 with other sizes, which are constants of its file."""
    constants: dict[str, Any] = {"TOKENS": tokens, "HEADS": heads, **sizes}
    with mock.patch.multiple(gpt2, **constants):
        torch.manual_seed(0)
        module = gpt2.GPT2(gpt2.Conv1D).float()
        x, y = np.random.default_rng(0).integers(0, gpt2.VOCABULARY, (2, batch, tokens))
        by_hand = gpt2.Port(scale=(gpt2.WIDTH // heads) ** -0.5)
        yield Workload(module, x, y, by_hand.apply, gpt2.convert(module.state_dict()))


Open = Callable[[], AbstractContextManager[Workload]]
SMALL: Mapping[str, Open] = {
    "MLP": lambda: of_network(mlp()),
    "transformer": lambda: of_network(transformer()),
    "MobileNetV2": lambda: of_network(mobilenet()),
    "GPT-2, 4 layers": lambda: of_gpt2(4, 64, 4, WIDTH=128, LAYERS=4, VOCABULARY=1000),
}
# On a GPU the networks have the sizes at which people train them.
LARGE: Mapping[str, Open] = {
    "MLP, width 4096": lambda: of_network(mlp(width=4096, batch=2048)),
    "transformer, 85 million parameters": lambda: of_network(
        transformer(depth=12, width=768, batch=16, sequence=256, heads=12)
    ),
    "GPT-2, 124 million parameters": lambda: of_gpt2(
        4, 512, 12, WIDTH=768, LAYERS=12, VOCABULARY=50257
    ),
    "MobileNetV2, 64 images": lambda: of_network(mobilenet(batch=64, size=224)),
}


def _workloads() -> Mapping[str, Open]:
    return SMALL if jax.default_backend() == "cpu" else LARGE


def cells() -> list[str]:
    return list(_workloads())


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Return the ratios of each network."""
    ratios = {}
    for name, opened in _workloads().items():
        tick(name)
        with contextlib.ExitStack() as stack:
            with torch.device("cpu"):
                work = stack.enter_context(opened())
                run, params = ports.ported(work.module.eval(), (torch.tensor(work.x),))
            ratios[name] = _row(work, run, params)
        jax.clear_caches()
    return ratios


def _row(work: Workload, run: Callable[..., Any], params: Any) -> dict[str, Any]:
    trained, rest = jax.device_put(ports.split(params))

    def ours(trained: Any, x: Any, y: Any) -> Any:
        return cross_entropy(run(jaxgrad.combine(trained, rest), x), y)

    def by_hand(params: Any, x: Any, y: Any) -> Any:
        return cross_entropy(work.by_hand(params, x), y)

    steps = {
        "ours": _compiled(ours, trained, work), "by hand": _compiled(by_hand, work.params, work)
    }  # fmt: skip
    left, right = (counted(step.compiled) for step in steps.values())
    runs: dict[str, Run] = {**steps, "torch": _torch(work)}
    losses = [float(run()[0]) for run in runs.values()]
    row: dict[str, Any] = {
        "flops": left.flops / right.flops,
        "losses differ by": abs(losses[0] / losses[2] - 1),
    }
    times = rounds(runs)
    return row | {name: over(times, "ours", name) for name in runs if name != "ours"}


def _compiled(loss: Callable[..., Any], params: Any, work: Workload) -> Step:
    params = jax.device_put(jax.tree.map(jnp.asarray, params))
    args = params, jnp.asarray(work.x), jnp.asarray(work.y)
    return Step(jax.jit(jax.value_and_grad(loss)).lower(*args).compile(), args)


def _torch(work: Workload) -> Callable[[], Any]:
    """Return a function that runs torch's value and gradients on its default device."""
    module = work.module.to(torch.get_default_device())
    x, y = torch.tensor(work.x), torch.tensor(work.y)

    def step() -> Any:
        module.zero_grad()
        value = nn.functional.cross_entropy(module(x).flatten(0, -2), y.flatten())
        value.backward()
        return value.detach(), [p.grad for p in module.parameters()]

    return step


def markdown(ratios: dict[str, Any]) -> Iterator[str]:
    yield (
        "The time and the flops of a loss with its gradients: the function that `jaxgrad.port` "
        "writes, relative to the same network by hand in JAX and in torch. Float32, products in "
        "float32."
    )
    yield ""
    yield "| network | time, by hand | torch eager | flops, by hand | losses differ by |"
    yield "|---|---|---|---|---|"
    for name, row in ratios.items():
        cells = [cell(row.get(head, "")) for head in HEADS]
        yield f"| {name} | {' | '.join(cells)} | {row['losses differ by']:.0e} |"
