"""Weights are redrawn or perturbed, each tensor when it is read."""

import functools
from typing import Any

import jax
import numpy as np
import pytest
import torch

from jaxgrad.parity import prove
from jaxgrad.parity.prove.record import coarse
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.torch_side.draws import perturbed, redrawn, rounded_buffers
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
    assert np.all((new["variance"] > 0) & (new["variance"] <= 1))


@pytest.mark.parametrize("read", [True, False])
def test_the_mean_of_a_new_batch_norm_is_not_zero(read):
    """A port that leaves out the running mean fails, although the mean of a new layer is 0."""
    module = torch.nn.BatchNorm1d(4).eval()

    def port(p: Any, x: Any) -> Any:
        mean = p["running_mean"] if read else 0
        return (x - mean) / (p["running_var"] + 1e-5) ** 0.5 * p["weight"] + p["bias"]

    report = prove(module, port, arrays(module), (np.eye(4),))

    assert report.verdict == ("pass" if read else "fail"), report


def test_equal_numbers_of_a_table_are_redrawn_equally():
    """A port may read one half of a rotary table, and the table of one layer for all layers."""
    angles = np.outer(np.arange(8), [1.0, 0.1, 0.01])
    table = np.cos(np.concatenate([angles, angles], -1))
    old = {"a.cos": table, "b.cos": table.copy(), "mean": np.zeros(6), "mask": np.eye(6)}
    new = redrawn(old, list(old), list(old), np.random.default_rng(0))

    assert np.array_equal(new["a.cos"][:, :3], new["a.cos"][:, 3:])
    assert np.array_equal(new["a.cos"], new["b.cos"])
    assert np.min(np.abs(new["a.cos"] - table)) > 0
    assert len(np.unique(new["mean"])) == 6, "statistics that were not trained are constant"
    assert len(np.unique(new["mask"][np.eye(6) == 1])) == 6
    weights = redrawn(old, ["a.cos"], [], np.random.default_rng(0))["a.cos"]
    assert len(np.unique(weights)) == weights.size, "a weight is not a table"


def test_large_redrawn_tensors_hold_float32_numbers():
    new = redrawn(state(), ["large", "small"], [], np.random.default_rng(1))

    assert new["large"].dtype == new["small"].dtype == np.float64
    assert np.array_equal(new["large"], new["large"].astype(np.float32))
    assert not np.array_equal(new["small"], new["small"].astype(np.float32))


def test_every_number_is_perturbed_by_a_few_ulp():
    draw = Draw(state(), (np.linspace(1, 2, 50)[1:-1], np.arange(3)))
    near, other = (perturbed(draw, [], salt) for salt in (0, 1))

    for name in ("large", "small"):
        off = near.state[name] / draw.state[name] - 1
        assert np.min(np.abs(off)) > 0 and np.max(np.abs(off)) < 7e-16
        assert np.array_equal(near.state[name], near.state[name])  # at each reading
        assert not np.array_equal(near.state[name], other.state[name])
    assert 0 < np.max(np.abs(near.inputs[0] / draw.inputs[0] - 1)) < 7e-16
    assert np.array_equal(near.inputs[1], draw.inputs[1])


def test_equal_numbers_stay_equal():
    """A weight and an input may be equal, and rows of an input."""
    x = np.random.default_rng(0).standard_normal(5)
    near = perturbed(Draw({"w": x}, (np.stack([x, -x]),)), [], 0)

    assert np.array_equal(near.inputs[0], np.stack([near.state["w"], -near.state["w"]]))
    assert not np.array_equal(near.state["w"], x)


def test_numbers_of_the_program_are_not_moved():
    """An input may lie exactly on a bound of a clamp."""
    x = np.array([0.1, 0.3, 0.5])
    near = perturbed(Draw({}, (x,)), [], 0, [0.3]).inputs[0]

    assert (near == coarse.nearest(x)).tolist() == [False, True, True]


