"""Train for some steps in both frameworks and record the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.loop import Loop
from jaxgrad.parity.prove.jax_side.port import Gradients
from jaxgrad.parity.prove.torch_side.side import State, compared_steps
from jaxgrad.parity.prove.training import Training


class Trajectories(NamedTuple):
    """Weights after some steps, keyed by torch's names, and the final optimizer states."""

    before: State
    torch: Mapping[int, State]
    jax: Mapping[int, State]
    reruns: Sequence[Mapping[int, State]]  # torch's with every number perturbed by an ULP
    moments: Mapping[str, State]  # torch's optimizer state by parameter
    moment_reruns: Sequence[Mapping[str, State]]
    opt_state: Any  # optax's
    averages: tuple[Mapping[int, State], Mapping[int, State]]  # of torch's and JAX's weights


def run(evidence: Evidence, training: Training, steps: int) -> Trajectories:
    """Train from the first draw's weights; the draws' inputs are the micro-batches."""
    draws = evidence.draws
    taken = evidence.torch_side.steps(training, draws, steps)
    loop = Loop(evidence.port, training, draws[0], evidence.trainable)

    def backward(number: int, params: list[Any]) -> Gradients:
        draw = draws[number % len(draws)]
        leaves = [*params, *jax_program.flat(draw.inputs)[1]]
        return evidence.gradients(draw, leaves=leaves)

    states, averages = {}, {}
    for step in range(1, steps + 1):
        loop.step(backward)
        if step in compared_steps(steps):
            states[step], averages[step] = loop.parameters(), loop.averages()
    return Trajectories(
        draws[0].state, taken.states, states, taken.reruns, taken.moments, taken.moment_reruns,
        jax.device_get(loop.state), (taken.averages, averages),
    )  # fmt: skip


def first_step(paths: Trajectories) -> Trajectories:
    """Return the weights after the first step only, without moments."""

    def first(states: Mapping[int, State]) -> dict[int, State]:
        return {1: states[1]} if 1 in states else {}

    averages = first(paths.averages[0]), first(paths.averages[1])
    torch, port = first(paths.torch), first(paths.jax)
    return paths._replace(torch=torch, jax=port, moments={}, averages=averages)
