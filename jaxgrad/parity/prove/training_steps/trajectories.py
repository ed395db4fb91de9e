"""Train for some steps in both frameworks and record the weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import MAX_ROUNDING
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.loop import Loop
from jaxgrad.parity.prove.record.jax_side.port import Gradients
from jaxgrad.parity.prove.record.torch_side.side import State, Steps
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.training_steps import moments


class Trajectories(NamedTuple):
    """Weights after some steps, keyed by torch's names, and the final optimizer states."""

    before: State
    torch: Mapping[int, State]
    jax: Mapping[int, State]
    reruns: Sequence[Mapping[int, State]]  # torch's with every number perturbed by an ULP
    moments: Mapping[str, State]  # torch's optimizer state by parameter
    moment_reruns: Sequence[Mapping[str, Mapping[str, Any]]]  # or how much they differ
    opt_state: Any  # optax's
    averages: tuple[Mapping[int, State], Mapping[int, State]]  # of torch's and JAX's weights
    most_rounding: float = MAX_ROUNDING  # with which weights can be compared
    perturbed: Mapping[int, State] | None = None  # torch's weights of which `reruns` are reruns
    buffers: Mapping[int, State] = {}  # torch's, if `after=` is given
    buffer_reruns: Sequence[Mapping[int, State]] = ()

    def of_buffers(self) -> Trajectories:
        """Return the buffers that a leaf of the port holds in place of the weights."""
        first = next(iter(self.jax.values()))
        held = {
            step: {name: x for name, x in state.items() if name in first and name in self.before}
            for step, state in self.buffers.items()
            if step in self.jax
        }
        return self._replace(
            torch=held, reruns=self.buffer_reruns, moments={}, averages=({}, {}), perturbed=None
        )

    def with_torch(self, taken: Steps) -> Trajectories:
        """Replace torch's steps by others, and keep the port's steps and the rounding errors."""
        rounding = self.moment_reruns
        if self.perturbed is None:
            rounding = moments.rounding(self.moments, self.moment_reruns)
        return self._replace(
            torch={step: taken.states[step] for step in self.torch if step in taken.states},
            averages=(taken.averages, self.averages[1]),
            moments=taken.moments,
            moment_reruns=rounding,
            perturbed=self.torch if self.perturbed is None else self.perturbed,
        )


def run(evidence: Evidence, training: Training, steps: int) -> Trajectories:
    """Train from the first draw's weights; the draws' inputs are the micro-batches."""
    draws = evidence.draws
    taken = evidence.torch_side.steps(training, draws, steps)
    states, averages, opt_state = of_port(evidence, training, taken.states)
    return Trajectories(
        draws[0].state, taken.states, states, taken.reruns, taken.moments, taken.moment_reruns,
        opt_state, (taken.averages, averages), evidence.drawn[0].most_rounding,
        buffers=taken.buffers, buffer_reruns=taken.buffer_reruns,
    )  # fmt: skip


def of_port(
    evidence: Evidence, training: Training, steps: Collection[int]
) -> tuple[dict[int, State], dict[int, State], Any]:
    """Return the port's weights and averages after these steps, and its optimizer's last state."""
    draws = evidence.draws
    loop = Loop(evidence.port, training, draws[0], evidence.trained)

    def backward(number: int, params: list[Any]) -> Gradients:
        draw = draws[number % len(draws)]
        leaves = [*params, *jax_program.flat(draw.inputs)[1]]
        return evidence.gradients(draw, leaves=leaves)

    states: dict[int, State] = {}
    averages: dict[int, State] = {}
    for step in range(1, max(steps) + 1):
        loop.step(backward)
        if step in steps:
            states[step], averages[step] = loop.parameters(), loop.averages()
    return states, averages, jax.device_get(loop.state)


def first_steps(paths: Trajectories, last: int = 1) -> Trajectories:
    """Return the weights after the first steps only, without moments."""

    def first(states: Mapping[int, State]) -> dict[int, State]:
        return {step: x for step, x in states.items() if step <= last}

    averages = first(paths.averages[0]), first(paths.averages[1])
    torch, port = first(paths.torch), first(paths.jax)
    return paths._replace(torch=torch, jax=port, moments={}, averages=averages)