def test_an_empty_tensor_and_a_number_are_perturbed():
    """A module may hold a tensor without elements, and a scalar."""
    near = perturbed(Draw({"empty": np.zeros((0, 3)), "scalar": np.array(2.0)}, ()), [], 0)

    assert near.state["empty"].shape == (0, 3)
    assert near.state["scalar"].shape == ()
    assert abs(float(near.state["scalar"]) - 2) < 1e-15


def test_rough_tensors_are_perturbed_by_a_float32_ulp():
    near = perturbed(Draw(state(), ()), ["small"], 0)

    assert np.max(np.abs(near.state["small"] - state()["small"])) > 1e-8


@pytest.mark.sampled(2)
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


def test_redrawn_weights_are_not_constant():
    """Constant weights become random, and the others move by a fifth of their deviation."""
    state = {"w": np.ones(400), "v": 10.0 * np.arange(400), "n": np.arange(3), "e": np.zeros(0),
             "kept": np.ones(3)}  # fmt: skip
    new = redrawn(state, ["w", "v", "n", "e"], [], np.random.default_rng(0))
    assert 0.08 < np.std(new["w"]) < 0.12 and abs(np.mean(new["w"]) - 1) < 0.02
    assert 0.18 < np.std(new["v"] - state["v"]) / np.std(state["v"]) < 0.22
    assert all(new[name] is state[name] for name in ("n", "e", "kept"))


def test_buffers_stay_in_their_range():
    """A variance stays positive, and the alphas of a diffusion process stay below 1."""
    state = {
        "alphas": np.linspace(0, 0.9, 200), "mean": np.linspace(-1, 1, 200), "one": np.ones(200),
        "mask": np.tril(np.ones((5, 5))),
    }  # fmt: skip
    new = redrawn(state, list(state), list(state), np.random.default_rng(0))
    for name, x in new.items():
        old = state[name]
        least = 0 if name in ("one", "mask") else old.min()
        assert least <= x.min() and x.max() <= old.max(), name
        assert 0.05 < np.std(x - old) / (np.std(old) or 1) < 0.3, name
        assert np.array_equal(x == 0, old == 0), name
    weight = redrawn(state, ["alphas"], [], np.random.default_rng(0))
    assert weight["alphas"].min() < 0


class Diffusion(torch.nn.Module):
    """A loss whose last layer starts at zero, so that only redrawn weights show a gradient of h."""

    alphas: torch.Tensor

    def __init__(self, power: float):
        super().__init__()
        self.first, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        torch.nn.init.zeros_(self.last.weight)
        self.register_buffer("alphas", torch.tensor([0.99, 0.98, 0.97]) ** power)

    def forward(self, x, t):
        a = self.alphas[t][:, None]
        h = torch.tanh(self.first(a.sqrt() * x + (1 - a).sqrt()))
        h = 0.1 * h + 0.9 * h.detach()
        return (self.last(h) - x).square().mean()


def diffusion(p: Any, x: Any, t: Any, stops: bool = False) -> Any:
    a = p["alphas"][t][:, None]
    h = jax.numpy.sqrt(a) * x + jax.numpy.sqrt(1 - a)
    h = jax.numpy.tanh(h @ p["first.weight"].T + p["first.bias"])
    h = 0.1 * h + 0.9 * jax.lax.stop_gradient(h) if stops else h
    return ((h @ p["last.weight"].T + p["last.bias"] - x) ** 2).mean()


@pytest.mark.parametrize("power", [1, 0])
def test_a_gradient_that_given_weights_hide_is_compared_on_finite_numbers(power):
    """Numbers above 1 in the buffer would give NaN in both programs, which agree then."""
    module = Diffusion(power)
    inputs = np.random.default_rng(0).standard_normal((5, 4)), np.array([0, 1, 2, 1, 0])
    right = functools.partial(diffusion, stops=True)
    if power:
        assert prove(module, right, arrays(module), inputs).verdict == "pass"
    report = prove(module, diffusion, arrays(module), inputs)
    assert report.surfaces["gradients"].verdict == "fail"


