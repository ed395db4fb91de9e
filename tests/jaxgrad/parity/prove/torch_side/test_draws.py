"""Weights are redrawn or perturbed, each tensor when it is read."""

from typing import Any

import jax
import numpy as np
import pytest
import torch

from jaxgrad.parity import prove
from jaxgrad.parity.prove.jax_side.port import Draw
from jaxgrad.parity.prove.torch_side.draws import perturbed, redrawn
from tests.jaxgrad.parity.prove._helpers import arrays


LARGE = 400  # a square matrix of this width takes more than a megabyte


def state() -> dict[str, np.ndarray]:
    x = np.random.default_rng(0).standard_normal((LARGE, LARGE))
    return {"large": x, "small": x[0], "variance": np.ones(4), "count": np.array(3), "kept": x[1]}


def test_only_the_named_weights_are_redrawn():
    old = state()
    names = ["large", "small", "variance", "count"]
    new = redrawn(old, names, ["variance"], np.random.default_rng(1))

    assert list(new) == list(old)
    assert new["kept"] is old["kept"]
    assert new["count"] == 3
    assert all(np.ptp(new[name] - old[name]) > 0 for name in names[:3])
    assert np.all(new["variance"] >= 1)


def test_large_redrawn_tensors_hold_float32_numbers():
    new = redrawn(state(), ["large", "small"], [], np.random.default_rng(1))

    assert new["large"].dtype == new["small"].dtype == np.float64
    assert np.array_equal(new["large"], new["large"].astype(np.float32))
    assert not np.array_equal(new["small"], new["small"].astype(np.float32))


def test_every_number_is_perturbed_by_at_most_one_ulp():
    draw = Draw(state(), (np.linspace(1, 2, 50), np.arange(3)))
    near, other = (perturbed(draw, [], salt) for salt in (0, 1))

    for name in ("large", "small"):
        off = near.state[name] / draw.state[name] - 1
        assert 0 < np.max(np.abs(off)) < 5e-16
        assert np.array_equal(near.state[name], near.state[name])  # at each reading
        assert not np.array_equal(near.state[name], other.state[name])
    assert 0 < np.max(np.abs(near.inputs[0] / draw.inputs[0] - 1)) < 5e-16
    assert np.array_equal(near.inputs[1], draw.inputs[1])


def test_rough_tensors_are_perturbed_by_a_float32_ulp():
    near = perturbed(Draw(state(), ()), ["small"], 0)

    assert np.max(np.abs(near.state["small"] - state()["small"])) > 1e-8


@pytest.mark.parametrize("stopped", [False, True])
def test_a_port_with_large_weights_is_judged(stopped):
    """A correct port passes, and one that stops the gradient of the large weight fails there."""
    module = torch.nn.Linear(LARGE, LARGE)

    def port(p: Any, x: Any) -> Any:
        w = jax.lax.stop_gradient(p["weight"]) if stopped else p["weight"]
        return x @ w.T + p["bias"]

    report = prove(module, port, arrays(module), (np.ones((2, LARGE)),))

    assert report.verdict == ("fail" if stopped else "pass")
    assert (report.first is not None and report.first.torch == "weight") == stopped
