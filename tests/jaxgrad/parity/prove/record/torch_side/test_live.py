"""The user's module is run on draws, trained and replayed, and then given back."""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import ProofError, Training, prove
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.torch_side.live import Live


X = np.array([[1.0, 2.0], [3.0, 5.0], [0.5, -1.0]])
SGD = Training(lambda ps: torch.optim.SGD(ps, lr=0.5))


class Layer(nn.Module):
    """A weight, positive statistics and a table of float32 numbers."""

    variance: Tensor
    table: Tensor

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("variance", torch.ones(2))
        self.register_buffer("table", torch.sin(torch.arange(1.0, 3.0)))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / self.variance + self.table


@contextlib.contextmanager
def opened(module: Any, *inputs: Any, pick: Any = None, loss: Any = None) -> Iterator[Live]:
    side = Live(module, inputs or (X,), pick, loss, 3)
    with contextlib.closing(side):
        yield side


def test_a_module_is_in_float64_until_it_is_given_back():
    """The compiler's wrapper is removed."""
    module, wrapper = Layer(), nn.Module()
    wrapper._orig_mod = module
    with opened(wrapper) as side:
        assert side.module is module and module.weight.dtype == torch.float64
        assert dict(side.flags) == {"weight": True} and side.names["table"] == "table"
        assert not side.has_loss and side.output_count == 1
    assert module.weight.dtype == torch.float32


def test_a_module_that_cannot_run_is_given_back():
    """After an error the module has the user's dtype again."""
    module = Layer()
    with pytest.raises(ProofError), opened(module, np.ones(5)):
        pass
    assert module.weight.dtype == torch.float32


def test_a_loss_is_no_output():
    """A loss does not change the number of cotangents."""
    with opened(Layer(), loss=lambda y, *_: y.sum()) as side:
        assert side.has_loss and list(side.outputs) == ["", "loss"] and side.output_count == 1


def test_the_second_draw_has_new_weights_and_inputs():
    """Buffers of the port stay in their range, others and fixed inputs keep their values."""
    with opened(Layer()) as side:
        first, second = side.drawn(["weight", "variance"])
        fixed = side.drawn(["weight"], ["0"])[1].draw
        rejected = side.drawn(["weight"], ["1"])[1].draw

    assert [d.draw.number for d in (first, second)] == [0, 1]
    assert np.array_equal(first.draw.inputs[0], X) and first.draw.state is side.state
    weight, variance = (second.draw.state[name] for name in ("weight", "variance"))
    assert (weight != 1).all() and (weight < 1).any()
    assert ((variance > 0) & (variance < 1)).all() and np.array_equal(
        second.draw.state["table"], side.state["table"]
    )
    assert (second.draw.inputs[0] != X).all() and (rejected.inputs[0] != X).all()
    assert np.array_equal(fixed.inputs[0], X) and not side.notes
    np.testing.assert_allclose(
        second.run.outputs[""], weight * second.draw.inputs[0] / variance + side.state["table"]
    )


def test_the_second_draw_is_rerun_with_gradients_on_demand():
    """Most ports agree without them."""
    with opened(Layer()) as side:
        first, second = side.drawn(["weight"])
        assert first.differentiate is None and first.reruns[0].grads["weight"] is not None
        assert second.reruns[0].grads["weight"] is None
        assert second.gradient_reruns[0].grads["weight"] is not None


class Weights(nn.Module):
    """Two parameters that share memory."""

    def __init__(self):
        super().__init__()
        numbers = torch.ones(2)
        self.left, self.right = nn.Parameter(numbers), nn.Parameter(numbers)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.left * self.right


def test_two_names_of_the_same_numbers_are_redrawn_as_one():
    """A module holds them only once."""
    with opened(Weights()) as side:
        state = side.drawn(["left", "right"])[1].draw.state
    assert np.array_equal(state["left"], state["right"]) and (state["left"] != 1).all()


class Picky(nn.Module):
    """Accept only the known values of some inputs."""

    def __init__(self, *known: Any):
        super().__init__()
        self.known = known
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, *inputs: Tensor) -> Tensor:
        for x, known in zip(inputs, self.known, strict=True):
            if known is not None and not np.allclose(x.detach(), known):
                raise ValueError
        return sum(x * self.weight for x in inputs)  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_input_that_cannot_be_redrawn_keeps_its_values(place):
    """The others are redrawn, and a note names it; an input of ones has no other values."""
    inputs = (X, X + 1, X + 2, np.ones((3, 2)))
    known = [x if k == place else None for k, x in enumerate(inputs)]
    with opened(Picky(*known), *inputs) as side:
        drawn = side.drawn(["weight"])[1].draw.inputs
        (note,) = side.notes

    same = [np.array_equal(x, y) for x, y in zip(drawn, inputs, strict=True)]
    assert same == [k in (place, 3) for k in range(4)]
    assert note.startswith(f"the second draw keeps the given values of input {place}, because")


