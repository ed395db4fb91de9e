"""Measure common claims about cost in torch and JAX.

The first claim is about which of detach, no_grad and inference_mode is cheapest, the second about
how many steps it takes until compiling a static graph has paid for itself.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

import jaxgrad
from benchmarks.interleaved import Run, over, rounds
from benchmarks.networks import NETWORKS, cross_entropy, forward, mlp
from parity_tests.audits.networks import torch_bytes


TITLE = "What stopping a gradient costs, and what a static graph costs"
METHODS = ("all recorded", "detach", "no_grad", "inference_mode")


def cells() -> list[tuple[str, str]]:
    return [("stops", method) for method in ("torch", "JAX")] + [
        ("graphs", name) for name in NETWORKS
    ]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Measure each method of stopping a gradient, and the steps until compilation has paid off."""
    tick("detach, no_grad, inference_mode in torch")
    stops = {"torch": _stops_in_torch()}
    tick("stop_gradient, no_grad in JAX")
    stops["JAX"] = _stops_in_jax()
    graphs = {}
    for name in NETWORKS:
        tick(f"static and dynamic: {name}")
        graphs[name] = _graphs(name)
    return {"stops": stops, "graphs": graphs}


def _stops_in_torch() -> dict[str, dict[str, float]]:
    """Return the time and bytes of torch steps that stop the gradient halfway through an MLP."""
    net = mlp()
    modules, _ = net.built()
    half = len(modules) // 2
    x, y = torch.tensor(net.x), torch.tensor(net.y)

    def features(method: str) -> torch.Tensor:
        if method == "no_grad":
            with torch.no_grad():
                return modules[:half](x)
        if method == "inference_mode":
            with torch.inference_mode():
                h = modules[:half](x)
            return h.clone()  # an inference tensor cannot be saved for the backward pass
        h = modules[:half](x)
        return h.detach() if method == "detach" else h

    def run(method: str) -> None:
        modules.zero_grad()
        loss(method).backward()

    def loss(method: str) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(modules[half:](features(method)), y)

    def saved(method: str) -> int:
        return torch_bytes(lambda: loss(method), [x, y, *modules.parameters()])

    times = rounds({method: lambda method=method: run(method) for method in METHODS})
    whole = saved(METHODS[0])
    return {
        method: {"time": over(times, method, METHODS[0]), "bytes": saved(method) / whole}
        for method in METHODS
    }


def _stops_in_jax() -> dict[str, dict[str, float]]:
    """Return the time and bytes of JAX steps that use `stop_gradient` or `no_grad`."""
    net = mlp()
    _, params = net.built()
    half = len(params) // 2
    x, y = jnp.asarray(net.x), jnp.asarray(net.y)

    def first(params: Any, x: jax.Array) -> jax.Array:
        return forward(net.stages[:half], params[:half], x)

    stops: dict[str, Callable[[Any, jax.Array], jax.Array]] = {
        METHODS[0]: first,
        "detach": lambda params, x: lax.stop_gradient(first(params, x)),
        "no_grad": jaxgrad.no_grad(first),
    }
    runs: dict[str, Run] = {}
    kept: dict[str, int] = {}
    for method, stop in stops.items():

        def loss(params: Any, x: jax.Array, y: jax.Array, stop: Any = stop) -> jax.Array:
            return cross_entropy(forward(net.stages[half:], params[half:], stop(params, x)), y)

        step = jax.jit(jaxgrad.value_and_grad(loss)).lower(params, x, y).compile()
        runs[method] = lambda step=step: step(params, x, y)
        kept[method] = jaxgrad.saved_bytes(lambda params, loss=loss: loss(params, x, y), params)
    times = rounds(runs)
    return {
        method: {"time": over(times, method, METHODS[0]), "bytes": kept[method] / kept[METHODS[0]]}
        for method in runs
    }


def _graphs(name: str) -> dict[str, float]:
    """Return ratios of step times, and the numbers of steps until compilation has paid off."""
    net = NETWORKS[name]()
    modules, params = net.built()
    x, y = jnp.asarray(net.x), jnp.asarray(net.y)
    tx, ty = torch.tensor(net.x), torch.tensor(np.asarray(net.y))
    plain = jax.value_and_grad(lambda p, x, y: cross_entropy(forward(net.stages, p, x), y))
    start = time.perf_counter()
    static = jax.jit(plain).lower(params, x, y).compile()
    built = time.perf_counter() - start

    def torch_eager() -> None:
        modules.zero_grad()
        torch.nn.functional.cross_entropy(modules(tx), ty).backward()

    times = rounds(
        {
            "static": lambda: static(params, x, y),
            "op by op": lambda: plain(params, x, y),
            "torch": torch_eager,
        }
    )
    built /= statistics.median(times["static"])
    slower = {name: over(times, name, "static") for name in ("op by op", "torch")}
    return {
        "op by op / compiled": slower["op by op"],
        "torch / compiled": slower["torch"],
        "steps to pay, op by op": _steps(built, slower["op by op"]),
        "steps to pay, torch": _steps(built, slower["torch"]),
    }


def _steps(built: float, other: float) -> float:
    """Return the number of steps until compilation pays off, or infinity if it never does.

    Args:
        built: The time of the compilation, in compiled steps.
        other: The time of a step that is not compiled, in compiled steps.
    """
    return built / (other - 1) if other > 1 else float("inf")


def markdown(numbers: dict[str, Any]) -> Iterator[str]:
    yield (
        "The gradient of an MLP is stopped after the first half of its layers. The table gives the "
        "time of a step and the bytes saved for the backward pass, relative to a step without "
        "stopping."
    )
    yield ""
    yield "| | torch: time | torch: bytes saved | JAX: time | JAX: bytes saved |"
    yield "|---|---|---|---|---|"
    for method in METHODS:
        sides = [numbers["stops"][side].get(method) for side in ("torch", "JAX")]
        values = [f"{side[k]:.2f}" if side else "" for side in sides for k in ("time", "bytes")]
        yield f"| {method} | {' | '.join(values)} |"
    yield ""
    yield (
        "`detach` does not copy: torch records the first half and then drops the reference to it. "
        "With `no_grad` it is never recorded. Under `jit` both give the same program."
    )
    yield ""
    yield (
        "| network | JAX op by op / compiled | torch eager / compiled JAX | "
        "steps until compiling pays off, against JAX op by op | against torch eager |"
    )
    yield "|---|---|---|---|---|"
    for name, row in numbers["graphs"].items():
        values = [
            f"{value:.1f}" if "steps" not in key else _count(value) for key, value in row.items()
        ]
        yield f"| {name} | {' | '.join(values)} |"


def _count(value: float | None) -> str:
    return f"{value:.0f}" if value is not None and np.isfinite(value) else "never"