class Bounded(torch.nn.Module):
    """A buffer that has to be 1, which no redrawn number is."""

    one: torch.Tensor

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("one", torch.ones(()))

    def forward(self, x):
        return self.linear(x) + torch.log(self.one.eq(1).to(x.dtype))


def test_a_buffer_that_torch_does_not_accept_otherwise_is_kept_with_a_note():
    module = Bounded()

    def port(p: Any, x: Any) -> Any:
        one = (p["one"] == 1).astype(x.dtype)
        return x @ p["linear.weight"].T + p["linear.bias"] + jax.numpy.log(one)

    x = np.random.default_rng(0).standard_normal((3, 4))
    report = prove(module, port, arrays(module), (x,))
    assert report.verdict == "pass"
    assert (
        "the second draw keeps the given buffers, because torch rejects redrawn ones or returns "
        "numbers that are not finite for them"
    ) in report.notes


def test_infinite_numbers_stay_and_the_others_are_redrawn():
    """A mask that is added to scores does not make all outputs of the second draw NaN."""
    mask = np.triu(np.full((4, 4), -np.inf), 1)
    new = redrawn({"mask": mask}, ["mask"], ["mask"], np.random.default_rng(0))["mask"]
    assert np.array_equal(np.isinf(new), np.isinf(mask)) and not np.isnan(new).any()
    assert not new[np.isfinite(new)].any()
    scaled = redrawn({"mask": mask + 2}, ["mask"], [], np.random.default_rng(0))["mask"]
    assert len(np.unique(scaled[np.isfinite(scaled)])) == 10

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = torch.nn.Linear(4, 4, bias=False)
            torch.nn.init.zeros_(self.gate.weight)
            self.register_buffer("mask", torch.tensor(mask))

        def forward(self, x):
            return x + (x @ x.T + self.mask).softmax(-1) @ self.gate(x)

    def port(p: Any, x: Any, gates: bool = True) -> Any:
        h = jax.nn.softmax(x @ x.T + p["mask"]) @ (x @ p["gate.weight"].T)
        return x + h if gates else x + 0 * h

    module, x = Masked(), np.random.default_rng(0).standard_normal((4, 4))
    assert prove(module, port, arrays(module), (x,)).verdict == "pass"
    wrong = prove(module, lambda p, x: port(p, x, gates=False), arrays(module), (x,))
    assert wrong.surfaces["forward"].verdict == "fail"


def test_rough_tensors_and_short_numbers_are_perturbed_in_float32_or_not_at_all():
    """A table of ones may have lost digits in float32; an input of twos has not."""
    state = {"w": np.full(300, 1.0), "n": np.arange(3)}
    draw = Draw(state, (np.full(300, 2.0), "text"), number=4)
    moved = perturbed(draw, ["w"], 0)
    steps = np.unique((moved.state["w"] - 1) / np.finfo(np.float32).eps)
    np.testing.assert_allclose(steps, [-1, 0, 1])
    assert np.array_equal(moved.inputs[0], draw.inputs[0])
    assert moved.state["n"] is state["n"] and moved.inputs[1] == "text" and moved.number == 4


class Tables(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.tensor([0.1, 0.2]))
        self.register_buffer("count", torch.tensor(3))
        self.frozen = torch.nn.Parameter(torch.tensor([0.3]), requires_grad=False)
        self.weight = torch.nn.Parameter(torch.tensor([0.3]))


def test_constants_in_float32_that_no_leaf_holds_are_listed():
    """Buffers and frozen parameters may be tables; trained weights and integers are not."""
    module = Tables().double()
    assert rounded_buffers(module, []) == ["table", "frozen"]
    assert rounded_buffers(module, ["table"]) == ["frozen"]