def test_the_ranges_are_those_of_the_inputs():
    """Indices stay within a table; another set of inputs has other ranges, and its own edges."""
    table = nn.Embedding(5, 2, padding_idx=0)
    with opened(table, np.array([[1, 2, 3, 4]])) as side:
        ids = side.drawn(["weight"])[1].draw.inputs[0]
        assert ids.max() < 5 and (ids == 0).any()
        assert {r.high for r in side._ranges.values()} == {5}
        other = side.on((np.array([[1, 2]]),), "the port's")
        assert other.jax_inputs == "the port's" and "_ranges" not in vars(other)
        assert other.outputs[""].shape == (1, 2, 2)
    with opened(Layer()) as side:
        assert side._ranges == {}
        assert [name for name, _ in side.edges()] == ["zeros and ties in input 0"]


def test_reruns_differ_by_rounding_alone():
    """A forward rerun has no gradients; otherwise they are stored as differences."""
    with opened(Layer(), X / 3) as side:
        draw = side.drawn([])[0].draw
        run = side.run(draw)
        near, other = side.reruns(draw, run)
        outputs = [r.outputs[""] for r in (near, other)]
        assert not np.array_equal(outputs[0], outputs[1])
        for x in outputs:
            np.testing.assert_allclose(x, run.outputs[""], atol=1e-6)  # the table is of float32
        assert 0 < near.grads["weight"] < 1e-14
        forward = side.reruns(draw, run, forward=True)[0]
        assert forward.grads == {"weight": None} and forward.input_grads == [None]


class Strict(Layer):
    """Raise if an input is not a multiple of a tenth."""

    def forward(self, x: Tensor) -> Tensor:
        if not torch.equal(x, torch.round(x * 10) / 10):
            raise ValueError("images must be multiples of 0.1")
        return super().forward(x.square().sqrt())


def test_a_module_may_check_the_values_of_its_inputs():
    """Then only the weights are perturbed, in later runs too."""
    with opened(Strict(), np.array([[0.9, 0.3], [0.7, 0.3]])) as side:
        first, second = side.drawn(["weight"])
        assert side._perturbs_inputs and side._rounds_results
        assert all(run.grads["weight"] < 1e-14 for run in first.reruns)
        assert not side._perturbs_inputs and not side._rounds_results
        assert side.notes and np.array_equal(second.draw.inputs[0], first.draw.inputs[0])
        assert len(side.steps(SGD, [first.draw], 1).reruns) == 2


def test_an_error_of_a_rerun_is_reported():
    """A module that does not run on its own weights is no reason to go on."""

    class Fails(Layer):
        def forward(self, x: Tensor) -> Tensor:
            if self.weight.tolist() != [np.float32(1 / 3).item()] * 2:
                raise ValueError("no kernel")
            return super().forward(x)

    module = Fails()
    nn.init.constant_(module.weight, 1 / 3)
    with opened(module) as side:
        reruns = side.drawn([])[0].reruns
        with pytest.raises(ProofError, match="no kernel"):
            reruns[0]


def test_a_replaced_table_has_no_allowance():
    """The table is one of the constants that only torch holds."""
    with opened(Layer()) as side:
        assert list(side.tables([])) == ["table"] and side.tables(["table"]) == {}
        side.replace({"table": np.array([0.5, 0.25])})
        run = side.drawn([])[0]
        assert side.rough == []
        np.testing.assert_array_equal(side.outputs[""] * 0, run.run.outputs[""] * 0)
        np.testing.assert_array_equal(run.run.outputs[""], X + np.array([0.5, 0.25]))


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.sin(torch.arange(1.0, 3.0))
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight * self.table


def test_a_table_in_a_plain_attribute_is_replaced_too():
    """A table in a plain attribute is replaced, although it is not part of the state."""
    with opened(Plain()) as side:
        (name,) = side.tables([])
        side.replace({name: np.array([2.0, 4.0])})
        assert "table" not in side.state
        outputs = side.run(side.drawn([])[0].draw).outputs[""]
    np.testing.assert_array_equal(outputs, X * [2.0, 4.0])


class Drops(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, 0.5)


def test_random_numbers_are_those_of_the_draw():
    """A run without given numbers is seeded by the draw's number."""
    with opened(Drops(), np.ones(64)) as side:
        first, second = side.drawn([])
        again = side.run(first.draw)
        assert side.draws_noise and len(first.draw.noise) == 1
        np.testing.assert_array_equal(again.outputs[""], first.run.outputs[""])
        assert not np.array_equal(first.run.outputs[""] != 0, second.run.outputs[""] != 0)
    with opened(Layer()) as side:
        assert side._options(side.drawn([])[0].draw) == {
            "attach": True, "changes": [], "opened": False
        }  # fmt: skip


