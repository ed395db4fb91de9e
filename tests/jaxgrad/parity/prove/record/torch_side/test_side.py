"""A draw measures how far a port's outputs are from torch's."""

import dataclasses
import math
import types
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.align.fingerprint import MEAN
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.lazy import LazyList
from jaxgrad.parity.prove.record.torch_side.side import Drawn, compared_steps
from jaxgrad.parity.prove.record.torch_side.values import TorchRun


def drawn(*outputs: np.ndarray) -> Drawn:
    named = {str(i): x for i, x in enumerate(outputs)}
    return Drawn(Draw({}, ()), TorchRun([], [], named, [], {}, [], {}, None, [], [], {}), [])


def test_the_distance_is_the_sum_of_all_differences():
    """Outputs may have another shape, and further outputs of the port do not count."""
    x, y = np.array([[1.0, 2.0]]), np.array([3.0])

    assert drawn(x, y).distance([np.array([1.5, 1.0]), np.array([[5.0]]), y]) == 3.5
    assert drawn(x).distance([x]) == 0.0


def test_the_distance_of_bools_is_the_number_that_differ():
    """numpy cannot subtract bools."""
    flags = np.array([True, False, True])
    assert drawn(flags).distance([~flags]) == 3.0
    assert drawn(flags).distance([np.array([1, 1, 1])]) == 1.0


def test_a_rerun_is_made_only_if_an_output_needs_it():
    """A control makes one rerun at most, and rounding in the port allows for more."""
    x = np.array([1.0, 2.0])
    own = drawn(x, x)
    made: list[int] = []
    run = dataclasses.replace(own.run, outputs={"0": x + 1e-12, "1": x})
    near = dataclasses.replace(own, reruns=LazyList(2, lambda k: made.append(k) or run))

    assert near.agrees([x, x]) and made == []
    assert near.judge([x, x + 1e-9], reruns=1)[1].verdict == "fail" and made == [0]
    assert [j.verdict for j in near.judge([x, x + 1e-9], lambda k: [0.0, 1e-10][k])] == ["pass"] * 2
    assert made == [0, 1]


def test_a_module_with_rough_tables_may_have_larger_rounding_errors():
    x = np.array([1.0, 2.0])
    own = drawn(x)
    near = dataclasses.replace(own, reruns=[dataclasses.replace(own.run, outputs={"0": x + 1e-6})])
    assert near.judge([x + 1e-7])[0].verdict == "inconclusive"
    assert dataclasses.replace(near, rough=True).judge([x + 1e-7])[0].verdict == "pass"


@pytest.mark.parametrize("other", [np.ones(3), np.array([np.nan, 1.0])])
def test_an_output_that_cannot_be_compared_is_infinitely_far(other):
    """Another size and a NaN are farther than any number."""
    assert math.isinf(drawn(np.ones(2)).distance([other]))


@pytest.mark.parametrize(
    ("steps", "size", "compared"),
    [
        (1, 0, (1,)),
        (2, 10**12, (1, 2)),
        (4, 1000, (1, 2, 3, 4)),
        (9, 10**12, (1, 9)),
        (9, 160_000_000, (1, 5, 9)),
        (9, 500_000_000 // 9, tuple(range(1, 10))),
    ],
)
def test_every_step_is_compared_if_the_weights_fit_into_memory(steps, size, compared):
    """A large model's weights are stored after the first step, the last, and few between."""
    assert compared_steps(steps, size) == compared


def test_outputs_are_judged_with_the_rounding_of_the_reruns():
    """Each output has its own reruns, an output without a name is "output", shapes may differ."""
    x = np.array([[1.0, 2.0]])
    own = drawn(x, x)
    own.run.outputs = {"": x, "n": x}
    assert [j.name for j in own.judge([x, x])] == ["output", "n"]
    assert own.agrees([x.ravel(), x]) and not own.agrees([x, x + 1e-9])
    run = dataclasses.replace(own.run, outputs={"": x, "n": x + 1e-9})
    near = dataclasses.replace(own, reruns=[run])
    assert near.agrees([x, x + 1e-9]) and not near.agrees([x + 1e-9, x])


def test_gradients_are_rerun_only_if_they_are_asked_for():
    """Reruns of the forward pass have no gradients, which `differentiate` adds once."""
    plain = drawn(np.ones(2))
    assert plain.gradient_reruns is plain.reruns
    calls: list[Any] = []
    lazy = dataclasses.replace(plain, differentiate=lambda: calls.append(1) or [plain.run])
    assert lazy.gradient_reruns == lazy.gradient_reruns == [plain.run]
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("means", "count"),
    [([1.0, 2.0, 3.0], 3), ([1.0, 1.0, 5.0], 1), ([1 + 0.9e-9, 2.0 - 1.8e-9, 9.0], 2),
     ([1 + 3e-9, 2.0 - 5e-9, 9.0], 0)],
)  # fmt: skip
def test_values_are_counted_by_their_mean_magnitude(means, count):
    """A value of torch counts once if a value of the port has its mean within 1e-9."""
    values = [types.SimpleNamespace(print=np.full(10, float(n + 1))) for n in range(3)]
    given: Any = types.SimpleNamespace(run=types.SimpleNamespace(values=values))
    prints = np.zeros((1, 3, 10))
    prints[0, :, MEAN] = means
    assert Drawn.occurring(given, Watched([], {((0,), 0): prints})) == count
    assert not Drawn.occurring(given, Watched([], {((0,), 0): prints * 0}))
    assert not Drawn.occurring(given, Watched([], {}))
