"""Both frameworks train from the same weights on the same micro-batches."""

from typing import Any

import numpy as np
import optax
import pytest
import torch

from jaxgrad.parity import Training
from jaxgrad.parity.prove.record import adapters
from jaxgrad.parity.prove.record.torch_side.side import Steps
from jaxgrad.parity.prove.training_steps import trajectories
from jaxgrad.parity.prove.training_steps.trajectories import Trajectories


def trained(evidence: Any, accumulate: int, steps: int, rate: float = 0.1) -> Trajectories:
    tx = optax.adam(rate)
    training = Training(
        lambda ps: torch.optim.Adam(ps, 0.1),
        optax.MultiSteps(tx, accumulate) if accumulate > 1 else tx,
        accumulate=accumulate,
        ema=(0.0, lambda average, params: params),  # the weights themselves
    )
    with adapters.float64_on_cpu():
        return trajectories.run(evidence, training, steps)


def distance(left: Any, right: Any) -> float:
    return max(float(np.abs(left[name] - right[name]).max()) for name in right)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("accumulate", "steps"), [(1, 3), (3, 2)])
def test_equal_optimizers_give_equal_weights(evidence, accumulate, steps):
    """The weights after every step are kept, with their averages."""
    paths = trained(evidence, accumulate, steps)
    every = list(range(1, steps + 1))

    assert list(paths.jax) == list(paths.torch) == every
    assert list(paths.averages[0]) == list(paths.averages[1]) == every
    assert paths.before is evidence.draws[0].state and len(paths.reruns) == 2
    for step in every:
        assert distance(paths.jax[step], paths.torch[step]) < 1e-12
        assert distance(paths.averages[1][step], paths.averages[0][step]) < 1e-12
    assert distance(paths.before, paths.torch[1]) > 0.05
    assert paths.moments.keys() == paths.torch[1].keys() and paths.opt_state is not None


def test_another_rate_gives_other_weights(evidence):
    """The negative control of the test above."""
    paths = trained(evidence, 1, 1, rate=0.11)
    assert distance(paths.jax[1], paths.torch[1]) == pytest.approx(0.01, rel=1e-4)


def test_the_first_steps_are_taken_from_a_longer_path():
    """Moments are those of the last step, so they are dropped; averages are cut."""
    states: Any = {k: {"w": np.full(1, k)} for k in (1, 2, 5)}
    none: Any = {}
    paths = Trajectories({}, states, states, [], {"w": {}}, [], None, (states, none))
    first = trajectories.first_steps(paths)

    assert first.torch == first.jax == first.averages[0] == {1: states[1]}
    assert first.averages[1] == {} and first.moments == {} and first.before is paths.before
    assert list(trajectories.first_steps(paths, 4).torch) == [1, 2]


def test_other_steps_of_torch_round_as_the_first_ones_do():
    """The reruns belong to torch's first weights, and moments' reruns are kept as differences."""
    states: Any = {1: {"w": np.ones(2)}, 2: {"w": np.zeros(2)}}
    moments: Any = {"w": {"m": np.ones(2), "v": np.ones(2)}}
    rerun: Any = {"w": {"m": np.array([1.0, 1.5]), "new": np.ones(1)}, "other": {}}
    paths = Trajectories({}, states, states, [states], moments, [rerun], None, ({}, states))
    taken = Steps({1: {"w": np.full(2, 7.0)}}, {"w": {"m": np.zeros(2)}}, [], {1: {}})
    changed = paths.with_torch(taken)

    assert changed.torch == taken.states and changed.moments is taken.moments
    assert changed.jax is paths.jax and changed.reruns is paths.reruns
    assert changed.averages == (taken.averages, states) and changed.perturbed is states
    assert changed.moment_reruns == [{"w": {"m": 0.5}}]
    again = changed.with_torch(taken)
    assert again.perturbed is states and again.moment_reruns == changed.moment_reruns