def test_single_precision_is_measured_with_every_weight_perturbed():
    """The first run has the weights of the draw."""
    with opened(Layer()) as side:
        draw = side.drawn([])[0].draw
        runs = side.single_precision(draw)
        assert side.module.weight.dtype == torch.float64
    outputs = [r.outputs[""] for r in runs]

    assert [x.dtype for x in outputs] == [np.float32] * 3
    np.testing.assert_array_equal(outputs[0], (X + draw.state["table"]).astype(np.float32))
    assert len({x.tobytes() for x in outputs}) == 3
    assert all(r.grads["weight"] is not None and not r.values for r in runs)


class Casts(Layer):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).to(torch.bfloat16)


@pytest.mark.parametrize(
    ("module", "low"), [(Layer(), False), (Casts(), True), (Layer().to(torch.bfloat16), True)]
)
def test_a_module_is_run_in_its_own_dtypes_if_it_rounds(module, low):
    """A cast and a parameter below float32 round; any module is run on request."""
    with opened(module) as side:
        draws = [d.draw for d in side.drawn([])]
        result = side.native(draws)
        assert (result.low, bool(result.runs)) == (low, low)
        assert len(side.native(draws, always=True).runs) == 2


def test_the_state_dtypes_are_those_of_the_users_module():
    """An optimizer that cannot be built is reported elsewhere."""
    with opened(Layer()) as side:
        adam = Training(lambda ps: torch.optim.Adam(ps, 0.1))
        assert set(side.state_dtypes(adam).values()) == {"float32"}
        assert side.state_dtypes(Training(lambda ps: 1 / 0)) == {}


@pytest.mark.parametrize("accumulate", [1, 2])
def test_training_starts_at_the_first_draw_and_takes_its_batches_from_all(accumulate):
    """Every step is kept, or only the steps that are asked for."""
    training = Training(SGD.torch, accumulate=accumulate)
    with opened(Layer(), np.random.default_rng(0).standard_normal((30, 2))) as side:
        draws = [d.draw for d in side.drawn(["weight"])]
        taken = side.steps(training, draws, 3, reruns=2)
        reruns = list(taken.reruns)
        some = side.steps(training, draws, 3, reruns=0, kept=(1, 3))
        batches = [side.run(d.__class__(draws[0].state, d.inputs)) for d in draws[:accumulate]]
    mean = np.mean([run.grads["weight"] for run in batches], 0)

    assert list(taken.states) == [1, 2, 3] == list(taken.averages) and len(reruns) == 2
    assert list(some.states) == [1, 3] == list(some.averages)
    assert some.states[3]["weight"].tobytes() == taken.states[3]["weight"].tobytes()
    np.testing.assert_allclose(taken.states[1]["weight"], 1 - 0.5 * mean, rtol=1e-12)
    np.testing.assert_allclose(taken.states[3]["weight"], 1 - 1.5 * mean, rtol=1e-12)
    assert any((rerun[3]["weight"] != taken.states[3]["weight"]).any() for rerun in reruns)


@pytest.mark.parametrize("single", [True, False])
def test_given_gradients_are_replayed(single):
    """Each step yields its learning rates, and the weights in the precision that is asked for."""
    with opened(Layer()) as side:
        draw = side.drawn([])[0].draw
        given = [{"weight": np.array([1.0, 2.0])}] * 2
        steps = list(side.replay(SGD, draw, given, single=single))
    assert [rates for rates, _ in steps] == [[0.5], [0.5]]
    assert steps[1][1]["weight"].tolist() == [0.0, -1.0]
    assert steps[1][1]["weight"].dtype == (np.float32 if single else np.float64)


def test_values_are_returned_as_a_state_dict():
    """Other entries are the module's own, and tied keys have the value of their first name."""
    module: Any = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    with opened(module) as side:
        state = side.state_dict({"0.weight": np.full((2, 2), 3.0)})
        own = side.module.state_dict()["1.bias"]
        assert state["1.bias"].tolist() == own.tolist()
    assert state["0.weight"].tolist() == state["1.weight"].tolist() == [[3.0, 3.0]] * 2
    assert state["0.weight"] is not state["1.weight"] and state["0.weight"].dtype == torch.float64


def test_an_idle_module_is_widened_when_torch_is_next_used():
    """An idle module has the weights of its last run when it is read or run again."""
    module = Layer()
    with opened(module) as side:
        draw = Draw({**side.state, "weight": np.full(2, 2.0)}, (X,), 1)
        (expected,) = side.run(draw).outputs.values()
        with side.idle():
            assert module.weight.dtype == torch.float32
        assert module.weight.dtype == torch.float32
        assert side.module.weight.tolist() == [2.0] * 2
        assert module.weight.dtype == torch.float64
        with side.idle():
            pass
        (actual,) = side.run(draw).outputs.values()
        assert np.array_equal(actual, expected)


def test_an_idle_module_is_widened_at_once_if_a_run_is_kept():
    """A search for a cause repeats torch's calls, which hold the parameters."""
    module = Layer()
    with opened(module) as side:
        side.run(Draw({**side.state, "weight": np.full(2, 2.0)}, (X,), 1), keep=True)
        with side.idle():
            assert module.weight.dtype == torch.float32
        assert module.weight.dtype == torch.float64
        assert module.weight.tolist() == [2.0] * 2


def test_an_idle_module_runs_in_its_own_dtypes_and_in_float32():
    """An unused module runs in its own dtypes and in float32 without its float64 weights, and the
    user's weights stay as they are.
    """
    module = Layer()
    with opened(module) as side:
        draw = Draw({**side.state, "weight": np.full(2, 2.0)}, (X,), 1)
        with side.idle():
            pass
        runs = side.single_precision(draw)
        assert {x.dtype for run in runs for x in run.outputs.values()} == {np.dtype("float32")}
        assert side.native([draw]).dtypes["weight"] == "float32"
        assert not side.native([draw]).runs
        assert len(side.native([draw], always=True).runs) == 1
        assert module.weight.dtype == torch.float32
    assert module.weight.tolist() == [1.0] * 2


class Standardized(nn.Module):
    """It divides in place what the gradient of the deviation needs, as some forecasters do."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        x = x - x.mean()
        x /= torch.sqrt(x.var() + 1e-5)
        return self.weight * x


class ChangesInput(Standardized):
    def forward(self, x: Tensor) -> Tensor:
        x -= x.mean()
        return self.weight * x


@pytest.mark.parametrize("kind", [Standardized, ChangesInput])
def test_a_module_whose_inputs_have_no_gradient_is_run_without(kind: Any) -> None:
    """Its weights have gradients, as in training."""
    with opened(kind()) as side:
        (first, _) = side.drawn(["weight"])
        assert first.run.input_grads == [None]
        assert first.run.grads["weight"] is not None
        assert sum("the gradients of the inputs are not compared" in n for n in side.notes) == 1


def test_a_port_is_proved_by_its_weights_alone_and_wrong_gradients_are_found():
    def fn(params: Any, x: Any, scale: float = 1.0) -> Any:
        x = x - x.mean()
        h = params["weight"] * x / jnp.sqrt(x.var(ddof=1) + 1e-5)
        return scale * h + (1 - scale) * jax.lax.stop_gradient(h)

    module = Standardized()
    params = {"weight": np.ones(2)}
    assert prove(module, fn, params, inputs=(X,)).verdict == "pass"
    wrong = prove(module, functools.partial(fn, scale=0.5), params, inputs=(X,))
    assert wrong.verdict == "fail"
    assert wrong.first is not None and wrong.first.surface in ("backward", "gradients", "structure")


class Running(nn.Module):
    """Adds all inputs so far; eval mode reads the sum and leaves it."""

    total: Tensor

    def __init__(self):
        super().__init__()
        self.drop, self.count = nn.Dropout(0.5), 0
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.total += x.detach().sum(0)
            self.count += 1
        return self.total + 0 * self.drop(x)


def test_calls_start_with_what_the_last_one_left():
    """The last call is made in eval mode, and then the module is as before."""
    module = Running()
    module.drop.eval()
    with opened(module) as side:
        draw, other = Draw({"total": np.zeros(2)}, (X,)), Draw({"total": np.ones(2)}, (2 * X,))
        taken = side.calls([draw, other, draw], evaluates=True)
        sums = [run.outputs[""][0].tolist() for run in taken.runs]
        assert sums == [[4.5, 6.0], [13.5, 18.0], [13.5, 18.0]]
        assert [run.buffers["total"].tolist() for run in taken.runs] == sums
        counts = [int(run.attributes["count"][1]) for run in taken.runs]
        assert counts == [1, 2, 2] and all(len(runs) == 3 for runs in taken.reruns)
        thirds = side.calls([Draw({"total": np.zeros(2)}, (X / 3,)), draw], evaluates=False)
        exact, near = (r[0].outputs[""][0] for r in (thirds.runs, thirds.reruns[0]))
        assert np.allclose(near, exact, rtol=1e-14) and not np.array_equal(near, exact)
        assert module.training and not module.drop.training
        assert module.count == 0 and not module.total.any()
        plain = side.calls([draw, other, draw], evaluates=False)
        assert plain.runs[2].outputs[""][0].tolist() == [18.0, 24.0]
